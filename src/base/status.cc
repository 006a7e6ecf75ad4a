// SPDX-License-Identifier: Apache-2.0
#include "quire/status.h"

#include <atomic>

#include "base/error_codes.h"

namespace quire {

struct Status::Rep {
  const int code;
  const std::string message;
  const std::string extra;
  mutable std::atomic<int> owners = 1;
};

Status::Status(int code, std::string message) : Status(code, std::move(message), "") {
  assert(code != 0);
}

Status::Status(int code, std::string message, std::string extra)
    : rep_(new Rep{code, std::move(message), std::move(extra)}) {}

void Status::Share() const { rep_->owners.fetch_add(1, std::memory_order_relaxed); }

void Status::Drop() const {
  if (rep_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete rep_;
  }
}

int Status::code() const { return rep_ ? rep_->code : 0; }

std::string_view Status::extra() const {
  return rep_ ? std::string_view(rep_->extra) : std::string_view();
}

std::string Status::code_name() const { return rep_ ? ErrorName(rep_->code) : "OK"; }

const std::string& Status::message() const {
  static const std::string kEmpty;
  return rep_ ? rep_->message : kEmpty;
}

Status Status::WithExtra(std::string bson_document) const {
  assert(!ok());
  return {rep_->code, rep_->message, std::move(bson_document)};
}

Status Status::WithPrefix(std::string_view prefix) const {
  return ok() ? *this : Status(rep_->code, std::string(prefix) + rep_->message, rep_->extra);
}

std::string Status::ToString() const { return ok() ? "OK" : code_name() + ": " + message(); }

std::string ErrorName(int code) {
  switch (code) {
#define QUIRE_NAME_CODE(name, number) \
  case number:                        \
    return #name;
    QUIRE_ERROR_CODES(QUIRE_NAME_CODE)
#undef QUIRE_NAME_CODE
    default:
      return "Location" + std::to_string(code);
  }
}

}  // namespace quire
