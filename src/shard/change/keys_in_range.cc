// SPDX-License-Identifier: Apache-2.0
#include "shard/change/keys_in_range.h"

#include <utility>

#include "base/try.h"
#include "quire/doc.h"
#include "request/cursor_reply.h"
#include "shard/state/name_document.h"

namespace quire::shard {

namespace {

constexpr int32_t kBatch = 10'000;

bson::Document FindOfKeys(std::string_view ns, const placement::ShardKeyPattern& pattern) {
  bson::Builder fields;
  for (const placement::ShardKeyPattern::Part& part : pattern.parts()) {
    fields.Append(part.name(), 1);
  }
  return Doc("find", CollectionOf(ns), "batchSize", kBatch, "projection", fields.Finish());
}

}  // namespace

Status ReadKeysInRange(Context& context, std::string_view ns,
                       const placement::ShardKeyPattern& pattern, const placement::KeyRange& range,
                       const std::function<bool(placement::ShardKey)>& take) {
  const bool to_the_end = range.max == pattern.Highest();
  bson::Document command = FindOfKeys(ns, pattern);
  while (true) {
    ASSIGN_OR_RETURN(const bson::Document reply, context.local(DatabaseOf(ns), command, {}));
    ASSIGN_OR_RETURN(const request::CursorReply cursor, request::CursorReply::Read(reply));
    for (const bson::Element& document : cursor.batch) {
      ASSIGN_OR_RETURN(placement::ShardKey key, pattern.KeyOf(document.value().AsDocument()));
      const bool inside = range.min <= key && (to_the_end || key < range.max);
      if (!inside || take(std::move(key))) {
        continue;
      }
      if (cursor.id != 0) {
        command = Doc("killCursors", CollectionOf(ns), "cursors", List(cursor.id));
        return context.local(DatabaseOf(ns), command, {}).status();
      }
      return Status::Ok();
    }
    if (cursor.id == 0) {
      return Status::Ok();
    }
    command = Doc("getMore", cursor.id, "collection", CollectionOf(ns));
  }
}

}  // namespace quire::shard
