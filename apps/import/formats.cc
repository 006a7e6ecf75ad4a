// SPDX-License-Identifier: Apache-2.0
#include "import/formats.h"

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/patterns/log_lines.h"

namespace quire::apps {
namespace {

constexpr Format kFormats[] = {
    {"json", ".json .jsonl .ndjson", 0, false, bson::Document::FromJson,
     "one document per line, extended JSON (canonical or relaxed)"},
    {"csv", ".csv", ',', true, nullptr, "comma separated, RFC 4180 quotes"},
    {"tsv", ".tsv .tab", '\t', false, nullptr,
     "tab separated, no quotes; \\t, \\n, \\r and \\\\ in a cell are undone"},
    {"apache", ".log access_log access.log", 0, false, patterns::ParseApacheLine,
     "access log, combined or common format"},
    {"monitor", "", 0, false, patterns::ParseMonitorCsvLine,
     "monitoring data: node, address, name, parameter, milliseconds, value"},
};

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

// A cell of TSV with its escapes undone; a backslash before anything else is just one.
std::string Unescaped(std::string_view cell) {
  std::string out;
  for (size_t i = 0; i < cell.size(); ++i) {
    const char next = cell[i] == '\\' && i + 1 < cell.size() ? cell[i + 1] : '\0';
    const bool escape = next == 't' || next == 'n' || next == 'r' || next == '\\';
    if (!escape) {
      out += cell[i];
      continue;
    }
    out += next == 't' ? '\t' : next == 'n' ? '\n' : next == 'r' ? '\r' : '\\';
    ++i;
  }
  return out;
}

}  // namespace

std::span<const Format> AllFormats() { return kFormats; }

const Format* FindFormat(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) {
      return &format;
    }
  }
  return nullptr;
}

const Format* GuessFormat(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const Format& format : kFormats) {
    for (const std::string& mark : Split(format.marks, ' ')) {
      const bool suffix = mark.starts_with('.');
      if (!mark.empty() && (suffix ? name.ends_with(mark) : name.find(mark) != name.npos)) {
        return &format;
      }
    }
  }
  return nullptr;
}

Result<RecordParser> RecordParser::Make(const Format* format, const Options& options) {
  RecordParser parser(format, options);
  if (format->parse != nullptr) {
    if (!options.fields.empty() || options.typed || options.ignore_blanks) {
      return Status(kBadValue,
                    "--fields, --columnsHaveTypes and --ignoreBlanks are for csv and tsv");
    }
  } else if (!options.fields.empty()) {
    ASSIGN_OR_RETURN(parser.columns_, Columns::Make(Split(options.fields, ','), options.typed,
                                                    options.ignore_blanks));
  }
  return parser;
}

Result<std::vector<std::string>> RecordParser::Cells(std::string_view record) const {
  if (format_->quotes) {
    return patterns::ParseCsvRecord(record, format_->separator);
  }
  std::vector<std::string> cells = Split(record, format_->separator);
  for (std::string& cell : cells) {
    cell = Unescaped(cell);
  }
  return cells;
}

Status RecordParser::TakeHeader(std::string_view record) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, Cells(record));
  ASSIGN_OR_RETURN(columns_, Columns::Make(names, options_.typed, options_.ignore_blanks));
  return Status::Ok();
}

Result<bson::Document> RecordParser::Parse(std::string_view record) const {
  if (format_->parse != nullptr) {
    return format_->parse(record);
  }
  ASSIGN_OR_RETURN(std::vector<std::string> cells, Cells(record));
  return columns_->Row(cells);
}

}  // namespace quire::apps
