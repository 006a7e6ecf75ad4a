// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/categories.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Categories;
using patterns::Category;

constexpr int64_t kFanOut = 8;  // children of a category at the start

std::string SlugOf(int64_t i) { return Numbered("cat", i); }

// A tree where the parent of i is (i - 1) / kFanOut: parents come first.
Status AddCategory(const Categories& tree, int64_t i) {
  const std::string slug = SlugOf(i);
  if (i == 0) {
    return tree.Add("Category", slug).status();
  }
  ASSIGN_OR_RETURN(Category parent, tree.Get(SlugOf((i - 1) / kFanOut)));
  return tree.Add("Category", slug, parent.id).status();
}

// Puts a category of the last level below another one.
Status MoveOne(const DesignRun& run, const Categories& tree, Chance* chance) {
  ASSIGN_OR_RETURN(Category moved,
                   tree.Get(SlugOf(run.size() - 1 - chance->Below(run.size() / 2))));
  ASSIGN_OR_RETURN(Category parent, tree.Get(SlugOf(chance->Below(run.size() / 2))));
  return tree.Move(moved.id, parent.id);
}

std::vector<Step> Steps(const DesignRun& run, const Categories& tree, bool changes) {
  auto any = [&run](Worker& w) { return SlugOf(w.chance.Below(run.size())); };
  std::vector<Step> steps = {
      {"breadcrumb", 60, [&tree, any](Worker& w) { return tree.Get(any(w)).status(); }},
      {"by parent links", 10,
       [&tree, any](Worker& w) {
         ASSIGN_OR_RETURN(Category category, tree.Get(any(w)));
         return tree.BreadcrumbByParents(category.id).status();
       }},
      {"children", 20,
       [&tree, any](Worker& w) {
         ASSIGN_OR_RETURN(Category category, tree.Get(any(w)));
         return tree.Children(category.id, {.limit = 50}).status();
       }},
      {"descendants", 8, [&tree, any](Worker& w) {
         ASSIGN_OR_RETURN(Category category, tree.Get(any(w)));
         return tree.Descendants(category.id, {.limit = 50}).status();
       }}};
  if (changes) {
    steps.push_back({"move", 2, [&](Worker& w) { return MoveOne(run, tree, &w.chance); }});
  }
  return steps;
}

// Every breadcrumb is what the parent links say.
Result<std::vector<std::string>> WrongBreadcrumbs(const DesignRun& run, const Categories& tree) {
  std::vector<std::string> wrong;
  for (int64_t i = 0; i < run.size(); ++i) {
    ASSIGN_OR_RETURN(Category category, tree.Get(SlugOf(i)));
    ASSIGN_OR_RETURN(std::vector<patterns::CategoryRef> links,
                     tree.BreadcrumbByParents(category.id));
    const std::vector<patterns::CategoryRef> kept = category.Breadcrumb();
    bool same = links.size() == kept.size();
    for (size_t k = 0; same && k < kept.size(); ++k) {
      same = links[k].slug == kept[k].slug;
    }
    if (!same) {
      wrong.push_back(category.slug);
    }
  }
  return wrong;
}

Status RunTree(DesignRun* run, patterns::Backend backend) {
  Categories tree(run->client(), run->database(), {.backend = backend});
  RETURN_IF_ERROR(tree.CreateIndexes());
  // Level by level: a parent is there before its children.
  for (int64_t first = 0, count = 1; first < run->size(); first += count, count *= kFanOut) {
    RETURN_IF_ERROR(run->Load("a level", std::min(count, run->size() - first),
                              [&](int64_t i) { return AddCategory(tree, first + i); }));
  }
  RETURN_IF_ERROR(run->Work(Steps(*run, tree, run->size() > 1)));
  RETURN_IF_ERROR(tree.Recover().status());
  RETURN_IF_ERROR(run->Explain("breadcrumb", "categories", Doc("slug", SlugOf(0))));
  ASSIGN_OR_RETURN(Category root, tree.Get(SlugOf(0)));
  RETURN_IF_ERROR(
      run->Explain("descendants", "categories", Doc("ancestors._id", root.id), Doc("_id", 1), 50));
  ASSIGN_OR_RETURN(std::vector<std::string> wrong, WrongBreadcrumbs(*run, tree));
  run->Check("every breadcrumb is what the parent links say", wrong);
  return run->CheckInvariants(tree);
}

}  // namespace

Status DemoCategories(DemoRun* run) {
  RETURN_IF_ERROR(run->Design("compensating", [](DesignRun* design) {
    return RunTree(design, patterns::Backend::kCompensating);
  }));
  return run->Design("transactional", [](DesignRun* design) {
    return RunTree(design, patterns::Backend::kTransactional);
  });
}

}  // namespace quire::apps
