// SPDX-License-Identifier: Apache-2.0
#include "demo/report.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

template <typename Part, typename Make>
Array Listed(const std::vector<Part>& parts, const Make& make) {
  std::vector<bson::Document> documents;
  for (const Part& part : parts) {
    documents.push_back(make(part));
  }
  return ListOf(documents);
}

bson::Document DesignDocument(const DesignReport& design) {
  return Doc("design", design.name, "loads",
             Listed(design.loads,
                    [](const LoadReport& load) {
                      return Doc("what", load.what, "count", load.count, "seconds", load.seconds);
                    }),
             "seconds", design.seconds, "operations",
             Listed(design.steps,
                    [](const StepReport& step) {
                      return Doc("name", step.name, "count", step.operations, "refused",
                                 step.refused, "errors", step.errors, "p50_ms", step.p50_ms,
                                 "p99_ms", step.p99_ms, "commands", step.commands, "keys",
                                 step.keys, "documents", step.documents);
                    }),
             "queries",
             Listed(design.queries,
                    [](const QueryReport& query) {
                      return Doc("name", query.name, "returned", query.returned, "keys", query.keys,
                                 "documents", query.documents, "collection_scan",
                                 query.collection_scan);
                    }),
             "invariants",
             Listed(design.checks,
                    [](const CheckReport& check) {
                      return Doc("what", check.what, "holds", check.holds, "detail", check.detail);
                    }),
             "data_bytes", design.data_bytes, "index_bytes", design.index_bytes, "first_error",
             design.first_error);
}

}  // namespace

bson::Document ReportDocument(const DemoReport& report) {
  return Doc("demo", report.name, "place", report.place, "size", report.size, "size_of",
             report.size_of, "threads", report.threads, "ok", report.sound(), "designs",
             Listed(report.designs, DesignDocument));
}

}  // namespace quire::apps
