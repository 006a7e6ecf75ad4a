// SPDX-License-Identifier: Apache-2.0
//
// Numbers of the protocol in BSON documents: 64 bits without a sign as int64 with the same bits.
#pragma once

#include <cstdint>
#include <string_view>

#include "quire/bson.h"
#include "repl/core/view.h"

namespace quire::repl {

// Reads fields, and remembers whether one was missing or of another type.
class FieldReader {
 public:
  explicit FieldReader(bson::View document) : document_(document) {}

  bool ok() const { return ok_; }
  uint64_t Number(std::string_view name) {
    const bson::Value value = document_[name];
    if (value.type() != bson::Type::kInt64 && value.type() != bson::Type::kInt32) {
      ok_ = false;
      return 0;
    }
    return static_cast<uint64_t>(value.AsInt64());
  }
  int64_t Signed(std::string_view name) { return static_cast<int64_t>(Number(name)); }
  MemberId Member(std::string_view name) { return static_cast<MemberId>(Signed(name)); }
  bool Bool(std::string_view name) {
    const bson::Value value = document_[name];
    ok_ = ok_ && value.type() == bson::Type::kBool;
    return ok_ && value.AsBool();
  }
  // The empty document when it is none; `array`: an array instead.
  bson::View Document(std::string_view name, bool array = false) {
    const bson::Value value = document_[name];
    const bool fits = array ? value.is_array() : value.is_document();
    ok_ = ok_ && fits;
    return fits ? value.AsDocument() : bson::View();
  }
  std::string_view Text(std::string_view name) {
    const bson::Value value = document_[name];
    ok_ = ok_ && value.is_string();
    return value.is_string() ? value.AsString() : std::string_view();
  }

  Position At(std::string_view name) {
    FieldReader part(Document(name));
    Position out{part.Number("e"), part.Number("t")};
    ok_ = ok_ && part.ok();
    return out;
  }
  Nonce ReadNonce(std::string_view name) {
    FieldReader part(Document(name));
    Nonce out{part.Number("boot"), part.Number("attempt")};
    ok_ = ok_ && part.ok();
    return out;
  }
  Stamp ReadStamp(std::string_view name) {
    FieldReader part(Document(name));
    Stamp out{part.Number("counter"), part.ReadNonce("nonce")};
    ok_ = ok_ && part.ok();
    return out;
  }
  Session ReadSession(std::string_view name) {
    FieldReader part(Document(name));
    Session out{part.Number("boot"), part.Number("attempt")};
    ok_ = ok_ && part.ok();
    return out;
  }
  Leadership ReadLeadership(std::string_view name) {
    FieldReader part(Document(name));
    Leadership out{part.Number("epoch"), part.Member("member"), part.Number("boot")};
    ok_ = ok_ && part.ok();
    return out;
  }

 private:
  bson::View document_;
  bool ok_ = true;
};

// Writes what FieldReader reads.
class FieldWriter {
 public:
  FieldWriter& Number(std::string_view name, uint64_t value) {
    out_.Append(name, static_cast<int64_t>(value));
    return *this;
  }
  FieldWriter& Signed(std::string_view name, int64_t value) {
    out_.Append(name, value);
    return *this;
  }
  FieldWriter& Bool(std::string_view name, bool value) {
    out_.Append(name, value);
    return *this;
  }
  FieldWriter& Text(std::string_view name, std::string_view value) {
    out_.Append(name, value);
    return *this;
  }
  FieldWriter& At(std::string_view name, Position at) {
    out_.BeginDocument(name);
    Number("e", at.epoch).Number("t", at.time);
    out_.End();
    return *this;
  }
  FieldWriter& Put(std::string_view name, const Nonce& nonce) {
    out_.BeginDocument(name);
    Number("boot", nonce.boot).Number("attempt", nonce.attempt);
    out_.End();
    return *this;
  }
  FieldWriter& Put(std::string_view name, const Session& session) {
    out_.BeginDocument(name);
    Number("boot", session.boot).Number("attempt", session.attempt);
    out_.End();
    return *this;
  }
  FieldWriter& Put(std::string_view name, const Stamp& stamp) {
    out_.BeginDocument(name);
    Number("counter", stamp.counter).Put("nonce", stamp.nonce);
    out_.End();
    return *this;
  }
  FieldWriter& Put(std::string_view name, const Leadership& leader) {
    out_.BeginDocument(name);
    Number("epoch", leader.epoch).Signed("member", leader.member).Number("boot", leader.boot);
    out_.End();
    return *this;
  }
  bson::Builder& builder() { return out_; }
  bson::Document Finish() { return out_.Finish(); }

 private:
  bson::Builder out_;
};

}  // namespace quire::repl
