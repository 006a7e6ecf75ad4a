// SPDX-License-Identifier: Apache-2.0
#include "export/row_writer.h"

#include "bson/decimal.h"
#include "bson/json/text_forms.h"

namespace quire::apps {
namespace {

constexpr int64_t kFirstIsoMillis = -62'167'219'200'000;  // year 0
constexpr int64_t kLastIsoMillis = 253'402'300'799'999;   // year 9999

// At a dotted path of documents and array positions.
bson::Value ValueAt(bson::View document, std::string_view path) {
  while (true) {
    const size_t dot = path.find('.');
    bson::Value value = document[path.substr(0, dot)];
    if (dot == std::string_view::npos) {
      return value;
    }
    if (!value.is_document() && !value.is_array()) {
      return {};
    }
    document = value.AsDocument();
    path.remove_prefix(dot + 1);
  }
}

std::string CellText(const bson::Value& value) {
  switch (value.type()) {
    case bson::Type::kMissing:
    case bson::Type::kNull:
    case bson::Type::kUndefined:
      return "";
    case bson::Type::kString:
    case bson::Type::kSymbol:
      return std::string(value.AsString());
    case bson::Type::kObjectId:
      return value.AsObjectId().ToHex();
    case bson::Type::kDecimal128:
      return bson::decimal::ToString(value.AsDecimal());
    case bson::Type::kDouble:
      return bson::DoubleText(value.AsDouble());
    case bson::Type::kDate: {
      const int64_t millis = value.AsDate().millis;
      const bool iso = millis >= kFirstIsoMillis && millis <= kLastIsoMillis;
      return iso ? bson::ToIsoDate(millis) : std::to_string(millis);
    }
    default:
      return bson::ToJson(value);
  }
}

std::string CsvCell(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) {
    return cell;
  }
  std::string out = "\"";
  for (char c : cell) {
    out.append(c == '"' ? 2 : 1, c);
  }
  return out + '"';
}

std::string TsvCell(const std::string& cell) {
  std::string out;
  for (char c : cell) {
    switch (c) {
      case '\t':
        out += "\\t";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

void RowWriter::AppendCells(const std::vector<std::string>& cells, std::string* out) const {
  const bool csv = format_ == RowFormat::kCsv;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) {
      *out += csv ? ',' : '\t';
    }
    *out += csv ? CsvCell(cells[i]) : TsvCell(cells[i]);
  }
  *out += '\n';
}

void RowWriter::AppendHeader(std::string* out) const { AppendCells(fields_, out); }

void RowWriter::Append(bson::View document, std::string* out) const {
  if (format_ == RowFormat::kRelaxedJson || format_ == RowFormat::kCanonicalJson) {
    *out += format_ == RowFormat::kRelaxedJson ? bson::ToJson(document)
                                               : bson::ToCanonicalJson(document);
    *out += '\n';
    return;
  }
  std::vector<std::string> cells;
  cells.reserve(fields_.size());
  for (const std::string& field : fields_) {
    cells.push_back(CellText(ValueAt(document, field)));
  }
  AppendCells(cells, out);
}

}  // namespace quire::apps
