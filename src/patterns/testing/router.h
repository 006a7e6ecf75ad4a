// SPDX-License-Identifier: Apache-2.0
//
// A router as the tests of systems on shards need it: what it would send to all of them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "patterns/testing/places.h"

namespace quire::patterns {

inline bson::Document KeysOf(std::string_view json) {
  Result<bson::Document> keys = bson::Document::FromJson(json);
  EXPECT_TRUE(keys.ok()) << json;
  return *keys;
}

// Whether a filter names one value, or several, of the field, or of the document that it is in.
inline bool Names(bson::View filter, std::string_view field) {
  if (bson::Value value = filter[field]; !value.missing()) {
    return !value.is_document() || value.AsDocument().Has("$in");
  }
  if (const size_t dot = field.find('.'); dot != std::string_view::npos) {
    const bson::Value outer = filter[field.substr(0, dot)];
    if (outer.is_document() && Names(outer.AsDocument(), field.substr(dot + 1))) {
      return true;
    }
  }
  bson::Value all = filter["$and"];
  for (const bson::Element& one : all.is_array() ? all.AsArray() : bson::View()) {
    if (Names(one.value().AsDocument(), field)) {
      return true;
    }
  }
  return false;
}

// The sharded collections that are asked as a whole.
class Router : public QueryHook {
 public:
  explicit Router(const std::vector<ShardKeySpec>& keys) {
    for (const ShardKeySpec& key : keys) {
      const bson::Document fields = KeysOf(key.keys);
      prefixes_[std::string(key.collection)] = std::string((*fields.view().begin()).name());
    }
  }

  void Asks(const bson::Document& query) override {
    const bool find = query.view().Has("find");
    const std::string collection(TextAt(query, find ? "find" : "aggregate"));
    const bson::Value filter =
        find ? query["filter"] : query["pipeline"].AsArray()["0"].AsDocument()["$match"];
    auto prefix = prefixes_.find(collection);
    if (prefix != prefixes_.end() &&
        (!filter.is_document() || !Names(filter.AsDocument(), prefix->second))) {
      broadcast.insert(collection);
    }
  }

  std::set<std::string> broadcast;

 private:
  std::map<std::string, std::string> prefixes_;  // the first field of each key
};

struct Routed {
  const char* name;
  std::function<bool()> call;
  std::set<std::string> broadcast = {};
};

inline void ExpectRoutes(Router* router, const std::vector<Routed>& calls) {
  for (const Routed& one : calls) {
    SCOPED_TRACE(one.name);
    router->broadcast.clear();
    EXPECT_TRUE(one.call());
    EXPECT_EQ(router->broadcast, one.broadcast);
  }
}

// A unique index on shards begins with their key.
inline void ExpectUniqueOnShards(const std::vector<IndexSpec>& indexes,
                                 const std::vector<ShardKeySpec>& keys) {
  for (const ShardKeySpec& key : keys) {
    for (const IndexSpec& index : indexes) {
      if (!index.unique || index.collection != key.collection) {
        continue;
      }
      const bson::Document wanted = KeysOf(key.keys);
      const bson::Document fields = KeysOf(index.keys);
      auto field = fields.view().begin();
      for (const bson::Element& part : wanted.view()) {
        EXPECT_EQ((*field).name(), part.name()) << index.collection << " " << index.keys;
        ++field;
      }
    }
  }
}

class RoutingTest : public BothPlaces {
 protected:
  Seams Through(Router* router) {
    Seams seams = world_.seams();
    seams.queries = router;
    return seams;
  }
};

}  // namespace quire::patterns
