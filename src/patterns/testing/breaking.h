// SPDX-License-Identifier: Apache-2.0
//
// Documents broken on purpose, for the tests of CheckInvariants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patterns/testing/world.h"

namespace quire::patterns {

using Lines = std::vector<std::string>;

// Breaks one document, expects the lines, and puts it back.
template <typename System>
class Breaking {
 public:
  Breaking(World* world, const System& system) : world_(world), system_(system) { Expect({}); }

  void Update(std::string_view collection, const bson::Document& filter,
              const bson::Document& update, const Lines& lines) {
    SCOPED_TRACE(bson::ToJson(update.view()));
    const World::Snapshot before = world_->Take();
    EXPECT_EQ(*world_->store.UpdateOne(collection, filter, update), 1);
    Expect(lines);
    world_->Restore(before);
    Expect({});
  }
  void Insert(std::string_view collection, const bson::Document& document, const Lines& lines) {
    SCOPED_TRACE(bson::ToJson(document.view()));
    const World::Snapshot before = world_->Take();
    EXPECT_TRUE(world_->store.Insert(collection, document).ok());
    Expect(lines);
    world_->Restore(before);
  }
  void Delete(std::string_view collection, const bson::Document& filter, const Lines& lines) {
    SCOPED_TRACE(bson::ToJson(filter.view()));
    const World::Snapshot before = world_->Take();
    EXPECT_EQ(*world_->store.DeleteOne(collection, filter), 1);
    Expect(lines);
    world_->Restore(before);
  }

 private:
  void Expect(const Lines& lines) {
    Result<Lines> found = system_.CheckInvariants();
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(*found, lines);
  }

  World* world_;
  const System& system_;
};

}  // namespace quire::patterns
