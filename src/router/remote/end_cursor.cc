// SPDX-License-Identifier: Apache-2.0
#include "router/remote/end_cursor.h"

#include <chrono>

namespace quire::router {

void EndCursor(Lanes* lanes, const std::string& host, std::string_view database,
               std::string_view collection, int64_t cursor, bson::View session) {
  constexpr std::chrono::seconds kTimeout{10};
  bson::Builder kill;
  kill.Append("killCursors", collection)
      .BeginArray("cursors")
      .Push(cursor)
      .End()
      .AppendFields(session)
      .Append("$db", database);
  lanes->Send(host, kill.Finish(), std::chrono::steady_clock::now() + kTimeout,
              [](const Result<bson::Document>&) {});
}

}  // namespace quire::router
