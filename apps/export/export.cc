// SPDX-License-Identifier: Apache-2.0
#include "export/export.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>

#include "base/error_codes.h"
#include "base/try.h"
#include "export/output_file.h"
#include "export/row_writer.h"
#include "quire/doc.h"
#include "tool/options.h"
#include "tool/place.h"
#include "tool/progress.h"
#include "tool/text.h"

namespace quire::apps {
namespace {

constexpr size_t kWriteBytes = 1 << 16;

struct FormatName {
  std::string_view name;
  std::string_view suffix;
  RowFormat format;
  std::string_view help;
};
constexpr FormatName kFormats[] = {
    {"json", ".json", RowFormat::kRelaxedJson, "one document per line, relaxed extended JSON"},
    {"canonical", "", RowFormat::kCanonicalJson, "the same with every type spelled out"},
    {"csv", ".csv", RowFormat::kCsv, "comma separated, RFC 4180 quotes; needs --fields"},
    {"tsv", ".tsv", RowFormat::kTsv,
     "tab separated, tabs and newlines as \\t and \\n, \\ as \\\\; needs --fields"},
};

struct CommandLine {
  Place place;
  std::string collection;
  std::string type;
  std::string fields;
  std::string query;
  std::string sort;
  std::string out;
  int64_t limit = 0;
  int64_t skip = 0;
  bool no_header = false;
  bool json = false;
  bool quiet = false;
  bool help = false;
  std::vector<std::string> words;
  // Made of them.
  RowFormat format = RowFormat::kRelaxedJson;
  std::vector<std::string> columns;
  bson::Document filter;
  FindOptions find;

  std::vector<ToolOption> Options();
  bool has_columns() const { return format == RowFormat::kCsv || format == RowFormat::kTsv; }
};

std::vector<ToolOption> CommandLine::Options() {
  std::vector<ToolOption> rows;
  place.AddOptions(&rows);
  rows.insert(
      rows.end(),
      {{"collection", 'c', "NAME", &collection, "Collection (or view) to read."},
       {"type", 0, "FORMAT", &type, "Format; told from the name of --out by default, else json."},
       {"fields", 'f', "LIST", &fields,
        "csv, tsv: the columns, dotted paths separated by commas. json: the fields to keep."},
       {"query", 0, "JSON", &query, "Filter, extended JSON: '{\"age\": {\"$gt\": 30}}'."},
       {"sort", 0, "JSON", &sort, "Order: '{\"age\": -1}'."},
       {"skip", 0, "N", &skip, "Leave the first N out."},
       {"limit", 0, "N", &limit, "At most N documents; 0: all."},
       {"out", 'o', "FILE", &out,
        "Write a file instead of standard output: under a temporary name, renamed when it is "
        "whole."},
       {"noHeaderLine", 0, "", &no_header, "csv, tsv: no line with the columns' names."},
       {"json", 0, "", &json, "Print a summary as one JSON document on standard error."},
       {"quiet", 'q', "", &quiet, "No progress bar, and no summary unless --json."},
       {"help", 'h', "", &help, "Show this text."}});
  return rows;
}

void PrintHelp(const std::vector<ToolOption>& rows) {
  printf(
      "usage: quire export [OPTIONS] -c COLLECTION\n\n"
      "Writes the documents of a collection as text.\n\nOptions:\n%s\nFormats:\n",
      OptionHelp(rows).c_str());
  for (const FormatName& format : kFormats) {
    printf("  %-10s %s\n", format.name.data(), format.help.data());
  }
  printf(
      "\nExit codes: 0 done, 1 failed (no file is left), 2 wrong usage. What canonical writes, "
      "quire "
      "import\nreads back exactly.\n");
}

Status CheckFormat(CommandLine* line) {
  for (const FormatName& row : kFormats) {
    const bool chosen = line->type.empty() ? !row.suffix.empty() && line->out.ends_with(row.suffix)
                                           : line->type == row.name;
    if (chosen) {
      line->format = row.format;
      return Status::Ok();
    }
  }
  return line->type.empty() ? Status::Ok()
                            : Status(kBadValue, "--type: there is no format '" + line->type + "'");
}

Result<bson::Document> ParseJson(const char* option, const std::string& text) {
  if (text.empty()) {
    return bson::Document();
  }
  Result<bson::Document> document = bson::Document::FromJson(text);
  return document.ok()
             ? document
             : Status(kBadValue, std::string(option) + ": " + document.status().message());
}

// The columns (but for array positions, which a projection does not know) and no more.
bson::Document Projection(const std::vector<std::string>& columns) {
  bson::Builder out;
  std::vector<std::string> kept;
  for (const std::string& column : columns) {
    const std::string path = column.substr(0, column.find('.'));
    if (std::find(kept.begin(), kept.end(), path) == kept.end()) {
      out.Append(path, true);
      kept.push_back(path);
    }
  }
  if (!kept.empty() && std::find(kept.begin(), kept.end(), "_id") == kept.end()) {
    out.Append("_id", false);
  }
  return out.Finish();
}

bson::Document ExactProjection(const std::vector<std::string>& fields) {
  bson::Builder out;
  for (const std::string& field : fields) {
    out.Append(field, true);
  }
  return out.Finish();
}

Status Check(CommandLine* line) {
  if (!line->words.empty()) {
    return {kBadValue, "unexpected argument '" + line->words[0] + "'"};
  }
  if (line->collection.empty()) {
    return {kBadValue, "--collection is missing"};
  }
  RETURN_IF_ERROR(line->place.Check());
  RETURN_IF_ERROR(CheckFormat(line));
  for (std::string_view rest = line->fields; !rest.empty();) {
    const size_t comma = rest.find(',');
    line->columns.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  if (line->has_columns() && line->columns.empty()) {
    return {kBadValue, "csv and tsv need --fields"};
  }
  if (!line->has_columns() && line->no_header) {
    return {kBadValue, "--noHeaderLine is for csv and tsv"};
  }
  ASSIGN_OR_RETURN(line->filter, ParseJson("--query", line->query));
  ASSIGN_OR_RETURN(line->find.sort, ParseJson("--sort", line->sort));
  line->find.projection =
      line->has_columns() ? Projection(line->columns) : ExactProjection(line->columns);
  line->find.limit = line->limit;
  line->find.skip = line->skip;
  return Status::Ok();
}

// How many documents to expect, for the progress bar; 0 when that would take a scan.
int64_t Expected(const CommandLine& line, Collection collection) {
  if (!line.filter.empty()) {
    return line.limit;
  }
  Result<int64_t> count = collection.Count();
  const int64_t all = count.ok() ? std::max<int64_t>(*count - line.skip, 0) : 0;
  return line.limit > 0 ? std::min(all, line.limit) : all;
}

struct Summary {
  int64_t documents = 0;
  int64_t bytes = 0;
  double seconds = 0;
};

Status WriteAll(const CommandLine& line, Collection collection, OutputFile* out, Summary* summary) {
  Progress progress("export", Expected(line, collection), line.quiet);
  RowWriter writer(line.format, line.columns);
  std::string text;
  if (line.has_columns() && !line.no_header) {
    writer.AppendHeader(&text);
  }
  ASSIGN_OR_RETURN(Cursor cursor, collection.Find(line.filter, line.find));
  while (cursor.Next()) {
    writer.Append(cursor.current(), &text);
    ++summary->documents;
    if (text.size() >= kWriteBytes) {
      summary->bytes += static_cast<int64_t>(text.size());
      RETURN_IF_ERROR(out->Write(text));
      text.clear();
      progress.Show(summary->documents, summary->documents, summary->bytes);
    }
  }
  RETURN_IF_ERROR(cursor.status());
  summary->bytes += static_cast<int64_t>(text.size());
  RETURN_IF_ERROR(out->Write(text));
  return out->Finish();
}

void PrintSummary(const CommandLine& line, const Summary& summary, const Status& status) {
  if (line.json) {
    bson::Document out =
        Doc("ok", status.ok(), "documents", summary.documents, "bytes", summary.bytes, "seconds",
            summary.seconds, "error", status.ok() ? "" : status.ToString());
    fprintf(stderr, "%s\n", bson::ToJson(out).c_str());
  } else if (!line.quiet && status.ok()) {
    fprintf(stderr, "%s document%s, %s MB in %s s\n", Grouped(summary.documents).c_str(),
            summary.documents == 1 ? "" : "s",
            Fixed(static_cast<double>(summary.bytes) / 1e6, 1).c_str(),
            Fixed(summary.seconds, 2).c_str());
  }
}

Status Run(CommandLine* line, Summary* summary) {
  const auto start = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(Client client, line->place.OpenExisting());
  OutputFile out;
  RETURN_IF_ERROR(out.Open(line->out));
  Collection collection = client.GetDatabase(line->place.db).GetCollection(line->collection);
  Status status = WriteAll(*line, collection, &out, summary);
  summary->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

}  // namespace

int Export(const std::vector<std::string>& arguments) {
  CommandLine line;
  const std::vector<ToolOption> rows = line.Options();
  auto answered = [&](bool) {
    if (line.help) {
      PrintHelp(rows);
    }
    return line.help;
  };
  if (auto code = StartCommand(
          {"export", rows, &line.words, answered, [&] { return Check(&line); }}, arguments)) {
    return *code;
  }
  signal(SIGPIPE, SIG_IGN);  // a reader that leaves is an error of the write
  Summary summary;
  Status status = Run(&line, &summary);
  PrintSummary(line, summary, status);
  if (!status.ok()) {
    fprintf(stderr, "quire export: %s\n", status.ToString().c_str());
    return kExitFailed;
  }
  return kExitOk;
}

}  // namespace quire::apps
