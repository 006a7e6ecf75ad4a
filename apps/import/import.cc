// SPDX-License-Identifier: Apache-2.0
#include "import/import.h"

#include <cstdio>
#include <cstdlib>

#include "base/error_codes.h"
#include "base/try.h"
#include "import/importer.h"
#include "quire/doc.h"
#include "tool/options.h"
#include "tool/place.h"
#include "tool/text.h"

namespace quire::apps {
namespace {

struct CommandLine {
  Place place;
  ImportSettings settings;
  std::string type;
  std::string rejects;
  bool drop = false;
  bool json = false;
  bool help = false;
  std::vector<std::string> words;

  std::vector<ToolOption> Options();
};

std::vector<ToolOption> CommandLine::Options() {
  std::vector<ToolOption> rows;
  place.AddOptions(&rows);
  ImportSettings& s = settings;
  rows.insert(
      rows.end(),
      {{"collection", 'c', "NAME", &s.collection, "Collection to put the documents into."},
       {"type", 0, "FORMAT", &type,
        "Format of the input; guessed from the file's name by default."},
       {"fields", 'f', "LIST", &s.parsing.fields,
        "csv, tsv: names of the columns, separated by commas; then the first line is data. "
        "Default: the first line is the header. a.b is a field of a sub-document."},
       {"columnsHaveTypes", 0, "", &s.parsing.typed,
        "csv, tsv: names carry the type of their column: zip.string(), born.date(). Types: auto, "
        "string, int32, int64, double, decimal, boolean, date (ISO 8601 or milliseconds)."},
       {"ignoreBlanks", 0, "", &s.parsing.ignore_blanks,
        "csv, tsv: an empty cell leaves its field out."},
       {"drop", 0, "", &drop, "Drop the collection first."},
       {"resume", 0, "", &s.resume,
        "Go on where an earlier import of this source into this collection stopped, also one that "
        "was killed; nothing is lost or stored twice."},
       {"growing", 0, "", &s.growing,
        "Leave a last line without its newline for the next --resume: the file is being written."},
       {"source", 0, "NAME", &s.source,
        "Name of the input in the ids made up for its records and in the state of the import. "
        "Default: the path of the file. Standard input has none and cannot be resumed without."},
       {"rejects", 0, "FILE", &rejects,
        "Where bad records go, one per line: line number, reason, text, with tabs between. "
        "Default: the file's name with .rejected (stdin.rejected)."},
       {"batch", 0, "N", &s.batch, "Documents per write. Default 1000.", 1, 100'000},
       {"json", 0, "", &json, "Print the summary as one JSON document."},
       {"quiet", 'q', "", &s.quiet, "No progress bar, and no summary unless --json."},
       {"help", 'h', "", &help, "Show this text."}});
  return rows;
}

void PrintHelp(const std::vector<ToolOption>& rows) {
  printf(
      "usage: quire import [OPTIONS] -c COLLECTION [FILE]\n\n"
      "Puts the records of a file (standard input without FILE, or with -) into a collection.\n\n"
      "Options:\n%s\nFormats:\n",
      OptionHelp(rows).c_str());
  for (const Format& format : AllFormats()) {
    printf("  %-9s %s%s%s%s\n", format.name.data(), format.help.data(),
           format.marks.empty() ? "" : " (", format.marks.data(), format.marks.empty() ? "" : ")");
  }
  printf(
      "\nA record without _id gets one made of the source, its place and its text: importing a "
      "file "
      "again\nadds nothing. Of a record with an _id that is taken, the same document counts as a "
      "duplicate,\nanother one is rejected. Where an import stands is kept in the collection "
      "quire_imports.\n\n"
      "Exit codes: 0 all records are stored, 1 failed (go on with --resume), 2 wrong usage,\n"
      "3 done, but some records were rejected.\n");
}

Status CheckFormat(CommandLine* line) {
  ImportSettings& s = line->settings;
  s.format = line->type.empty() ? GuessFormat(s.path) : FindFormat(line->type);
  if (s.format == nullptr) {
    return {kBadValue, line->type.empty() ? "the format cannot be told from the name: give --type"
                                          : "--type: there is no format '" + line->type + "'"};
  }
  return RecordParser::Make(s.format, s.parsing).status();
}

Status Check(CommandLine* line) {
  ImportSettings& s = line->settings;
  if (line->words.size() > 1) {
    return {kBadValue, "one file at a time"};
  }
  s.path = line->words.empty() ? "-" : line->words[0];
  if (s.collection.empty()) {
    return {kBadValue, "--collection is missing"};
  }
  RETURN_IF_ERROR(line->place.Check());
  RETURN_IF_ERROR(CheckFormat(line));
  if (line->drop && s.resume) {
    return {kBadValue, "--drop and --resume exclude each other"};
  }
  const bool is_stdin = s.path == "-";
  if (s.source.empty() && !is_stdin) {
    char* path = realpath(s.path.c_str(), nullptr);
    s.source = path != nullptr ? path : s.path;
    free(path);
  }
  if (s.resume && s.source.empty()) {
    return {kBadValue, "--resume of standard input needs --source"};
  }
  s.rejected_path =
      !line->rejects.empty() ? line->rejects : (is_stdin ? "stdin" : s.path) + ".rejected";
  return Status::Ok();
}

void PrintSummary(const CommandLine& line, const ImportSummary& summary, const Status& status) {
  const ImportCounts& counts = summary.counts;
  const std::string rejects = counts.rejected > 0 ? line.settings.rejected_path : "";
  if (line.json) {
    bson::Document out =
        Doc("ok", status.ok(), "records", counts.records, "inserted", counts.inserted, "duplicates",
            counts.duplicates, "rejected", counts.rejected, "rejects", rejects, "resumed_at",
            summary.resumed_at, "offset", summary.offset, "bytes", summary.bytes, "seconds",
            summary.seconds, "error", status.ok() ? "" : status.ToString());
    printf("%s\n", bson::ToJson(out).c_str());
  } else if (!line.settings.quiet && (status.ok() || counts.records > 0)) {
    if (summary.resumed_at > 0) {
      printf("went on at byte %s\n", Grouped(summary.resumed_at).c_str());
    }
    const double rate =
        summary.seconds > 0 ? static_cast<double>(counts.records) / summary.seconds : 0;
    printf("%s records in %s s (%s/s): %s inserted, %s duplicates, %s rejected%s\n",
           Grouped(counts.records).c_str(), Fixed(summary.seconds, 2).c_str(),
           Grouped(static_cast<int64_t>(rate)).c_str(), Grouped(counts.inserted).c_str(),
           Grouped(counts.duplicates).c_str(), Grouped(counts.rejected).c_str(),
           rejects.empty() ? "" : (", kept in " + rejects).c_str());
  }
}

Status Run(CommandLine* line, ImportSummary* summary) {
  RETURN_IF_ERROR(CheckInput(line->settings.path));  // before --drop
  ASSIGN_OR_RETURN(Client client, line->place.Open());
  Database database = client.GetDatabase(line->place.db);
  if (line->drop) {
    RETURN_IF_ERROR(database.GetCollection(line->settings.collection).Drop());
  }
  return RunImport(database, line->settings, summary);
}

}  // namespace

int Import(const std::vector<std::string>& arguments) {
  CommandLine line;
  const std::vector<ToolOption> rows = line.Options();
  auto answered = [&](bool) {
    if (line.help) {
      PrintHelp(rows);
    }
    return line.help;
  };
  if (auto code = StartCommand(
          {"import", rows, &line.words, answered, [&] { return Check(&line); }}, arguments)) {
    return *code;
  }
  ImportSummary summary;
  Status status = Run(&line, &summary);
  PrintSummary(line, summary, status);
  if (!status.ok()) {
    fprintf(stderr, "quire import: %s\n", status.ToString().c_str());
    return kExitFailed;
  }
  return summary.counts.rejected > 0 ? kExitPartly : kExitOk;
}

}  // namespace quire::apps
