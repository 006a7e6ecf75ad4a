// SPDX-License-Identifier: Apache-2.0
#include "store/keys/index_keys.h"

#include <span>

#include "base/try.h"
#include "bson/key_tuples.h"
#include "bson/ordered.h"
#include "bson/path.h"
#include "store/keys/index_kind.h"
#include "store/keys/multikey.h"
#include "store/keys/wildcard_keys.h"

namespace quire::store {

namespace {

Status RefuseHashedArrays(const IndexKeySpec& spec, uint64_t steps) {
  for (size_t i = 0; steps != 0 && i < spec.parts.size(); ++i) {
    if (spec.parts[i].kind->holds == PartHolds::kHash && IsMultikey(spec, steps, i)) {
      return Status(16766,
                    "hashed indexes do not currently support array values. Found array at path: " +
                        spec.parts[i].path);
    }
  }
  return Status::Ok();
}

// As GetPathOrArray from the first part on.
bson::Value ValueAt(const bson::FieldPath& path, bson::FieldIndex& fields) {
  const bson::Value value = fields.Find(path[0]);
  if (path.size() == 1 || value.is_array()) {
    return value;
  }
  size_t next = 1;
  return value.is_document() ? bson::GetPathOrArray(value.AsDocument(), path, &next)
                             : bson::Value();
}

}  // namespace

bool AppendOnlyKey(const IndexKeySpec& spec, bson::FieldIndex& fields, std::string* key,
                   std::string* type_bits, bool* nothing) {
  if (spec.special != nullptr || spec.wildcard != nullptr) {
    return false;
  }
  const size_t start = key->size();
  type_bits->clear();
  *nothing = true;
  for (size_t i = 0; i < spec.paths.size(); ++i) {
    const bson::Value value = ValueAt(spec.paths[i], fields);
    const IndexKeySpec::Part& part = spec.parts[i];
    if (value.is_array() || part.kind != &kOrderedKind) {
      key->resize(start);
      return false;
    }
    *nothing = *nothing && value.missing();
    bson::AppendOrdered(
        value.missing() ? bson::Value::Null() : value,
        part.descending ? bson::Direction::kDescending : bson::Direction::kAscending, spec.collator,
        key, type_bits);
  }
  bson::TrimTypeBits(type_bits);
  return true;
}

Status IndexKeys(const IndexKeySpec& spec, bson::View document, IndexKeySet* out) {
  out->Clear();
  if (spec.special != nullptr) {
    const IndexKindRow* maker = MakerOf(spec);
    if (maker != nullptr) {
      RETURN_IF_ERROR(maker->keys(spec, document, out));
      SortKeys(&out->keys);
    }
    return Status::Ok();
  }
  if (spec.wildcard != nullptr) {
    return WildcardKeys(spec, document, out);
  }
  auto add = [&](std::span<const bson::Value> values, bool nothing) {
    if (!(spec.sparse && nothing)) {
      out->keys.push_back(MakeKey(spec, values));
    }
  };
  RETURN_IF_ERROR(bson::ForEachKeyTuple(spec.paths, document, &out->multikey_steps, add));
  RETURN_IF_ERROR(RefuseHashedArrays(spec, out->multikey_steps));
  SortKeys(&out->keys);
  return Status::Ok();
}

}  // namespace quire::store
