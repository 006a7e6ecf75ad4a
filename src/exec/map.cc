// SPDX-License-Identifier: Apache-2.0
#include "exec/map.h"

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::exec {

Map::Map(std::unique_ptr<Operator> input, const js::Function* map)
    : Unary(std::move(input)), map_(*map) {}

Status Map::Call(OpContext& op, bson::View document) {
  constexpr size_t kKept = 1 << 20;
  if (pairs_.capacity() > kKept) {
    pairs_ = std::string();
  }
  pairs_.clear();
  next_ = 0;
  return map_.Emit(document, [&](const bson::Value& key, const bson::Value& value) {
    bson::Builder out(&pairs_);
    out.Append("k", key).Append("v", value).Close();
    if (pairs_.size() > op.memory_limit) {
      return Status(31392, "Size of emitted values exceeds the set size limit of " +
                               std::to_string(op.memory_limit) + " bytes");
    }
    return Status::Ok();
  });
}

Result<bool> Map::Produce(OpContext& op, Row* row) {
  while (next_ == pairs_.size()) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    Row input;
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &input));
    if (!more) {
      return false;
    }
    RETURN_IF_ERROR(Call(op, input.document));
  }
  *row = Row();
  row->document = bson::View(pairs_.data() + next_);
  next_ += row->document.size();
  return true;
}

}  // namespace quire::exec
