// SPDX-License-Identifier: Apache-2.0
//
// An index to be created against those that are there.
#include <algorithm>

#include "base/current_op.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "bson/compare.h"
#include "bson/json/value_text.h"
#include "engine/schema/index_spec_internal.h"
#include "engine/schema/special_index_spec.h"
#include "expr/match/node.h"

namespace quire::engine {

namespace {

enum class Likeness {
  kDifferent,   // two indexes
  kEquivalent,  // the same index with other options
  kIdentical,
};

// A partial filter in one order, however it was written.
bson::Document Canonical(const bson::Value& filter) {
  expr::Context context;
  if (filter.is_document()) {
    if (auto parsed = expr::match::Filter::Parse(filter.AsDocument(), &context); parsed.ok()) {
      return expr::match::Serialize((*parsed)->root());
    }
  }
  return bson::Document();
}

// What tells two indexes apart: all else are options of one.
bool SameSignature(bson::View a, bson::View b) {
  for (std::string_view field : {"key", "collation", "unique", "sparse", "wildcardProjection"}) {
    if (bson::Compare(a[field], b[field]) != 0) {
      return false;
    }
  }
  bool partial = a.Has("partialFilterExpression");
  if (partial != b.Has("partialFilterExpression")) {
    return false;
  }
  bson::Document left = Canonical(a["partialFilterExpression"]);
  bson::Document right = Canonical(b["partialFilterExpression"]);
  return bson::CompareDocuments(left, right) == 0;
}

// Options that neither tell indexes apart nor make one another.
bool IsIncidental(std::string_view option) {
  return option == "v" || option == "name" || option == "background" || option == "key" ||
         option == "partialFilterExpression" || option == "prepareUnique";
}

bool SameOptions(bson::View a, bson::View b) {
  auto contained = [](bson::View inner, bson::View outer) {
    return std::all_of(inner.begin(), inner.end(), [&](const bson::Element& e) {
      return IsIncidental(e.name()) || bson::Compare(e.value(), outer[e.name()]) == 0;
    });
  };
  return contained(a, b) && contained(b, a);
}

Likeness Compare(bson::View a, bson::View b) {
  if (!SameSignature(a, b)) {
    return Likeness::kDifferent;
  }
  return SameOptions(a, b) ? Likeness::kIdentical : Likeness::kEquivalent;
}

std::string Both(bson::View wanted, bson::View there) {
  return "Requested index: " + bson::DocumentText(wanted) +
         ", existing index: " + bson::DocumentText(there);
}

// True when `there` is what is wanted.
Result<bool> IsThere(bson::View wanted, bson::View there) {
  std::string_view name = wanted["name"].AsString();
  bool same_name = name == there["name"].AsString();
  Likeness likeness = Compare(wanted, there);
  bool of_id = bson::Compare(wanted["key"], there["key"]) == 0 && there.Has("clustered");
  if ((name == "_id_" && same_name) || of_id) {
    return true;
  }
  if (!same_name && likeness == Likeness::kDifferent) {
    return false;
  }
  if (same_name && likeness == Likeness::kDifferent) {
    return Status(kIndexKeySpecsConflict,
                  "An existing index has the same name as the requested index. When index names "
                  "are not specified, they are auto generated and can cause conflicts. Please "
                  "refer to our documentation. " +
                      Both(wanted, there));
  }
  if (same_name && likeness == Likeness::kIdentical) {
    return true;
  }
  std::string existing(there["name"].AsString());
  return Status(kIndexOptionsConflict,
                likeness == Likeness::kIdentical
                    ? "Index already exists with a different name: " + existing
                : same_name ? "An equivalent index already exists with the same name but different "
                              "options. " +
                                  Both(wanted, there)
                            : "An equivalent index already exists with a different name and "
                              "options. " +
                                  Both(wanted, there));
}

}  // namespace

Result<std::vector<store::NewIndex>> MissingIndexes(const store::CollectionInfo& collection,
                                                    std::vector<bson::Document> specs) {
  std::vector<store::NewIndex> missing;
  for (bson::Document& spec : specs) {
    RETURN_IF_ERROR(CheckCurrentOpNow());  // it is compared with all before it
    std::string_view name = spec["name"].AsString();
    // The one of the same name decides, whatever others are like it.
    const store::IndexInfo* named = collection.FindIndex(name);
    bool found = false;
    if (named != nullptr) {
      ASSIGN_OR_RETURN(found, IsThere(spec, named->spec));
    }
    for (size_t i = 0; i < collection.indexes.size() && !found; ++i) {
      ASSIGN_OR_RETURN(found, IsThere(spec, collection.indexes[i]->spec));
    }
    for (size_t i = 0; i < missing.size() && !found; ++i) {
      ASSIGN_OR_RETURN(bool twice, IsThere(spec, missing[i].spec));
      if (twice) {
        return Status(kOperationFailed,
                      "Identical index already specified: " + bson::DocumentText(missing[i].spec));
      }
    }
    if (!found) {
      RETURN_IF_ERROR(CheckOnlyOneOfKind(collection, missing, spec));
      missing.push_back({std::move(spec)});
    }
  }
  return missing;
}

}  // namespace quire::engine
