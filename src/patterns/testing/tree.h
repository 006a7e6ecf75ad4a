// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the categories share: a small tree and what must hold of any.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "patterns/testing/places.h"
#include "quire/patterns/categories.h"

namespace quire::patterns {

inline Categories TreeOf(World* world, Backend backend, const Seams& seams,
                         int32_t max_depth = 64) {
  return Categories(world->client, world->database,
                    {.backend = backend, .max_depth = max_depth, .seams = seams});
}
inline Categories TreeOf(World* world, Backend backend = Backend::kCompensating) {
  return TreeOf(world, backend, world->seams());
}

using TreeNodes = std::map<std::string, bson::Document>;

inline TreeNodes AllNodes(World* world) {
  TreeNodes nodes;
  auto found = world->store.Find("categories", Doc("gone", Doc("$exists", false)));
  EXPECT_TRUE(found.ok()) << found.status().ToString();
  for (const bson::Document& node : *found) {
    nodes.emplace(bson::ToJson(node["_id"]), node);
  }
  return nodes;
}

// Every parent exists and no one is its own ancestor.
inline void ExpectTree(World* world) {
  const TreeNodes nodes = AllNodes(world);
  for (const auto& [id, node] : nodes) {
    std::set<std::string> above = {id};
    const bson::Document* at = &node;
    while (!(*at)["parent"].nullish()) {
      const std::string parent = bson::ToJson((*at)["parent"]);
      ASSERT_TRUE(nodes.contains(parent)) << "no parent of " << bson::ToJson(at->view());
      ASSERT_TRUE(above.insert(parent).second) << "a ring at " << parent;
      at = &nodes.at(parent);
    }
  }
}

// No breadcrumb has a category that does not exist.
inline void ExpectKnownAncestors(World* world) {
  const TreeNodes nodes = AllNodes(world);
  for (const auto& [id, node] : nodes) {
    for (const bson::Element& ancestor : node["ancestors"].AsArray()) {
      EXPECT_TRUE(nodes.contains(bson::ToJson(ancestor.value().AsDocument()["_id"])))
          << bson::ToJson(node.view());
    }
  }
}

// The breadcrumbs say what the parent links say.
inline void ExpectBreadcrumbs(World* world) {
  const TreeNodes nodes = AllNodes(world);
  for (const auto& [id, node] : nodes) {
    const bson::Document* at = &node;
    size_t n = 0;
    for (const bson::Element& ancestor : node["ancestors"].AsArray()) {
      ASSERT_FALSE((*at)["parent"].nullish()) << bson::ToJson(node.view());
      const bson::Document& parent = nodes.at(bson::ToJson((*at)["parent"]));
      for (const char* field : {"_id", "slug", "name"}) {
        EXPECT_TRUE(ancestor.value().AsDocument()[field].BinaryEquals(parent[field]))
            << bson::ToJson(node.view());
      }
      at = &parent;
      ++n;
    }
    EXPECT_TRUE((*at)["parent"].nullish()) << bson::ToJson(node.view());
    EXPECT_EQ(IntegerAt(node, "depth"), static_cast<int64_t>(n));
  }
  auto lock = world->store.FindOne("tree_lock", Doc("_id", "categories"));
  EXPECT_TRUE(!*lock || (**lock)["op"].nullish());
}

// ragtime > bop > modal, ragtime > swing.
struct Jazz {
  CategoryId ragtime;
  CategoryId bop;
  CategoryId modal;
  CategoryId swing;
};

inline Jazz MakeJazz(World* world) {
  Categories tree = TreeOf(world);
  EXPECT_TRUE(tree.CreateIndexes().ok());
  Jazz jazz;
  jazz.ragtime = *tree.Add("Ragtime", "ragtime");
  jazz.bop = *tree.Add("Bop", "bop", jazz.ragtime);
  jazz.modal = *tree.Add("Modal Jazz", "modal-jazz", jazz.bop);
  jazz.swing = *tree.Add("Swing", "swing", jazz.ragtime);
  return jazz;
}

inline std::string Crumbs(const Result<Category>& category) {
  if (!category.ok()) {
    return ErrorName(category.status());
  }
  std::string text;
  for (const CategoryRef& crumb : category->Breadcrumb()) {
    text += (text.empty() ? "" : " > ") + crumb.name;
  }
  return text;
}

// Lets time pass and runs the jobs.
inline void SettleTree(World* world) {
  world->clock.Advance(std::chrono::minutes(5));
  Categories tree = TreeOf(world);
  for (int i = 0; i < 10; ++i) {
    auto recovered = tree.Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.status().ToString();
    auto rebuilt = tree.RebuildAll();
    ASSERT_TRUE(rebuilt.ok()) << rebuilt.status().ToString();
    if (recovered->changed + rebuilt->changed == 0) {
      return;
    }
  }
  FAIL() << "the jobs never end";
}

}  // namespace quire::patterns
