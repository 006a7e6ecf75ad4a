// SPDX-License-Identifier: Apache-2.0
#include "bson/validate.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::bson {

namespace {

constexpr uint8_t kVariable = 0xfe;
constexpr uint8_t kUnknown = 0xff;

// The size of each type's value where the type alone decides it.
constexpr std::array<uint8_t, 256> MakeFixedSizes() {
  struct Row {
    Type type;
    uint8_t size;
  };
  constexpr Row kRows[] = {
      {Type::kDouble, 8},        {Type::kString, kVariable}, {Type::kDocument, kVariable},
      {Type::kArray, kVariable}, {Type::kBinary, kVariable}, {Type::kUndefined, 0},
      {Type::kObjectId, 12},     {Type::kBool, kVariable},   {Type::kDate, 8},
      {Type::kNull, 0},          {Type::kRegex, kVariable},  {Type::kDbPointer, kVariable},
      {Type::kCode, kVariable},  {Type::kSymbol, kVariable}, {Type::kCodeWithScope, kVariable},
      {Type::kInt32, 4},         {Type::kTimestamp, 8},      {Type::kInt64, 8},
      {Type::kDecimal128, 16},   {Type::kMaxKey, 0},         {Type::kMinKey, 0},
  };
  std::array<uint8_t, 256> sizes{};
  sizes.fill(kUnknown);
  for (const Row& row : kRows) {
    sizes[static_cast<uint8_t>(row.type)] = row.size;
  }
  return sizes;
}

constexpr std::array<uint8_t, 256> kFixedSizes = MakeFixedSizes();

int32_t LoadLength(const char* p) {
  int32_t n;
  memcpy(&n, p, sizeof n);
  return n;
}

// Walks the elements without recursion. `last_` is the terminator of the innermost open document:
// nothing in it may reach that byte.
class Walker {
 public:
  Walker(const char* data, int max_depth)
      : data_(data), at_(data), max_depth_(std::min(max_depth, kMaxMessageDepth)) {}

  // Checks the document of at most `available` bytes.
  Status Run(size_t available) {
    if (!Open(available)) {
      return Invalid();
    }
    while (depth_ > 0) {
      if (at_ == last_) {
        Close();
      } else if (!Step()) {
        return Invalid();
      }
    }
    return Status::Ok();
  }

  uint32_t size() const { return static_cast<uint32_t>(at_ - data_); }

 private:
  size_t Left() const { return static_cast<size_t>(last_ - at_); }

  bool Fail(const char* why) {
    why_ = why;
    return false;
  }

  Status Invalid() const {
    return Status(
        code_, std::string("Invalid BSON: ") + why_ + " at offset " + std::to_string(at_ - data_));
  }

  // Enters the document at at_, which may take `available` bytes.
  bool Open(size_t available) {
    if (depth_ == max_depth_) {
      code_ = kOverflow;
      return Fail("exceeded maximum nested object depth");
    }
    if (available < 5) {
      return Fail("document too short");
    }
    int32_t size = LoadLength(at_);
    if (size < 5 || static_cast<size_t>(size) > available) {
      return Fail("bad document length");
    }
    const char* last = at_ + size - 1;
    if (*last != 0) {
      return Fail("document not terminated");
    }
    ends_[depth_++] = last;
    last_ = last;
    at_ += 4;
    return true;
  }

  void Close() {
    at_ = last_ + 1;
    if (--depth_ > 0) {
      last_ = ends_[depth_ - 1];
    }
  }

  bool Step() {
    auto type = static_cast<uint8_t>(*at_);
    uint8_t fixed = kFixedSizes[type];
    if (fixed == kUnknown) {
      return Fail(type == 0 ? "document ends early" : "unknown type");
    }
    ++at_;
    if (!SkipCString()) {
      return false;
    }
    if (fixed == kVariable) {
      return StepVariable(static_cast<Type>(type));
    }
    if (Left() < fixed) {
      return Fail("value too short");
    }
    at_ += fixed;
    return true;
  }

  bool StepVariable(Type type) {
    switch (type) {
      case Type::kDocument:
      case Type::kArray:
        return Open(Left());
      case Type::kString:
      case Type::kCode:
      case Type::kSymbol:
        return SkipString();
      case Type::kBool:
        return SkipBool();
      case Type::kBinary:
        return SkipBinary();
      case Type::kRegex:
        return SkipCString() && SkipCString();
      case Type::kDbPointer:
        return SkipString() && SkipBytes(12);
      default:
        return OpenCodeWithScope();
    }
  }

  bool SkipCString() {
    const void* nul = memchr(at_, 0, Left());
    if (nul == nullptr) {
      return Fail("name or pattern not terminated");
    }
    at_ = static_cast<const char*>(nul) + 1;
    return true;
  }

  bool SkipBytes(size_t n) {
    if (Left() < n) {
      return Fail("value too short");
    }
    at_ += n;
    return true;
  }

  bool SkipString() {
    if (Left() < 5) {
      return Fail("string too short");
    }
    int32_t size = LoadLength(at_);
    if (size < 1 || static_cast<size_t>(size) > Left() - 4) {
      return Fail("bad string length");
    }
    at_ += 4 + size;
    return at_[-1] == 0 || Fail("string not terminated");
  }

  bool SkipBool() {
    if (Left() < 1) {
      return Fail("value too short");
    }
    if (static_cast<uint8_t>(*at_) > 1) {
      return Fail("boolean is neither false nor true");
    }
    ++at_;
    return true;
  }

  bool SkipBinary() {
    if (Left() < 5) {
      return Fail("binary too short");
    }
    int32_t size = LoadLength(at_);
    if (size < 0 || static_cast<size_t>(size) > Left() - 5) {
      return Fail("bad binary length");
    }
    at_ += 5 + size;
    return true;
  }

  // The scope takes exactly what the whole leaves after the code.
  bool OpenCodeWithScope() {
    const char* start = at_;
    if (Left() < 14) {
      return Fail("code with scope too short");
    }
    int32_t size = LoadLength(at_);
    if (size < 14 || static_cast<size_t>(size) > Left()) {
      return Fail("bad code with scope length");
    }
    at_ += 4;
    if (!SkipString()) {
      return false;
    }
    const char* end = start + size;
    if (end - at_ < 5 || LoadLength(at_) != end - at_) {
      return Fail("bad scope length");
    }
    return Open(static_cast<size_t>(end - at_));
  }

  const char* data_;
  const char* at_;
  const char* last_ = nullptr;
  const char* why_ = "";
  int code_ = kInvalidBSON;  // of the failure
  int max_depth_;
  int depth_ = 0;
  std::array<const char*, kMaxMessageDepth> ends_;
};

}  // namespace

Result<uint32_t> ValidatePrefix(std::string_view bytes, const ValidateOptions& options) {
  Walker walker(bytes.data(), options.max_depth);
  RETURN_IF_ERROR(walker.Run(bytes.size()));
  if (walker.size() > options.max_size) {
    return Status(kInvalidBSON, "Invalid BSON: size " + std::to_string(walker.size()) +
                                    " is above the limit of " + std::to_string(options.max_size));
  }
  return walker.size();
}

Status Validate(std::string_view bytes, const ValidateOptions& options) {
  ASSIGN_OR_RETURN(uint32_t size, ValidatePrefix(bytes, options));
  if (size != bytes.size()) {
    return Status(kInvalidBSON, "Invalid BSON: bytes after the end of the document");
  }
  return Status::Ok();
}

bool NestsWithin(View document, int max_depth) {
  constexpr int kSmallestLevel = 7;  // type, an empty name, size and end
  if (static_cast<int64_t>(document.size()) < int64_t{kSmallestLevel} * max_depth) {
    return true;
  }
  Walker walker(document.data(), max_depth);
  return walker.Run(document.size()).ok();
}

Result<Document> Document::Parse(std::string bytes) {
  RETURN_IF_ERROR(Validate(bytes));
  return Document(std::move(bytes));
}

}  // namespace quire::bson
