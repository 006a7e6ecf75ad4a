// SPDX-License-Identifier: Apache-2.0
//
// A key stands for one call with all its arguments: with any other argument, and for any other
// call, it is refused.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "patterns/testing/places.h"

namespace quire::patterns {

inline constexpr char kKey[] = "key";

struct KeyedCall {
  const char* name;
  std::function<Status()> first;
  std::vector<std::function<Status()>> others;  // one argument of the first is another
};

// Each call in a world that forgets the keys of the one before, whatever it answers.
inline void ExpectKeyStandsForOne(World* world, const std::vector<KeyedCall>& calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(calls[i].name);
    ASSERT_TRUE(world->store.DeleteMany("idempotency", Doc()).ok());
    const Status first = calls[i].first();
    for (size_t other = 0; other < calls[i].others.size(); ++other) {
      Status reused = calls[i].others[other]();
      EXPECT_TRUE(Is(reused, Error::kIdempotencyKeyReuse)) << other << " " << reused.ToString();
    }
    Status reused = calls[(i + 1) % calls.size()].first();
    EXPECT_TRUE(Is(reused, Error::kIdempotencyKeyReuse)) << reused.ToString();
    EXPECT_EQ(calls[i].first().code(), first.code());
  }
}

}  // namespace quire::patterns
