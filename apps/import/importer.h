// SPDX-License-Identifier: Apache-2.0
//
// Reads an input record by record and hands batches of documents to the database.
#pragma once

#include <future>
#include <string>

#include "import/batch_writer.h"
#include "import/formats.h"
#include "import/record_reader.h"
#include "quire/quire.h"
#include "tool/progress.h"

namespace quire::apps {

struct ImportSettings {
  std::string path;  // "-" or empty: standard input
  std::string collection;
  std::string source;         // empty: nothing to resume from, _ids are new ones
  std::string rejected_path;  // where bad records go
  const Format* format = nullptr;
  RecordParser::Options parsing;
  bool resume = false;
  bool growing = false;  // a last line without its newline is left for later
  bool quiet = false;
  int64_t batch = 1000;  // documents
};

struct ImportSummary {
  ImportCounts counts;
  int64_t resumed_at = 0;
  int64_t bytes = 0;   // read in this run
  int64_t offset = 0;  // where the next run would go on
  double seconds = 0;
};

// Whether the input can be opened, without doing so: it may be a pipe. Error: FileOpenFailed.
Status CheckInput(const std::string& path);

// Imports the input; one batch is read while the one before is written. `summary` is filled in also
// when it fails. Errors: the input's, the database's, BadValue (the header; a file that is not the
// one the import began with).
Status RunImport(const Database& database, const ImportSettings& settings, ImportSummary* summary);

}  // namespace quire::apps
