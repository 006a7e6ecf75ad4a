// SPDX-License-Identifier: Apache-2.0
#include "kv/kv.h"

#include "base/error_codes.h"

namespace quire::kv {

Status Store::Checkpoint(const std::string& /*folder*/) {
  return {kIllegalOperation, "A store without files cannot be copied"};
}

void ReadValue::SetCopy(std::string_view bytes) {
  auto copy = std::make_shared<std::string>(bytes);
  view_ = *copy;
  owner_ = std::move(copy);
  kind_ = nullptr;
}

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<unsigned char>(end.back()) == 0xFF) {
    end.pop_back();
  }
  if (!end.empty()) {
    ++end.back();
  }
  return end;
}

}  // namespace quire::kv
