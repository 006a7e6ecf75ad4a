// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/interruptible_sort.h"
#include "base/memory_charge.h"
#include "base/try.h"
#include "bson/compare.h"
#include "engine/read/aggregate.h"
#include "engine/read/read.h"
#include "engine/sharding.h"

namespace quire::engine {

namespace {

// Calls `visit` with every value `path` reaches, arrays opened on the way and at the end. No path:
// the value itself; an empty one names a field without a name.
template <typename F>
void VisitValues(const bson::Value& value, std::optional<std::string_view> path, F& visit) {
  if (!path) {
    if (!value.is_array()) {
      visit(value);
      return;
    }
    for (const bson::Element& e : value.AsArray()) {
      visit(e.value());
    }
    return;
  }
  size_t dot = path->find('.');
  std::string_view name = path->substr(0, dot);
  std::optional<std::string_view> rest;
  if (dot != std::string_view::npos) {
    rest = path->substr(dot + 1);
  }
  if (value.is_document() || value.is_array()) {
    if (bson::Element e = value.AsDocument().Find(name); e.present()) {
      VisitValues(e.value(), rest, visit);
      return;
    }
  }
  if (value.is_array()) {
    for (const bson::Element& e : value.AsArray()) {
      if (e.type() == bson::Type::kDocument) {
        VisitValues(e.value(), path, visit);
      }
    }
  }
}

// Collects the different values of a path; the reply has them in order.
class DistinctValues {
 public:
  DistinctValues(const bson::StringCompare* strings, std::string_view path)
      : strings_(strings), path_(path), seen_(64, Hash{strings}, Same{strings}) {}

  // `rows` is anything with Next.
  template <typename Rows>
  Status AddAll(OpContext& op, Rows& rows) {
    constexpr size_t kMaxReply = size_t{16} << 20;
    exec::Row row;
    Status ended = Status::Ok();  // an array may be long
    auto visit = [&](const bson::Value& value) {
      ended = ended.ok() ? op.CheckInterrupt() : ended;
      if (ended.ok() && seen_.insert(bson::OwnedValue(value)).second) {
        bytes_ += value.EncodedSize() + 8;
      }
    };
    while (true) {
      RETURN_IF_ERROR(op.CheckInterrupt());
      ASSIGN_OR_RETURN(bool more, rows.Next(op, &row));
      if (!more) {
        return Status::Ok();
      }
      VisitValues(bson::Value(row.document), path_, visit);
      RETURN_IF_ERROR(ended);
      charge_.Set(bytes_ + seen_.size() * sizeof(bson::OwnedValue));
      if (bytes_ > kMaxReply) {
        return {17217, "distinct too big, 16mb cap"};
      }
    }
  }

  Status Append(bson::Builder* reply) const {
    std::vector<bson::Value> sorted;
    sorted.reserve(seen_.size());
    for (const bson::OwnedValue& value : seen_) {
      sorted.push_back(value.value());
    }
    auto less = [&](const bson::Value& a, const bson::Value& b) {
      return bson::Compare(a, b, strings_) < 0;
    };
    RETURN_IF_ERROR(InterruptibleSort(sorted.begin(), sorted.end(), less));
    reply->BeginArray("values");
    for (const bson::Value& value : sorted) {
      reply->Push(value);
    }
    reply->End();
    return Status::Ok();
  }

 private:
  struct Hash {
    const bson::StringCompare* strings;
    size_t operator()(const bson::OwnedValue& v) const { return bson::Hash(v.value(), strings); }
  };
  struct Same {
    const bson::StringCompare* strings;
    bool operator()(const bson::OwnedValue& a, const bson::OwnedValue& b) const {
      return bson::Compare(a.value(), b.value(), strings) == 0;
    }
  };
  const bson::StringCompare* strings_;
  std::string_view path_;
  size_t bytes_ = 0;
  std::unordered_set<bson::OwnedValue, Hash, Same> seen_;
  MemoryCharge charge_;  // for it
};

}  // namespace

plan::QuerySpec DistinctQuery(const request::DistinctRequest& request,
                              store::CollectionPtr collection) {
  plan::QuerySpec spec;
  spec.collection = std::move(collection);
  spec.filter_spec = request.query;
  spec.hint = request.hint;
  spec.collation = request.collation;
  spec.distinct_path = request.key;
  spec.has_clock = false;
  return spec;
}

ViewRead DistinctOnView(const request::DistinctRequest& request) {
  ViewRead read{{}, request.collation, bson::View(), request.hint};
  if (!request.query.empty()) {
    read.stages.push_back(StageOf("$match", bson::Value(request.query)));
  }
  return read;
}

ViewRead ExplainedDistinctOnView(const request::DistinctRequest& request) {
  ViewRead read = DistinctOnView(request);
  std::string path = "$" + std::string(request.key);
  for (size_t dot = path.find('.');; dot = path.find('.', dot + 1)) {
    bson::Builder unwind;
    unwind.Append("path", path.substr(0, dot)).Append("preserveNullAndEmptyArrays", true);
    bson::Document spec = unwind.Finish();
    read.stages.push_back(StageOf("$unwind", bson::Value(spec.view())));
    if (dot == std::string::npos) {
      break;
    }
  }
  bson::Builder group;
  group.AppendNull("_id").BeginDocument("distinct").Append("$addToSet", path).End();
  bson::Document spec = group.Finish();
  read.stages.push_back(StageOf("$group", bson::Value(spec.view())));
  return read;
}

Status Distinct(const Operation& operation, const std::string& ns,
                const request::DistinctRequest& request, request::OpSummary* summary,
                bson::Builder* reply) {
  ASSIGN_OR_RETURN(store::CollectionPtr collection, operation.Find(ns));
  ASSIGN_OR_RETURN(auto collator, CollatorOf(request.collation, collection.get()));
  DistinctValues values(collator.get(), request.key);
  if (ReadsAsView(collection.get(), ns)) {
    ASSIGN_OR_RETURN(auto cursor, ReadView(operation, ns, DistinctOnView(request)));
    RETURN_IF_ERROR(values.AddAll(operation.op, *cursor->source));
  } else {
    plan::QuerySpec spec = DistinctQuery(request, collection);
    spec.ownership = CurrentOwnership(ns);
    ASSIGN_OR_RETURN(auto query,
                     PlannedQuery::Make(operation, std::move(spec), SessionTransaction(operation)));
    RETURN_IF_ERROR(values.AddAll(operation.op, *query));
    Summarise(*query, summary);
  }
  RETURN_IF_ERROR(values.Append(reply));
  return Status::Ok();
}

}  // namespace quire::engine
