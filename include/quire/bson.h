// SPDX-License-Identifier: Apache-2.0
//
// BSON in memory. A View reads document bytes in place; a Value is one BSON value that borrows its
// bytes; a Document owns its bytes; a Builder writes them. Views and Values are trivially copyable
// and never outlive the bytes they were made from: the overloads that would let them are deleted.
// A function that reads a document during its call takes an Argument, so that a temporary may be
// given. Documents are written down with quire/doc.h.
//
// Everything here REQUIRES well-formed bytes. Bytes from outside go through bson::Validate
// (or Document::Parse) once; nothing afterwards checks lengths again.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quire/status.h"

namespace quire::bson {

// The type byte of the BSON specification. kMissing (no BSON type) marks an absent value.
enum class Type : uint8_t {
  kMissing = 0x00,
  kDouble = 0x01,
  kString = 0x02,
  kDocument = 0x03,
  kArray = 0x04,
  kBinary = 0x05,
  kUndefined = 0x06,
  kObjectId = 0x07,
  kBool = 0x08,
  kDate = 0x09,
  kNull = 0x0A,
  kRegex = 0x0B,
  kDbPointer = 0x0C,
  kCode = 0x0D,
  kSymbol = 0x0E,
  kCodeWithScope = 0x0F,
  kInt32 = 0x10,
  kTimestamp = 0x11,
  kInt64 = 0x12,
  kDecimal128 = 0x13,
  kMaxKey = 0x7F,
  kMinKey = 0xFF,
};

// MongoDB's name of the type as error messages and $type use it: "int", "object", "missing"...
std::string_view TypeName(Type type);

struct ObjectId {
  std::array<uint8_t, 12> bytes{};

  // A new id: seconds, a per-process random part, a counter. Safe for concurrent use.
  static ObjectId Generate();
  // From 24 hexadecimal digits of either case; nothing when it is not that.
  static std::optional<ObjectId> FromHex(std::string_view hex);
  std::string ToHex() const;
  friend bool operator==(const ObjectId&, const ObjectId&) = default;
};

// IEEE 754-2008 decimal128 in BID encoding, as BSON stores it.
struct Decimal128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Decimal128&, const Decimal128&) = default;  // bitwise
};

struct Timestamp {
  uint32_t seconds = 0;
  uint32_t increment = 0;
  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

// Milliseconds since 1970 in UTC.
//
//   auto launch = quire::bson::Date::FromIso("1969-07-16T13:32:00Z");
//   auto landing = *launch + std::chrono::hours(102) + std::chrono::minutes(45);
//   std::cout << landing.ToIso() << "\n";  // 1969-07-20T20:17:00Z
struct Date {
  int64_t millis = 0;

  static Date Now() { return From(std::chrono::system_clock::now()); }
  // A moment of the system's clock, cut to milliseconds towards the past.
  template <typename Duration>
  static Date From(std::chrono::sys_time<Duration> time) {
    return {std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count()};
  }
  // From ISO 8601: a day ("2024-05-06", its beginning in UTC), or a day and a time with a zone
  // ("2024-05-06T07:08:09.123Z", "2024-05-06T09:08+02:00"); nothing when it is neither.
  static std::optional<Date> FromIso(std::string_view text);

  std::chrono::sys_time<std::chrono::milliseconds> time() const {
    return std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(millis));
  }
  // "2024-05-06T07:08:09.123Z"; the fraction only when there is one, the number of milliseconds
  // for years beyond 0 to 9999.
  std::string ToIso() const;

  Date& operator+=(std::chrono::milliseconds by) { return millis += by.count(), *this; }
  Date& operator-=(std::chrono::milliseconds by) { return millis -= by.count(), *this; }
  friend Date operator+(Date date, std::chrono::milliseconds by) { return date += by; }
  friend Date operator-(Date date, std::chrono::milliseconds by) { return date -= by; }
  friend std::chrono::milliseconds operator-(Date later, Date earlier) {
    return std::chrono::milliseconds(later.millis - earlier.millis);
  }
  friend auto operator<=>(const Date&, const Date&) = default;
};

class View;
class Document;

// One BSON value: scalars by value, everything with bytes (strings, documents...) by reference.
// Accessors named after a type REQUIRE that type.
class Value {
 public:
  Value() = default;  // missing
  explicit Value(bool b) : type_(Type::kBool) { u_.i64 = b; }
  explicit Value(int32_t i) : type_(Type::kInt32) { u_.i64 = i; }
  explicit Value(int64_t i) : type_(Type::kInt64) { u_.i64 = i; }
  explicit Value(double d) : type_(Type::kDouble) { u_.f64 = d; }
  explicit Value(Decimal128 d) : type_(Type::kDecimal128) { u_.decimal = d; }
  explicit Value(Date d) : type_(Type::kDate) { u_.i64 = d.millis; }
  explicit Value(Timestamp t) : type_(Type::kTimestamp) {
    u_.i64 = static_cast<int64_t>((static_cast<uint64_t>(t.seconds) << 32) | t.increment);
  }
  explicit Value(const ObjectId& id) : type_(Type::kObjectId) { u_.oid = id; }
  explicit Value(std::string_view s) : Value(Type::kString, s) {}
  explicit Value(const char* s) : Value(std::string_view(s)) {}
  explicit Value(std::string&&) = delete;  // would dangle
  explicit inline Value(View document);
  explicit Value(Document&&) = delete;  // would dangle

  static Value Null() { return OfType(Type::kNull); }
  static Value Undefined() { return OfType(Type::kUndefined); }
  static Value MinKey() { return OfType(Type::kMinKey); }
  static Value MaxKey() { return OfType(Type::kMaxKey); }
  static inline Value Array(View array);
  static Value Array(Document&&) = delete;  // would dangle
  static Value Binary(std::string_view bytes, uint8_t subtype) {
    Value v(Type::kBinary, bytes);
    v.subtype_ = subtype;
    return v;
  }
  static Value Code(std::string_view code) { return Value(Type::kCode, code); }
  static Value Symbol(std::string_view symbol) { return Value(Type::kSymbol, symbol); }
  template <typename S>
  requires std::same_as<S, std::string>
  static Value Binary(S&&, uint8_t) = delete;  // would dangle
  template <typename S>
  requires std::same_as<S, std::string>
  static Value Code(S&&) = delete;  // would dangle
  template <typename S>
  requires std::same_as<S, std::string>
  static Value Symbol(S&&) = delete;  // would dangle

  // Reads the value of `type` whose BSON encoding starts at `data`; `size`, when not null,
  // receives the encoding's length.
  static Value FromBytes(Type type, const char* data, uint32_t* size = nullptr);

  Type type() const { return type_; }
  bool missing() const { return type_ == Type::kMissing; }
  // Missing, null or undefined.
  bool nullish() const {
    return type_ == Type::kMissing || type_ == Type::kNull || type_ == Type::kUndefined;
  }
  bool is_number() const {
    return type_ == Type::kInt32 || type_ == Type::kDouble || type_ == Type::kInt64 ||
           type_ == Type::kDecimal128;
  }
  bool is_document() const { return type_ == Type::kDocument; }
  bool is_array() const { return type_ == Type::kArray; }
  bool is_string() const { return type_ == Type::kString; }

  bool AsBool() const { return u_.i64 != 0; }
  int32_t AsInt32() const { return static_cast<int32_t>(u_.i64); }
  int64_t AsInt64() const { return u_.i64; }  // kInt64 and kInt32
  double AsDouble() const { return u_.f64; }
  Decimal128 AsDecimal() const { return u_.decimal; }
  Date AsDate() const { return Date{u_.i64}; }
  Timestamp AsTimestamp() const {
    auto bits = static_cast<uint64_t>(u_.i64);
    return {static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits)};
  }
  ObjectId AsObjectId() const { return u_.oid; }
  std::string_view AsString() const { return bytes(); }  // kString, kCode, kSymbol
  inline View AsDocument() const;                        // kDocument, kArray
  inline View AsArray() const;                           // kArray
  std::string_view AsBinary() const { return bytes(); }
  uint8_t binary_subtype() const { return subtype_; }
  std::string_view RegexPattern() const { return u_.bytes.data; }
  std::string_view RegexOptions() const { return u_.bytes.data + RegexPattern().size() + 1; }
  std::string_view CodeWithScopeCode() const;
  View CodeWithScopeScope() const;
  std::string_view DbPointerNamespace() const;
  ObjectId DbPointerId() const;

  // The whole borrowed range of a type with bytes: a string's characters, a document with its
  // length, a regex's two C strings, a DBPointer's or code-with-scope's whole encoding.
  std::string_view bytes() const { return {u_.bytes.data, u_.bytes.size}; }

  // Bitwise sameness of type and encoding (1 and 1.0 differ, as do 0.0 and -0.0). For MongoDB's
  // order and equality use bson::Compare.
  bool BinaryEquals(const Value& other) const;

  // Appends the value's BSON encoding (without type byte and name) to `out`.
  void AppendTo(std::string* out) const;
  // Length of that encoding.
  uint32_t EncodedSize() const;

 private:
  friend class Builder;
  Value(Type type, std::string_view bytes) : type_(type) {
    u_.bytes = {bytes.data(), static_cast<uint32_t>(bytes.size())};
  }
  static Value OfType(Type type) {
    Value v;
    v.type_ = type;
    return v;
  }

  union Payload {
    Payload() : decimal() {}
    int64_t i64;
    double f64;
    Decimal128 decimal;
    ObjectId oid;
    struct {
      const char* data;
      uint32_t size;
    } bytes;
  } u_;
  Type type_ = Type::kMissing;
  uint8_t subtype_ = 0;
};
static_assert(std::is_trivially_copyable_v<Value>);

// One field of a document: a name and a value, both borrowed.
class Element {
 public:
  Element() = default;  // absent
  explicit Element(const char* at) : at_(at), name_size_(static_cast<uint32_t>(strlen(at + 1))) {}

  bool present() const { return at_ != nullptr; }
  Type type() const { return at_ ? static_cast<Type>(static_cast<uint8_t>(*at_)) : Type::kMissing; }
  std::string_view name() const { return {at_ + 1, name_size_}; }
  // Missing when !present().
  Value value() const { return at_ ? Value::FromBytes(type(), value_data()) : Value(); }
  const char* value_data() const { return at_ + 2 + name_size_; }
  uint32_t value_size() const {
    uint8_t fixed = kFixedSizes[static_cast<uint8_t>(*at_)];
    return fixed != kVariableSize ? fixed : VariableSize();
  }
  // Type byte, name and value.
  std::string_view raw() const { return {at_, 2 + name_size_ + value_size()}; }

 private:
  // The size of a type's value where the type alone decides it.
  static constexpr uint8_t kVariableSize = 0xff;
  static constexpr std::array<uint8_t, 256> MakeFixedSizes() {
    std::array<uint8_t, 256> sizes{};
    for (Type type : {Type::kString, Type::kDocument, Type::kArray, Type::kBinary, Type::kRegex,
                      Type::kDbPointer, Type::kCode, Type::kSymbol, Type::kCodeWithScope}) {
      sizes[static_cast<uint8_t>(type)] = kVariableSize;
    }
    for (Type type : {Type::kDouble, Type::kDate, Type::kTimestamp, Type::kInt64}) {
      sizes[static_cast<uint8_t>(type)] = 8;
    }
    sizes[static_cast<uint8_t>(Type::kInt32)] = 4;
    sizes[static_cast<uint8_t>(Type::kBool)] = 1;
    sizes[static_cast<uint8_t>(Type::kObjectId)] = 12;
    sizes[static_cast<uint8_t>(Type::kDecimal128)] = 16;
    return sizes;
  }
  static const std::array<uint8_t, 256> kFixedSizes;
  uint32_t VariableSize() const;

  const char* at_ = nullptr;
  uint32_t name_size_ = 0;
};
inline constexpr std::array<uint8_t, 256> Element::kFixedSizes = Element::MakeFixedSizes();

// A document (or array) read in place.
class View {
 public:
  // The empty document.
  View() : data_(kEmptyBytes) {}
  // REQUIRES: well-formed BSON at `data`, which outlives the view.
  explicit View(const char* data) : data_(data) {}
  View(const Document& document);  // NOLINT(google-explicit-constructor)
  View(Document&&) = delete;       // would dangle

  const char* data() const { return data_; }
  uint32_t size() const {
    uint32_t n;
    memcpy(&n, data_, sizeof n);
    return n;
  }
  bool empty() const { return size() == 5; }
  std::string_view bytes() const { return {data_, size()}; }

  // The first field of that name; absent (or missing) when there is none. Not a dotted path.
  Element Find(std::string_view name) const;
  Value operator[](std::string_view name) const { return Find(name).value(); }
  bool Has(std::string_view name) const { return Find(name).present(); }
  // Number of fields; walks the document.
  size_t Count() const;
  // REQUIRES: !empty().
  Element front() const { return Element(data_ + 4); }

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using pointer = const Element*;
    using reference = const Element&;
    Iterator() = default;
    explicit Iterator(const char* at) : at_(at) { Load(); }
    reference operator*() const { return element_; }
    pointer operator->() const { return &element_; }
    Iterator& operator++() {
      at_ = element_.value_data() + element_.value_size();
      Load();
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void Load() {
      if (*at_ != 0) {
        element_ = Element(at_);
      }
    }
    const char* at_ = nullptr;
    Element element_;
  };
  Iterator begin() const { return Iterator(data_ + 4); }
  Iterator end() const { return Iterator(data_ + size() - 1); }

 private:
  static const char kEmptyBytes[5];
  const char* data_;
};

// Owned document bytes.
class Document {
 public:
  Document() : bytes_("\5\0\0\0\0", 5) {}
  // Copies what the view shows.
  explicit Document(View view) : bytes_(view.bytes()) {}
  // REQUIRES: well-formed BSON.
  static Document FromTrusted(std::string bytes) { return Document(std::move(bytes)); }
  // Checks untrusted bytes (see bson/validate.h). Error: InvalidBSON.
  static Result<Document> Parse(std::string bytes);
  // From MongoDB extended JSON (v2, canonical or relaxed). Error: FailedToParse.
  static Result<Document> FromJson(std::string_view json);

  View view() const& { return View(bytes_.data()); }
  View view() && = delete;  // would dangle
  Value operator[](std::string_view name) const& { return view()[name]; }
  Value operator[](std::string_view name) && = delete;  // would dangle
  const std::string& bytes() const& { return bytes_; }
  std::string TakeBytes() && { return std::move(bytes_); }
  bool empty() const { return bytes_.size() == 5; }

 private:
  explicit Document(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};

// A document given to a call, which borrows it until it returns: a View, a Document, or a temporary
// Document. Only ever a parameter.
class Argument {
 public:
  Argument() = default;  // the empty document
  // NOLINTNEXTLINE(google-explicit-constructor)
  Argument(View view) : view_(view) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Argument(const Document& document) : view_(document.view()) {}
  Argument(const Argument&) = delete;
  Argument& operator=(const Argument&) = delete;

  View view() const { return view_; }
  operator View() const { return view_; }  // NOLINT(google-explicit-constructor)

 private:
  View view_;
};

// A value that owns its bytes. Copyable; the Value it shows is valid while it lives unmoved.
class OwnedValue {
 public:
  OwnedValue() = default;
  explicit OwnedValue(const Value& value);

  Value value() const&;
  Value value() && = delete;  // would dangle
  Type type() const { return type_; }
  bool missing() const { return type_ == Type::kMissing; }
  // Bytes this holds, for memory accounting.
  size_t memory() const { return sizeof *this + bytes_.capacity(); }

 private:
  Type type_ = Type::kMissing;
  std::string bytes_;
};

// Writes one document. Fields are appended in order; sub-documents and arrays are opened with
// Begin*/Push* and closed with End. In an array Push* numbers the elements.
class Builder {
 public:
  // Writes into its own buffer: Finish() hands it out.
  Builder() : out_(&own_), base_(0) {
    own_.reserve(kFirstReserve);
    Open();
  }
  // Appends the document to `*out`, which must outlive the builder and is not to be touched by
  // others until Close().
  explicit Builder(std::string* out) : out_(out), base_(out->size()) { Open(); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // A missing value appends nothing.
  Builder& Append(std::string_view name, const Value& value);
  Builder& Append(std::string_view name, bool v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, int32_t v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, int64_t v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, double v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, Decimal128 v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, Date v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, Timestamp v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, const ObjectId& v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, std::string_view v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, const char* v) {
    return Append(name, Value(std::string_view(v)));
  }
  Builder& Append(std::string_view name, const std::string& v) {
    return Append(name, Value(std::string_view(v)));
  }
  Builder& Append(std::string_view name, View v) { return Append(name, Value(v)); }
  Builder& Append(std::string_view name, const Document& v) { return Append(name, v.view()); }
  Builder& AppendArray(std::string_view name, View v) { return Append(name, Value::Array(v)); }
  Builder& AppendNull(std::string_view name) { return Append(name, Value::Null()); }
  Builder& AppendRegex(std::string_view name, std::string_view pattern, std::string_view options);
  Builder& AppendCodeWithScope(std::string_view name, std::string_view code, View scope);
  Builder& AppendDbPointer(std::string_view name, std::string_view ns, const ObjectId& id);
  // The field as it is, name included.
  Builder& Append(const Element& element);
  // Every field of `document`.
  Builder& AppendFields(View document);

  // The next array element. REQUIRES: the innermost open level is an array.
  template <typename T>
  Builder& Push(const T& value) {
    char name[12];
    return Append(NextIndex(name), value);
  }

  Builder& BeginDocument(std::string_view name) { return Begin(Type::kDocument, name); }
  Builder& BeginArray(std::string_view name) { return Begin(Type::kArray, name); }
  Builder& PushDocument() {
    char name[12];
    return Begin(Type::kDocument, NextIndex(name));
  }
  Builder& PushArray() {
    char name[12];
    return Begin(Type::kArray, NextIndex(name));
  }
  // Closes the innermost open document or array.
  Builder& End();

  // Bytes written so far, this document's length prefix included, terminators not.
  size_t size() const { return out_->size() - base_; }
  // Number of Push calls at the innermost level.
  uint32_t pushed() const { return top().next_index; }
  // Takes back the last Push and all bytes after `size`. REQUIRES: same nesting as when size()
  // was `size`.
  void RollbackPush(size_t size);

  // Ends the document. REQUIRES: every Begin has its End.
  void Close();
  // Close() and the bytes. REQUIRES: constructed without a target.
  Document Finish();

 private:
  struct Level {
    size_t start;
    uint32_t next_index;
  };
  static constexpr size_t kFirstReserve = 120;
  // Levels beyond the first few go to `deep_`.
  static constexpr size_t kShallow = 6;
  Level& top() { return depth_ <= kShallow ? shallow_[depth_ - 1] : deep_.back(); }
  const Level& top() const { return depth_ <= kShallow ? shallow_[depth_ - 1] : deep_.back(); }
  void Open();
  Builder& Begin(Type type, std::string_view name);
  void Header(Type type, std::string_view name);
  std::string_view NextIndex(char* buffer);

  std::string own_;
  std::string* out_;
  size_t base_;
  size_t depth_ = 0;
  std::array<Level, kShallow> shallow_;
  std::vector<Level> deep_;
};

// Relaxed or canonical (every type spelled out) extended JSON of a document, on one line.
std::string ToJson(const Argument& document);
std::string ToCanonicalJson(const Argument& document);
// The same for one value; "" when missing.
std::string ToJson(const Value& value);

inline Value::Value(View document) : Value(Type::kDocument, document.bytes()) {}
inline Value Value::Array(View array) { return Value(Type::kArray, array.bytes()); }
inline View Value::AsDocument() const { return View(u_.bytes.data); }
inline View Value::AsArray() const { return View(u_.bytes.data); }
inline View::View(const Document& document) : data_(document.bytes().data()) {}

}  // namespace quire::bson
