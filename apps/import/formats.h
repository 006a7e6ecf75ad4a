// SPDX-License-Identifier: Apache-2.0
//
// The kinds of files `quire import` reads, in one table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/columns.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::apps {

struct Format {
  std::string_view name;   // of --type
  std::string_view marks;  // what the names of such files end in or hold, separated by spaces
  char separator;          // of cells; 0: the format has no columns
  bool quotes;             // cells may be quoted, and hold newlines then
  Result<bson::Document> (*parse)(std::string_view line);  // null: by columns
  std::string_view help;
};

std::span<const Format> AllFormats();
// By --type; null when there is none of the name.
const Format* FindFormat(std::string_view name);
// By the name of a file; null when it says nothing.
const Format* GuessFormat(std::string_view path);

// Turns records into documents.
class RecordParser {
 public:
  struct Options {
    std::string fields;  // column names separated by commas; empty: the first record has them
    bool typed = false;
    bool ignore_blanks = false;
  };
  // Error: BadValue.
  static Result<RecordParser> Make(const Format* format, const Options& options);

  // Whether the first record of the file names the columns.
  bool wants_header() const { return format_->parse == nullptr && !columns_.has_value(); }
  // Error: BadValue.
  Status TakeHeader(std::string_view record);
  // REQUIRES: !wants_header(). Errors: why it is not a record of the format.
  Result<bson::Document> Parse(std::string_view record) const;

 private:
  RecordParser(const Format* format, Options options)
      : format_(format), options_(std::move(options)) {}
  Result<std::vector<std::string>> Cells(std::string_view record) const;

  const Format* format_;
  Options options_;
  std::optional<Columns> columns_;
};

}  // namespace quire::apps
