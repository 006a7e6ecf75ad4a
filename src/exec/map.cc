// SPDX-License-Identifier: Apache-2.0
#include "exec/map.h"

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::exec {

Map::Map(std::unique_ptr<Operator> input, const js::Function* map)
    : Unary(std::move(input)), map_(*map) {}

Status Map::Call(OpContext& op, bson::View document) {
  size_t bytes = 0;
  return map_.Emit(document, [&](const bson::Value& key, const bson::Value& value) {
    std::string& pair = pairs_.emplace_back();
    bson::Builder out(&pair);
    out.Append("k", key).Append("v", value).Close();
    bytes += pair.size();
    if (bytes > op.memory_limit) {
      return Status(31392, "Size of emitted values exceeds the set size limit of " +
                               std::to_string(op.memory_limit) + " bytes");
    }
    return Status::Ok();
  });
}

Result<bool> Map::Produce(OpContext& op, Row* row) {
  while (pairs_.empty()) {
    RETURN_IF_ERROR(op.CheckInterrupt());
    Row input;
    ASSIGN_OR_RETURN(bool more, input_->Next(op, &input));
    if (!more) {
      return false;
    }
    RETURN_IF_ERROR(Call(op, input.document));
  }
  current_ = std::move(pairs_.front());
  pairs_.pop_front();
  *row = Row();
  row->document = bson::View(current_.data());
  return true;
}

}  // namespace quire::exec
