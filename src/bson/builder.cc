// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <charconv>
#include <cstring>

#include "quire/bson.h"

namespace quire::bson {

void Builder::Open() {
  Level level{out_->size(), 0};
  if (depth_ < kShallow) {
    shallow_[depth_] = level;
  } else {
    deep_.push_back(level);
  }
  ++depth_;
  out_->append(4, '\0');
}

void Builder::Header(Type type, std::string_view name) {
  constexpr size_t kShortName = 62;
  if (name.size() > kShortName) [[unlikely]] {
    out_->push_back(static_cast<char>(type));
    out_->append(name);
    out_->push_back('\0');
    return;
  }
  char header[2 + kShortName];
  header[0] = static_cast<char>(type);
  memcpy(header + 1, name.data(), name.size());
  header[1 + name.size()] = '\0';
  out_->append(header, 2 + name.size());
}

std::string_view Builder::NextIndex(char* buffer) {
  char* end = std::to_chars(buffer, buffer + 12, top().next_index++).ptr;
  return {buffer, static_cast<size_t>(end - buffer)};
}

// Most fields have short names and small values: they are put together beside the document and
// appended at once.
Builder& Builder::Append(std::string_view name, const Value& value) {
  constexpr size_t kShortName = 40;
  constexpr size_t kLargest = sizeof(ObjectId);  // of what is put beside the name
  if (value.missing()) {
    return *this;
  }
  if (name.size() > kShortName) [[unlikely]] {
    Header(value.type(), name);
    value.AppendTo(out_);
    return *this;
  }
  char field[2 + kShortName + kLargest];
  field[0] = static_cast<char>(value.type());
  memcpy(field + 1, name.data(), name.size());
  char* end = field + 1 + name.size();
  *end++ = '\0';
  switch (value.type()) {
    case Type::kDouble:
    case Type::kDate:
    case Type::kTimestamp:
    case Type::kInt64:
      memcpy(end, &value.u_.i64, sizeof value.u_.i64);
      end += sizeof value.u_.i64;
      break;
    case Type::kInt32: {
      const auto number = static_cast<int32_t>(value.u_.i64);
      memcpy(end, &number, sizeof number);
      end += sizeof number;
      break;
    }
    case Type::kBool:
      *end++ = value.u_.i64 != 0 ? '\1' : '\0';
      break;
    case Type::kObjectId:
      memcpy(end, value.u_.oid.bytes.data(), value.u_.oid.bytes.size());
      end += value.u_.oid.bytes.size();
      break;
    default:
      out_->append(field, static_cast<size_t>(end - field));
      value.AppendTo(out_);
      return *this;
  }
  out_->append(field, static_cast<size_t>(end - field));
  return *this;
}

Builder& Builder::Append(const Element& element) {
  out_->append(element.raw());
  return *this;
}

Builder& Builder::AppendFields(View document) {
  out_->append(document.data() + 4, document.size() - 5);
  return *this;
}

Builder& Builder::AppendRegex(std::string_view name, std::string_view pattern,
                              std::string_view options) {
  Header(Type::kRegex, name);
  out_->append(pattern);
  out_->push_back('\0');
  out_->append(options);
  out_->push_back('\0');
  return *this;
}

Builder& Builder::AppendCodeWithScope(std::string_view name, std::string_view code, View scope) {
  Header(Type::kCodeWithScope, name);
  auto code_size = static_cast<uint32_t>(code.size() + 1);
  uint32_t total = 4 + 4 + code_size + scope.size();
  out_->append(reinterpret_cast<const char*>(&total), 4);
  out_->append(reinterpret_cast<const char*>(&code_size), 4);
  out_->append(code);
  out_->push_back('\0');
  out_->append(scope.bytes());
  return *this;
}

Builder& Builder::AppendDbPointer(std::string_view name, std::string_view ns, const ObjectId& id) {
  Header(Type::kDbPointer, name);
  auto size = static_cast<uint32_t>(ns.size() + 1);
  out_->append(reinterpret_cast<const char*>(&size), 4);
  out_->append(ns);
  out_->push_back('\0');
  out_->append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
  return *this;
}

Builder& Builder::Begin(Type type, std::string_view name) {
  Header(type, name);
  Open();
  return *this;
}

Builder& Builder::End() {
  assert(depth_ > 0);
  out_->push_back('\0');
  size_t start = top().start;
  auto size = static_cast<uint32_t>(out_->size() - start);
  memcpy(out_->data() + start, &size, 4);
  if (depth_ > kShallow) {
    deep_.pop_back();
  }
  --depth_;
  return *this;
}

void Builder::RollbackPush(size_t size) {
  out_->resize(base_ + size);
  --top().next_index;
}

void Builder::Close() {
  assert(depth_ == 1);
  End();
}

Document Builder::Finish() {
  assert(out_ == &own_);
  Close();
  return Document::FromTrusted(std::move(own_));
}

}  // namespace quire::bson
