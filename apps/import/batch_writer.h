// SPDX-License-Identifier: Apache-2.0
//
// Batches of an import on their way into the collection, each exactly once.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "quire/quire.h"

namespace quire::apps {

struct RejectedRecord {
  int64_t line = 0;
  std::string reason;
  std::string text;
};

// Documents with their _id first.
struct ImportBatch {
  std::vector<bson::Document> documents;
  std::vector<int64_t> lines;      // of the documents
  std::vector<std::string> texts;  // what they were read from
  std::vector<bool> made_ids;      // the _id was made up for the record
  std::vector<RejectedRecord> rejected;
  size_t bytes = 0;
  int64_t end = 0;  // where the next batch begins: offset, line
  int64_t next_line = 1;

  size_t records() const { return documents.size() + rejected.size(); }
};

// records = inserted + duplicates + rejected.
struct ImportCounts {
  int64_t records = 0;
  int64_t inserted = 0;
  int64_t duplicates = 0;
  int64_t rejected = 0;
};

// Where an import stands, as it is kept in the collection `quire_imports` of its database.
struct ImportState {
  int64_t offset = 0;
  int64_t line = 1;
  int64_t rejected_bytes = 0;  // of the file of rejected records
  int64_t head_bytes = 0;      // of the input's beginning, to know it again
  std::string head;            // their hash
};

// The state of the import `source` into `collection`; nothing when it was never begun.
Result<std::optional<ImportState>> ReadImportState(Database database, const std::string& source,
                                                   const std::string& collection);

class BatchWriter {
 public:
  struct Options {
    std::string collection;
    std::string source;         // empty: nothing is kept to resume from
    std::string rejected_path;  // the file is made when there is something to put in
    ImportState state;          // where to begin; the file is cut to state.rejected_bytes
  };
  BatchWriter(const Database& database, Options options);
  ~BatchWriter();

  // Cuts the file of rejected records to what the state says of it. Errors: the file system's.
  Status Begin();
  // Stores the documents, sets the rejected records aside, and then notes where the input stands: a
  // batch that is written again after a crash changes nothing. An answer that was lost is asked for
  // again. Errors: the database's, the file system's; the batch is then to be written again.
  Status Write(ImportBatch batch);

  const ImportCounts& counts() const { return counts_; }
  const std::string& rejected_path() const { return options_.rejected_path; }

 private:
  Status Insert(ImportBatch* batch);
  Status TakeErrors(bson::View reply, ImportBatch* batch, int64_t* failed);
  Status JudgeDuplicates(const std::vector<size_t>& indexes, ImportBatch* batch);
  Status SetAside(ImportBatch* batch);
  Status KeepState(const ImportBatch& batch);

  Database database_;
  Collection collection_;
  Options options_;
  ImportCounts counts_;
  FILE* rejected_ = nullptr;
};

}  // namespace quire::apps
