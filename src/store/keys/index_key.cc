// SPDX-License-Identifier: Apache-2.0
#include "store/keys/index_key.h"

#include <algorithm>
#include <span>

#include "bson/hash/index_hash.h"
#include "bson/ordered.h"

namespace quire::store {

namespace {

bson::Direction DirectionOf(const IndexKeySpec::Part& part) {
  return part.descending ? bson::Direction::kDescending : bson::Direction::kAscending;
}

bson::Value HashOf(const bson::Value& value, const expr::Collator* collator) {
  return bson::Value(bson::IndexHash(value, collator));
}

void AppendPart(const IndexKeySpec& spec, size_t i, const bson::Value& value, std::string* out,
                std::string* type_bits) {
  const IndexKeySpec::Part& part = spec.parts[i];
  if (part.kind == &kHashedKind) {
    bson::AppendOrdered(HashOf(value, spec.collator), DirectionOf(part), nullptr, out, type_bits);
  } else if (spec.IsPath(i)) {
    bson::AppendOrdered(value, DirectionOf(part), nullptr, out, type_bits);
  } else {
    bson::AppendOrdered(value, DirectionOf(part), spec.collator, out, type_bits);
  }
}

}  // namespace

IndexKey MakeKey(const IndexKeySpec& spec, std::span<const bson::Value> values) {
  IndexKey key;
  for (size_t i = 0; i < values.size(); ++i) {
    AppendPart(spec, i, values[i], &key.bytes, &key.type_bits);
  }
  bson::TrimTypeBits(&key.type_bits);
  return key;
}

void SortKeys(std::vector<IndexKey>* keys) {
  if (keys->size() < 2) {
    return;
  }
  std::sort(keys->begin(), keys->end());
  auto same = [](const IndexKey& a, const IndexKey& b) { return a.bytes == b.bytes; };
  keys->erase(std::unique(keys->begin(), keys->end(), same), keys->end());
}

void AppendKeyPart(const IndexKeySpec& spec, size_t part, const bson::Value& value,
                   std::string* out) {
  AppendPart(spec, part, value, out, nullptr);
}

IndexKey EncodeKey(const IndexKeySpec& spec, bson::View values) {
  IndexKey key;
  size_t i = 0;
  for (const bson::Element& e : values) {
    if (i == spec.parts.size()) {
      break;
    }
    bson::AppendOrdered(e.value(), DirectionOf(spec.parts[i++]), nullptr, &key.bytes,
                        &key.type_bits);
  }
  bson::TrimTypeBits(&key.type_bits);
  return key;
}

bson::Document DecodeKey(const IndexKeySpec& spec, std::string_view bytes,
                         std::string_view type_bits) {
  bson::Builder out;
  bson::OrderedReader reader(bytes, type_bits);
  for (const IndexKeySpec::Part& part : spec.parts) {
    if (!reader.Read(DirectionOf(part), part.path, &out)) {
      return bson::Document();
    }
  }
  return out.Finish();
}

}  // namespace quire::store
