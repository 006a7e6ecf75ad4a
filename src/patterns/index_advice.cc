// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/index_advice.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/try.h"
#include "patterns/doc.h"

namespace quire::patterns {

namespace {

using bson::Document;

Result<IndexTrial> Try(const Store& store, std::string_view collection, const Document& filter,
                       const Document& sort, const Document& keys) {
  Document find = Doc("find", collection, "filter", filter, "sort", sort, "hint", keys);
  ASSIGN_OR_RETURN(Document reply, store.Run(Doc("explain", find, "verbosity", "executionStats")));
  IndexTrial trial;
  trial.keys = bson::ToJson(keys.view());
  trial.keys_examined = IntegerAt(reply, "executionStats.totalKeysExamined");
  trial.documents_examined = IntegerAt(reply, "executionStats.totalDocsExamined");
  trial.returned = IntegerAt(reply, "executionStats.nReturned");
  trial.sorts_in_memory =
      bson::ToJson(At(reply, "queryPlanner.winningPlan")).find(R"("stage":"SORT")") !=
      std::string::npos;
  return trial;
}

}  // namespace

IndexAdvice AdviseIndex(const std::vector<std::string>& equality,
                        const std::vector<std::string>& sort,
                        const std::vector<std::string>& range) {
  IndexAdvice advice;
  bson::Builder keys;
  std::set<std::string> used;
  auto add = [&](const std::string& field, int32_t direction) {
    if (used.insert(field).second) {
      keys.Append(field, direction);
    }
  };
  for (const std::string& field : equality) {
    add(field, 1);
  }
  for (const std::string& field : sort) {
    field.starts_with('-') ? add(field.substr(1), -1) : add(field, 1);
  }
  std::vector<std::string> ranges;
  for (const std::string& field : range) {
    if (!used.contains(field)) {
      ranges.push_back(field);
    }
  }
  for (const std::string& field : ranges) {
    add(field, 1);
  }
  if (range.size() > 1) {
    advice.warnings.emplace_back("two ranges: the index narrows by the first only");
  }
  if (!sort.empty() && !ranges.empty()) {
    advice.warnings.emplace_back(
        "a range and a sort on different fields: in the order of the sort, keys outside the range "
        "are read too");
  }
  advice.keys = keys.Finish();
  return advice;
}

Result<std::vector<IndexTrial>> CompareIndexes(const Client& client, std::string_view database,
                                               std::string_view collection, const Document& filter,
                                               const Document& sort,
                                               const std::vector<std::string>& indexes) {
  Store store(client, database, {});
  Collection target = client.GetDatabase(database).GetCollection(collection);
  std::vector<IndexTrial> trials;
  for (const std::string& json : indexes) {
    ASSIGN_OR_RETURN(Document keys, Document::FromJson(json));
    ASSIGN_OR_RETURN(auto missing, store.MissingIndexes({{collection, json}}));
    ASSIGN_OR_RETURN(std::string name, target.CreateIndex(keys));
    Result<IndexTrial> trial = Try(store, collection, filter, sort, keys);
    if (!missing.empty()) {
      RETURN_IF_ERROR(target.DropIndex(name));
    }
    RETURN_IF_ERROR(trial.status());
    trials.push_back(*std::move(trial));
  }
  std::stable_sort(trials.begin(), trials.end(), [](const IndexTrial& a, const IndexTrial& b) {
    return std::make_tuple(a.sorts_in_memory, a.keys_examined + a.documents_examined) <
           std::make_tuple(b.sorts_in_memory, b.keys_examined + b.documents_examined);
  });
  return trials;
}

}  // namespace quire::patterns
