// SPDX-License-Identifier: Apache-2.0
//
// Rows of cells as documents.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::apps {

// The columns of a table and what becomes of their cells. A dotted name is a field of a
// sub-document.
class Columns {
 public:
  enum class CellType { kAuto, kString, kInt32, kInt64, kDouble, kDecimal, kBoolean, kDate };

  // `names`, each with its type when `typed`: zip.string(), born.date(). Errors: BadValue (an empty
  // name, one twice, `a` beside `a.b`, an unknown type).
  static Result<Columns> Make(const std::vector<std::string>& names, bool typed,
                              bool ignore_blanks);

  // Untyped cells: true, false, whole and decimal numbers that read back as the same text are
  // those (so 007 stays a string), everything else is a string. Dates are ISO 8601 or milliseconds
  // since 1970. An empty cell of another type than string or auto is left out. Errors:
  // BadColumnCount, FailedToParse (the cell does not have the column's type), BadValue (not UTF-8).
  Result<bson::Document> Row(const std::vector<std::string>& cells) const;

 private:
  struct Column {
    std::string name;
    CellType type = CellType::kAuto;
  };
  // A level of the document: a column, or a sub-document.
  struct Node {
    std::string name;
    int column = -1;
    std::vector<Node> children;
  };
  Status Add(Node* root, const std::string& path, int column);
  Status AppendNode(const Node& node, const std::vector<std::string>& cells,
                    bson::Builder* out) const;
  Status AppendCell(const std::string& name, const Column& column, const std::string& cell,
                    bson::Builder* out) const;

  std::vector<Column> columns_;
  Node root_;
  bool ignore_blanks_ = false;
};

}  // namespace quire::apps
