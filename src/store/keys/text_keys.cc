// SPDX-License-Identifier: Apache-2.0
//
// The entries of text indexes.
#include <algorithm>
#include <string>
#include <vector>

#include "base/try.h"
#include "bson/hash/index_hash.h"
#include "bson/path.h"
#include "store/keys/multikey.h"
#include "store/keys/special_keys.h"

namespace quire::store {

namespace {

Result<bson::Value> ValueBesideText(const bson::FieldPath& path, bson::View document) {
  size_t next = 0;
  bson::Value value = bson::GetPathOrArray(document, path, &next);
  if (value.is_array()) {
    return Status(16675, "cannot have a multi-key as a prefix to a text index");
  }
  return value.missing() ? bson::Value::Null() : value;
}

}  // namespace

Status TextKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  ASSIGN_OR_RETURN(auto scores, expr::text::ScoreDocument(spec.special->text, document));
  if (scores.empty()) {
    return Status::Ok();
  }
  std::vector<bson::Value> values(spec.parts.size());
  size_t term_part = 0;
  for (size_t i = 0; i < spec.parts.size(); ++i) {
    if (spec.parts[i].kind == IndexKeySpec::Kind::kText) {
      term_part = i++;  // the score is next
      continue;
    }
    ASSIGN_OR_RETURN(values[i], ValueBesideText(spec.paths[i], document));
  }
  for (const auto& [term, score] : scores) {
    std::string indexed = IndexedTerm(term);
    values[term_part] = bson::Value(std::string_view(indexed));
    values[term_part + 1] = bson::Value(score);
    out->keys.push_back(MakeKey(spec, values));
  }
  if (out->keys.size() > 1) {
    out->multikey_steps |= MultikeyBit(spec, term_part, 0);
  }
  return Status::Ok();
}

bool TextDependsOn(const SpecialSpec& spec, std::string_view path) {
  const expr::text::IndexSpec& text = spec.text;
  if (text.wildcard_weight > 0) {
    return true;
  }
  std::string_view last = path.substr(path.rfind('.') + 1);
  if (last == text.language_override) {
    return true;
  }
  std::string_view top = path.substr(0, path.find('.'));
  return std::any_of(text.weights.begin(), text.weights.end(), [&](const auto& weight) {
    return std::string_view(weight.first).substr(0, weight.first.find('.')) == top;
  });
}

std::string IndexedTerm(const std::string& term) {
  constexpr size_t kLongest = 256;
  constexpr size_t kKept = 224;
  if (term.size() <= kLongest) {
    return term;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  auto hash = static_cast<uint64_t>(bson::IndexHash(bson::Value(std::string_view(term))));
  std::string cut = term.substr(0, kKept);
  for (int shift = 60; shift >= 0; shift -= 4) {
    cut.push_back(kDigits[(hash >> shift) & 15]);
  }
  return cut;
}

}  // namespace quire::store
