// SPDX-License-Identifier: Apache-2.0
#include "bson/hash/index_hash.h"

#include "bson/hash/md5.h"
#include "bson/number.h"

namespace quire::bson {

namespace {

// Documents nest less; deeper levels do not count.
constexpr int kMaxDepth = 200;

// MongoDB's numbers for the brackets.
int32_t HashedType(Type type) {
  switch (type) {
    case Type::kMinKey:
      return -1;
    case Type::kMissing:
    case Type::kNull:
      return 5;
    case Type::kUndefined:
      return 0;
    default:
      return CanonicalType(type);
  }
}

class IndexHasher {
 public:
  explicit IndexHasher(const StringCompare* strings) : strings_(strings) {}

  void Add(const Value& value, const std::string_view* name, int depth) {
    AddNumber(HashedType(value.type()));
    if (name != nullptr) {
      md5_.Add(*name);
      md5_.Add({"\0", 1});
    }
    switch (value.type()) {
      case Type::kDocument:
      case Type::kArray:
        return AddFields(value.AsDocument(), depth);
      case Type::kCodeWithScope:
        md5_.Add(value.CodeWithScopeCode());
        md5_.Add({"\0", 1});
        return AddFields(value.CodeWithScopeScope(), depth);
      case Type::kInt32:
      case Type::kInt64:
      case Type::kDouble:
      case Type::kDecimal128:
        return AddNumber(ClampedInt64(value));
      default:
        return AddBytes(value);
    }
  }

  template <typename T>
  void AddNumber(T number) {
    md5_.Add({reinterpret_cast<const char*>(&number), sizeof number});
  }

  int64_t Finish() {
    std::array<uint8_t, 16> digest = md5_.Finish();
    int64_t hash;
    memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }

 private:
  void AddBytes(const Value& value) {
    std::string bytes;
    if (strings_ != nullptr && (value.is_string() || value.type() == Type::kSymbol)) {
      std::string key = strings_->SortKey(value.AsString());
      Value(std::string_view(key)).AppendTo(&bytes);
    } else {
      value.AppendTo(&bytes);
    }
    md5_.Add(bytes);
  }

  // The end of a document counts as a field without name or value.
  void AddFields(View fields, int depth) {
    if (depth < kMaxDepth) {
      for (const Element& e : fields) {
        std::string_view name = e.name();
        Add(e.value(), &name, depth + 1);
      }
    }
    AddNumber(int32_t{0});
  }

  Md5 md5_;
  const StringCompare* strings_;
};

}  // namespace

int64_t IndexHash(const Value& value, const StringCompare* strings) {
  IndexHasher hasher(strings);
  constexpr int32_t kSeed = 0;
  hasher.AddNumber(kSeed);
  hasher.Add(value, nullptr, 0);
  return hasher.Finish();
}

}  // namespace quire::bson
