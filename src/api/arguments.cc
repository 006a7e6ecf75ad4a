// SPDX-License-Identifier: Apache-2.0
#include "api/arguments.h"

#include "quire/session.h"

namespace quire::api {

void AppendGiven(bson::Builder* out, std::string_view name, const bson::Document& document) {
  if (!document.empty()) {
    out->Append(name, document);
  }
}

void AppendGiven(bson::Builder* out, std::string_view name, const bson::OwnedValue& value) {
  out->Append(name, value.value());
}

void AppendGiven(bson::Builder* out, std::string_view name,
                 const std::vector<bson::Document>& documents) {
  if (!documents.empty()) {
    AppendDocuments(out, name, documents);
  }
}

void AppendPositive(bson::Builder* out, std::string_view name, int64_t number) {
  if (number > 0) {
    out->Append(name, number);
  }
}

void AppendDocuments(bson::Builder* out, std::string_view name,
                     const std::vector<bson::Document>& documents) {
  out->BeginArray(name);
  for (const bson::Document& document : documents) {
    out->Push(document);
  }
  out->End();
}

void AppendDurability(bson::Builder* out, Durability durability, const Session* session) {
  if (durability == Durability::kDisk && (session == nullptr || !session->in_transaction())) {
    out->BeginDocument("writeConcern").Append("w", 1).Append("j", true).End();
  }
}

void AppendStatementExtra(bson::Builder* out, const bson::Document& extra) {
  out->Append("collation", extra["collation"]);
}

void AppendCommandExtra(bson::Builder* out, const bson::Document& extra) {
  for (const bson::Element& field : extra.view()) {
    if (field.name() != "collation") {
      out->Append(field);
    }
  }
}

void AppendAggregate(bson::Builder* out, const Pipeline& pipeline,
                     const AggregateOptions& options) {
  AppendDocuments(out, "pipeline", pipeline);
  out->BeginDocument("cursor");
  if (options.batch_size > 0) {
    out->Append("batchSize", options.batch_size);
  }
  out->End();
  if (options.allow_disk_use) {
    out->Append("allowDiskUse", true);
  }
  AppendGiven(out, "hint", options.hint);
  out->AppendFields(options.extra);
}

void AppendWatch(bson::Builder* out, const Pipeline& pipeline, const WatchOptions& options,
                 bool whole_node) {
  bson::Builder stream;
  stream.BeginDocument("$changeStream");
  if (whole_node) {
    stream.Append("allChangesForCluster", true);
  }
  if (!options.full_document.empty()) {
    stream.Append("fullDocument", options.full_document);
  }
  if (!options.document_before.empty()) {
    stream.Append("fullDocumentBeforeChange", options.document_before);
  }
  if (options.expanded_events) {
    stream.Append("showExpandedEvents", true);
  }
  AppendGiven(&stream, "resumeAfter", options.resume_after);
  AppendGiven(&stream, "startAfter", options.start_after);
  if (options.start_at_time != bson::Timestamp()) {
    stream.Append("startAtOperationTime", options.start_at_time);
  }
  stream.End();
  Pipeline stages;
  stages.push_back(stream.Finish());
  stages.insert(stages.end(), pipeline.begin(), pipeline.end());
  AggregateOptions aggregate;
  aggregate.batch_size = options.batch_size;
  aggregate.extra = options.extra;
  AppendAggregate(out, stages, aggregate);
}

}  // namespace quire::api
