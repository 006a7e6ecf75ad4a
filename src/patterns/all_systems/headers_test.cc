// SPDX-License-Identifier: Apache-2.0
//
// A program may use every system at once: no two of their headers name different things alike.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "quire/patterns/ads.h"
#include "quire/patterns/advice.h"
#include "quire/patterns/attributes.h"
#include "quire/patterns/buckets.h"
#include "quire/patterns/catalog.h"
#include "quire/patterns/categories.h"
#include "quire/patterns/cms.h"
#include "quire/patterns/comments.h"
#include "quire/patterns/concerns.h"
#include "quire/patterns/contacts.h"
#include "quire/patterns/error.h"
#include "quire/patterns/event_log.h"
#include "quire/patterns/field_names.h"
#include "quire/patterns/game.h"
#include "quire/patterns/gridfs.h"
#include "quire/patterns/idempotency.h"
#include "quire/patterns/inbox.h"
#include "quire/patterns/index_advice.h"
#include "quire/patterns/inventory.h"
#include "quire/patterns/lease.h"
#include "quire/patterns/links.h"
#include "quire/patterns/log_lines.h"
#include "quire/patterns/map_reduce.h"
#include "quire/patterns/migrations.h"
#include "quire/patterns/names.h"
#include "quire/patterns/nodes.h"
#include "quire/patterns/orders.h"
#include "quire/patterns/page.h"
#include "quire/patterns/perf.h"
#include "quire/patterns/read_preference.h"
#include "quire/patterns/reports.h"
#include "quire/patterns/rollups.h"
#include "quire/patterns/saga.h"
#include "quire/patterns/seams.h"
#include "quire/patterns/social.h"
#include "quire/patterns/store.h"
#include "quire/patterns/transfers.h"

namespace quire::patterns {
namespace {

TEST(Headers, AllAreHere) {
  const std::filesystem::path root(QUIRE_SOURCE_DIR);
  std::ifstream file(root / "src/patterns/all_systems/headers_test.cc");
  const std::string here((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const auto& entry : std::filesystem::directory_iterator(root / "include/quire/patterns")) {
    const std::string include =
        "#include \"quire/patterns/" + entry.path().filename().string() + "\"";
    EXPECT_NE(here.find(include), std::string::npos) << include;
  }
}

}  // namespace
}  // namespace quire::patterns
