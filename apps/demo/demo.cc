// SPDX-License-Identifier: Apache-2.0
#include "demo/demo.h"

#include <cstdio>

#include "base/error_codes.h"
#include "base/try.h"
#include "demo/demo_run.h"
#include "export/output_file.h"
#include "tool/options.h"
#include "tool/place.h"

namespace quire::apps {
namespace {

constexpr int64_t kOperations = 10'000;

struct CommandLine {
  Place place;
  DemoSettings settings;
  std::string svg;
  bool list = false;
  bool json = false;
  bool keep = false;
  bool help = false;
  std::vector<std::string> words;
  const Demo* demo = nullptr;

  std::vector<ToolOption> Options();
  Result<Client> Open();
};

std::vector<ToolOption> CommandLine::Options() {
  DemoSettings& s = settings;
  return {
      {"list", 0, "", &list, "Say what each demo is for, in a line."},
      {"uri", 0, "ADDRESS", &place.uri,
       "Run at this mongodb:// address. Default: in the memory of this process."},
      {"dbpath", 0, "FOLDER", &place.dbpath, "Run in this folder, opened in the process."},
      {"db", 'd', "PREFIX", &place.db,
       "The databases are PREFIX_NAME_DESIGN; what they hold is dropped. Default quire_demo."},
      {"size", 's', "N", &s.size, "How much to load; --list says of what.", 1},
      {"threads", 't', "N", &s.threads, "Threads that load and work. Default 4.", 1, 256},
      {"ops", 0, "N", &s.operations, "Operations of each design's work. Default 10000.", 1},
      {"seconds", 0, "N", &s.seconds, "Work for so long instead.", 1, 86'400},
      {"json", 0, "", &json, "Print one JSON document instead of tables."},
      {"svg", 0, "FILE", &svg, "Also draw the latencies of the designs side by side."},
      {"keep", 0, "", &keep, "Leave the databases there at the end."},
      {"quiet", 'q', "", &s.quiet, "No progress bar."},
      {"help", 'h', "", &help, "Show this text."},
  };
}

void PrintList(const char* indent) {
  for (const Demo& demo : AllDemos()) {
    printf("%s%-11s %s (--size %lld %s)\n", indent, demo.name.data(), demo.purpose.data(),
           static_cast<long long>(demo.size), demo.size_of.data());
  }
}

void PrintHelp(const std::vector<ToolOption>& rows) {
  printf(
      "usage: quire demo NAME [OPTIONS]\n       quire demo --list\n\n"
      "Shows one of the application systems at work: loads generated data, works on it from "
      "several\n"
      "threads, and prints operations, latencies, what queries examine, and whether the "
      "invariants\n"
      "hold; systems with several designs do the same work in each.\n\nOptions:\n%s\nDemos:\n",
      OptionHelp(rows).c_str());
  PrintList("  ");
  printf("\nExit codes: 0 done and sound, 1 failed or an invariant is broken, 2 wrong usage.\n");
}

Status Check(CommandLine* line, const std::vector<Demo>& demos) {
  if (line->words.size() != 1) {
    return {kBadValue,
            line->words.empty() ? "which demo? (quire demo --list)" : "one demo at a time"};
  }
  for (const Demo& demo : demos) {
    if (demo.name == line->words[0]) {
      line->demo = &demo;
    }
  }
  if (line->demo == nullptr) {
    return {kBadValue, "there is no demo '" + line->words[0] + "' (quire demo --list)"};
  }
  RETURN_IF_ERROR(line->place.Check());
  DemoSettings& s = line->settings;
  if (s.seconds > 0 && s.operations > 0) {
    return {kBadValue, "--ops and --seconds exclude each other"};
  }
  s.operations = s.operations > 0 ? s.operations : kOperations;
  s.size = s.size > 0 ? s.size : line->demo->size;
  if (line->place.db.empty()) {
    line->place.db = "quire_demo";
  }
  return Status::Ok();
}

Result<Client> CommandLine::Open() {
  return place.uri.empty() && place.dbpath.empty() ? OpenInMemory() : place.Open();
}

Status WriteSvg(const std::string& path, const DemoReport& report) {
  OutputFile file;
  RETURN_IF_ERROR(file.Open(path));
  RETURN_IF_ERROR(file.Write(ReportSvg(report)));
  return file.Finish();
}

void PrintReport(const DemoReport& report, bool json) {
  if (json) {
    const bson::Document document = ReportDocument(report);
    printf("%s\n", bson::ToJson(document).c_str());
  } else {
    printf("%s", ReportText(report).c_str());
  }
}

Status Run(CommandLine* line, DemoReport* report) {
  const Place& place = line->place;
  report->name = line->demo->name;
  report->purpose = line->demo->purpose;
  report->place = !place.uri.empty()      ? "at " + place.uri
                  : !place.dbpath.empty() ? "in " + place.dbpath
                                          : "in memory";
  report->size = line->settings.size;
  report->size_of = line->demo->size_of;
  report->threads = line->settings.threads;
  ASSIGN_OR_RETURN(Client client, line->Open());
  DemoRun run(client, place.db, line->settings, report);
  Status status = line->demo->run(&run);
  if (!line->keep) {
    Status dropped = run.Drop();
    status = status.ok() ? dropped : status;
  }
  return status;
}

}  // namespace

int RunDemo(const std::vector<std::string>& arguments) {
  CommandLine line;
  const std::vector<ToolOption> rows = line.Options();
  const std::vector<Demo> demos = AllDemos();
  auto answered = [&](bool parsed) {
    if (line.help) {
      PrintHelp(rows);
    } else if (parsed && line.list) {
      PrintList("");
    }
    return line.help || (parsed && line.list);
  };
  if (auto code = StartCommand(
          {"demo", rows, &line.words, answered, [&] { return Check(&line, demos); }}, arguments)) {
    return *code;
  }
  DemoReport report;
  Status status = Run(&line, &report);
  if (status.ok()) {
    PrintReport(report, line.json);
    status = line.svg.empty() ? Status::Ok() : WriteSvg(line.svg, report);
  }
  if (!status.ok()) {
    fprintf(stderr, "quire demo: %s\n", status.ToString().c_str());
    return kExitFailed;
  }
  return report.sound() ? kExitOk : kExitFailed;
}

}  // namespace quire::apps
