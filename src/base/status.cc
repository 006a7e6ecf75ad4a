// SPDX-License-Identifier: Apache-2.0
#include "quire/status.h"

#include "base/error_codes.h"

namespace quire {

Status::Status(int code, std::string message)
    : rep_(std::make_shared<Rep>(Rep{code, std::move(message), {}})) {
  assert(code != 0);
}

std::string Status::code_name() const { return rep_ ? ErrorName(rep_->code) : "OK"; }

const std::string& Status::message() const {
  static const std::string kEmpty;
  return rep_ ? rep_->message : kEmpty;
}

Status Status::WithExtra(std::string bson_document) const {
  assert(!ok());
  Status copy;
  copy.rep_ = std::make_shared<Rep>(Rep{rep_->code, rep_->message, std::move(bson_document)});
  return copy;
}

Status Status::WithPrefix(std::string_view prefix) const {
  if (ok()) {
    return *this;
  }
  Status copy;
  copy.rep_ =
      std::make_shared<Rep>(Rep{rep_->code, std::string(prefix) + rep_->message, rep_->extra});
  return copy;
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
