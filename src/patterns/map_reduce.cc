// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/map_reduce.h"

#include <map>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "quire/error.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr int kAttempts = 100;
constexpr size_t kBatch = 100;  // values of a key that wait for a reduce

struct Group {
  bson::OwnedValue key;
  std::vector<Document> values;
};

void Collapse(const MapReduceJob& job, Group* group) {
  if (group->values.size() > 1) {
    group->values = {job.reduce(group->values)};
  }
}

Status Overwrite(const Store& store, const MapReduceJob& job, const Document& result) {
  return store
      .UpdateOne(job.output, Doc("_id", result["_id"]), Doc("$set", Doc("value", result["value"])),
                 true)
      .status();
}

// The value it was combined with is in the filter.
Status Combine(const Store& store, const MapReduceJob& job, const Document& result) {
  for (int i = 0; i < kAttempts; ++i) {
    ASSIGN_OR_RETURN(auto old, store.FindOne(job.output, Doc("_id", result["_id"])));
    if (!old) {
      Status inserted = store.Insert(job.output, result);
      if (!IsDuplicateKey(inserted)) {
        return inserted;
      }
      continue;
    }
    const Document both = job.reduce(
        {Document((*old)["value"].AsDocument()), Document(result["value"].AsDocument())});
    ASSIGN_OR_RETURN(
        int64_t written,
        store.UpdateOne(job.output, Doc("_id", result["_id"], "value", (*old)["value"]),
                        Doc("$set", Doc("value", both))));
    if (written == 1) {
      return Status::Ok();
    }
  }
  return MakeError(Error::kContention, job.output);
}

}  // namespace

Result<std::vector<Document>> RunMapReduce(const Store& store, const MapReduceJob& job) {
  if (job.finalize && job.into == ReduceInto::kReduce) {
    return Status(kBadValue, "finished values cannot be reduced");
  }
  ASSIGN_OR_RETURN(auto documents, store.Find(job.input, job.filter));
  std::map<std::string, Group> groups;
  const MapReduceJob::Emit emit = [&](const bson::Value& key, const Document& value) {
    const Document named = Doc("key", key);
    Group& group = groups[bson::ToCanonicalJson(named)];
    group.key = bson::OwnedValue(key);
    group.values.push_back(value);
    if (group.values.size() == kBatch) {
      Collapse(job, &group);
    }
  };
  for (const Document& document : documents) {
    job.map(document, emit);
  }
  std::vector<Document> results;
  for (auto& [name, group] : groups) {
    Collapse(job, &group);
    const Document& value = group.values.front();
    results.push_back(Doc("_id", group.key, "value", job.finalize ? job.finalize(value) : value));
  }
  if (job.into == ReduceInto::kReplace) {
    RETURN_IF_ERROR(store.DeleteMany(job.output, Doc()).status());
    RETURN_IF_ERROR(store.seams().After("map_reduce.run.c1"));
  }
  int step = 1;
  for (const Document& result : results) {
    if (job.into == ReduceInto::kInline) {
      break;
    }
    RETURN_IF_ERROR(job.into == ReduceInto::kReduce ? Combine(store, job, result)
                                                    : Overwrite(store, job, result));
    RETURN_IF_ERROR(store.seams().After("map_reduce.run", ++step));
  }
  return results;
}

}  // namespace quire::patterns
