// SPDX-License-Identifier: Apache-2.0
#include "import/columns.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/decimal.h"
#include "bson/json/text_forms.h"
#include "bson/utf8.h"
#include "quire/patterns/error.h"

namespace quire::apps {
namespace {

using CellType = Columns::CellType;

struct TypeName {
  std::string_view name;
  CellType type;
};
constexpr TypeName kTypes[] = {
    {"auto", CellType::kAuto},       {"string", CellType::kString}, {"int32", CellType::kInt32},
    {"int64", CellType::kInt64},     {"double", CellType::kDouble}, {"decimal", CellType::kDecimal},
    {"boolean", CellType::kBoolean}, {"date", CellType::kDate},
};

Status Bad(std::string text) { return {kBadValue, std::move(text)}; }

template <typename T>
std::optional<T> NumberOf(std::string_view text) {
  T number{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

// Whether it is written as JSON writes numbers: 0, -12, 1.50, 2e9, but not 007, +1, .5 or inf.
bool LooksLikeNumber(std::string_view text) {
  if (text.starts_with('-')) {
    text.remove_prefix(1);
  }
  if (text.empty() || text[0] < '0' || text[0] > '9' || text.back() == '.') {
    return false;
  }
  return text[0] != '0' || text.size() == 1 || text[1] == '.';
}

bson::Value AutoValue(const std::string& cell) {
  if (cell == "true" || cell == "false") {
    return bson::Value(cell == "true");
  }
  if (LooksLikeNumber(cell)) {
    if (auto small = NumberOf<int32_t>(cell)) {
      return bson::Value(*small);
    }
    if (auto large = NumberOf<int64_t>(cell)) {
      return bson::Value(*large);
    }
    // Digits that no 64-bit integer holds would lose some as a double.
    const bool integer = cell.find_first_of(".eE") == std::string::npos;
    auto real = integer ? std::nullopt : NumberOf<double>(cell);
    if (real && std::isfinite(*real)) {
      return bson::Value(*real);
    }
  }
  return bson::Value(std::string_view(cell));
}

// Missing when the cell is not of the type.
bson::Value TypedValue(CellType type, const std::string& cell) {
  auto wrapped = [](auto number) { return number ? bson::Value(*number) : bson::Value(); };
  switch (type) {
    case CellType::kAuto:
      return AutoValue(cell);
    case CellType::kString:
      return bson::Value(std::string_view(cell));
    case CellType::kInt32:
      return wrapped(NumberOf<int32_t>(cell));
    case CellType::kInt64:
      return wrapped(NumberOf<int64_t>(cell));
    case CellType::kDouble:
      return wrapped(NumberOf<double>(cell));
    case CellType::kDecimal:
      return wrapped(bson::decimal::FromString(cell));
    case CellType::kBoolean:
      if (cell == "true" || cell == "1") return bson::Value(true);
      if (cell == "false" || cell == "0") return bson::Value(false);
      return {};
    case CellType::kDate: {
      std::optional<int64_t> millis = NumberOf<int64_t>(cell);
      millis = millis ? millis : bson::FromIsoDate(cell);
      return millis ? bson::Value(bson::Date{*millis}) : bson::Value();
    }
  }
  return {};
}

// Takes ".type()" off the end of `name`.
Result<CellType> TakeType(std::string* name) {
  const size_t dot = name->rfind('.');
  if (name->ends_with("()") && dot != std::string::npos) {
    const std::string type = name->substr(dot + 1, name->size() - dot - 3);
    for (const TypeName& row : kTypes) {
      if (row.name == type) {
        name->resize(dot);
        return row.type;
      }
    }
  }
  return Bad("column '" + *name +
             "' has no type: NAME.TYPE() with auto, string, int32, int64, double, decimal, "
             "boolean or date");
}

std::string_view NameOf(CellType type) { return kTypes[static_cast<size_t>(type)].name; }

}  // namespace

Result<Columns> Columns::Make(const std::vector<std::string>& names, bool typed,
                              bool ignore_blanks) {
  Columns columns;
  columns.ignore_blanks_ = ignore_blanks;
  for (const std::string& given : names) {
    Column column{given, CellType::kAuto};
    if (typed) {
      ASSIGN_OR_RETURN(column.type, TakeType(&column.name));
    }
    RETURN_IF_ERROR(
        columns.Add(&columns.root_, column.name, static_cast<int>(columns.columns_.size())));
    columns.columns_.push_back(std::move(column));
  }
  return columns;
}

Status Columns::Add(Node* root, const std::string& path, int column) {
  Node* node = root;
  std::string_view rest = path;
  while (true) {
    const size_t dot = rest.find('.');
    const std::string name(rest.substr(0, dot));
    const bool last = dot == std::string_view::npos;
    if (name.empty() || name[0] == '$' || name.find('\0') != std::string::npos ||
        !bson::IsValidUtf8(name)) {
      return Bad("column '" + path + "' is not a name for a field");
    }
    Node* child = nullptr;
    for (Node& known : node->children) {
      child = known.name == name ? &known : child;
    }
    if (child != nullptr && (last || child->column >= 0)) {
      return Bad("column '" + path + "' and another one exclude each other");
    }
    if (child == nullptr) {
      node->children.push_back({name, last ? column : -1, {}});
      child = &node->children.back();
    }
    if (last) {
      return Status::Ok();
    }
    node = child;
    rest.remove_prefix(dot + 1);
  }
}

Status Columns::AppendCell(const std::string& name, const Column& column, const std::string& cell,
                           bson::Builder* out) const {
  const bool text = column.type == CellType::kAuto || column.type == CellType::kString;
  if (cell.empty() && (ignore_blanks_ || !text)) {
    return Status::Ok();
  }
  if (!bson::IsValidUtf8(cell)) {
    return Bad("column " + column.name + " is not UTF-8");
  }
  bson::Value value = TypedValue(column.type, cell);
  if (value.missing()) {
    return {kFailedToParse,
            "column " + column.name + ": not of type " + std::string(NameOf(column.type))};
  }
  out->Append(name, value);
  return Status::Ok();
}

Status Columns::AppendNode(const Node& node, const std::vector<std::string>& cells,
                           bson::Builder* out) const {
  for (const Node& child : node.children) {
    if (child.column >= 0) {
      const auto at = static_cast<size_t>(child.column);
      RETURN_IF_ERROR(AppendCell(child.name, columns_[at], cells[at], out));
      continue;
    }
    out->BeginDocument(child.name);
    RETURN_IF_ERROR(AppendNode(child, cells, out));
    out->End();
  }
  return Status::Ok();
}

Result<bson::Document> Columns::Row(const std::vector<std::string>& cells) const {
  if (cells.size() != columns_.size()) {
    return patterns::MakeError(
        patterns::Error::kBadColumnCount,
        std::to_string(cells.size()) + ", expected " + std::to_string(columns_.size()));
  }
  bson::Builder out;
  RETURN_IF_ERROR(AppendNode(root_, cells, &out));
  return out.Finish();
}

}  // namespace quire::apps
