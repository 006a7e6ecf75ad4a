// SPDX-License-Identifier: Apache-2.0
//
// Documents as lines of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"

namespace quire::apps {

enum class RowFormat { kRelaxedJson, kCanonicalJson, kCsv, kTsv };

class RowWriter {
 public:
  // `fields` are the columns of CSV and TSV, dotted paths; JSON has none.
  RowWriter(RowFormat format, std::vector<std::string> fields)
      : format_(format), fields_(std::move(fields)) {}

  // The names of the columns.
  void AppendHeader(std::string* out) const;
  // The document with its newline. Cells: strings as they are, dates as ISO 8601, ids as their
  // digits, numbers as in relaxed JSON, other types as relaxed extended JSON; a field that is not
  // there, and null, are empty. TSV has no quotes: tabs, newlines and backslashes become \t, \n, \r
  // and \\, which import undoes.
  void Append(bson::View document, std::string* out) const;

 private:
  void AppendCells(const std::vector<std::string>& cells, std::string* out) const;

  const RowFormat format_;
  const std::vector<std::string> fields_;
};

}  // namespace quire::apps
