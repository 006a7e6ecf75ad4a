// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "aims.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "curves.h"
#include "embedded.h"
#include "measure.h"
#include "raw_store.h"
#include "results.h"
#include "target.h"
#include "tool/options.h"
#include "workload.h"

namespace quire::apps {
namespace {

using bench::Shared;
using bench::Target;
using bench::Workload;

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

struct CommandLine {
  std::vector<std::string> target_texts;
  std::string connection_text = "1,4,64";
  std::string only_text;
  std::string serve_text;
  std::string svg;
  double seconds = 3;
  int64_t rounds = 3;
  int64_t size = 200'000;
  std::string sizes_text;
  bool embedded = false;
  bool aims = false;
  bool json = false;
  bool keep = false;
  bool list = false;
  bool help = false;
  std::vector<std::string> words;
  // Made of them.
  std::vector<int> connections;
  std::vector<int64_t> sizes;
  std::vector<Workload> workloads;

  std::vector<ToolOption> Options() {
    return {
        {"target", 't', "NAME=ADDRESS", &target_texts,
         "A server to measure; several are measured in turns. ADDRESS is mongodb://..., or serve "
         "for a server of this program in a temporary folder, or serve:PROGRAM for one of another "
         "quire."},
        {"connections", 'c', "LIST", &connection_text,
         "How many connections, each used by a thread of its own: 1,4,64."},
        {"seconds", 's', "N", &seconds, "Time for each workload, round and number of connections.",
         0, 3600},
        {"rounds", 'r', "N", &rounds, "Rounds; the figures are their medians.", 1, 1000},
        {"only", 0, "LIST", &only_text, "Only these workloads; ping always runs."},
        {"size", 0, "N", &size, "Documents in each data set.", 1000},
        {"sizes", 0, "LIST", &sizes_text,
         "Measure servers of each of these sizes, one after the other, and show how the time of an "
         "operation grows: 10000,100000,1000000. The servers are started for it."},
        {"embedded", 0, "", &embedded,
         "Compare point reads and inserts within the program with RocksDB and the same bytes."},
        {"aims", 0, "", &aims,
         "Measure every workload there is an aim for (docs/performance.md) on the connections it "
         "holds for, with 1 GB of cache in the servers that are started, then --embedded; print "
         "each figure against its yardstick beside the aim. Five rounds of three seconds take "
         "eight minutes: '--rounds 5'. p99.9 under long load: '--only insert-1 --connections 4 "
         "--rounds 1 --seconds 600'. Growth: '--sizes'."},
        {"serveOptions", 0, "TEXT", &serve_text,
         "Options of the servers that are started: '--cacheSizeGB 1'."},
        {"json", 0, "", &json, "Print the results as JSON instead of a table."},
        {"svg", 0, "FILE", &svg, "Draw the results."},
        {"keep", 0, "", &keep, "Leave the database quire_bench on the servers."},
        {"list", 0, "", &list, "Print the workloads and what they do."},
        {"help", 'h', "", &help, "Show this text."},
    };
  }
};

bool Answered(const CommandLine& line, const std::vector<ToolOption>& rows) {
  if (line.help) {
    printf(
        "usage: quire bench [OPTIONS] [mongodb://ADDRESS]\n\n"
        "Measures servers that speak MongoDB's protocol. Without an address a server of its own "
        "is\n"
        "started in a temporary folder.\n\nOptions:\n%s\n"
        "Exit codes: 0 done, 1 a workload failed, 2 wrong usage.\n",
        OptionHelp(rows).c_str());
    return true;
  }
  if (line.list) {
    for (const Workload& workload : bench::Workloads()) {
      printf("%-18s %s\n", workload.name, workload.help);
    }
  }
  return line.list;
}

Status ReadConnections(CommandLine* line) {
  for (const std::string& part : Split(line->connection_text, ',')) {
    int count = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), count);
    if (error != std::errc() || end != part.data() + part.size() || count < 1 || count > 10'000) {
      return {kBadValue, "--connections: '" + part + "' is not between 1 and 10000"};
    }
    line->connections.push_back(count);
  }
  return line->connections.empty() ? Status(kBadValue, "--connections: the list is empty")
                                   : Status::Ok();
}

Status ReadSizes(CommandLine* line) {
  constexpr int64_t kLeast = 1000;
  for (const std::string& part : Split(line->sizes_text, ',')) {
    int64_t size = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < kLeast ||
        (!line->sizes.empty() && size <= line->sizes.back())) {
      return {kBadValue, "--sizes: '" + part + "' is no size, or not above the one before"};
    }
    line->sizes.push_back(size);
  }
  return Status::Ok();
}

Status ReadWorkloads(CommandLine* line) {
  const std::vector<std::string> only = Split(line->only_text, ',');
  const std::vector<Workload> all = bench::Workloads();
  for (const std::string& name : only) {
    if (std::none_of(all.begin(), all.end(), [&](const Workload& w) { return name == w.name; })) {
      return {kBadValue, "--only: no workload is named " + name + " (--list shows them)"};
    }
  }
  for (const Workload& workload : all) {
    const std::string name = workload.name;
    if (only.empty() || name == "ping" || std::find(only.begin(), only.end(), name) != only.end()) {
      line->workloads.push_back(workload);
    }
  }
  return Status::Ok();
}

// Takes the place of the options that say what is measured.
Status ReadAims(CommandLine* line) {
  if (!line->aims) {
    return Status::Ok();
  }
  if (line->json || line->embedded || !line->only_text.empty() || !line->sizes_text.empty()) {
    return {kBadValue, "--aims says itself what is measured and prints a table"};
  }
  line->only_text = bench::AimedWorkloads();
  line->connection_text = bench::AimedConnections();
  if (line->serve_text.empty()) {
    line->serve_text = "--cacheSizeGB 1";
  }
  return Status::Ok();
}

Status Check(CommandLine* line) {
  RETURN_IF_ERROR(ReadAims(line));
  RETURN_IF_ERROR(ReadConnections(line));
  RETURN_IF_ERROR(ReadSizes(line));
  RETURN_IF_ERROR(ReadWorkloads(line));
  if (line->words.size() > 1 || (!line->words.empty() && !line->target_texts.empty())) {
    return {kBadValue, "unexpected argument '" + line->words.back() + "'"};
  }
  if (line->target_texts.empty()) {
    line->target_texts.push_back(line->words.empty() ? "quire=serve" : line->words[0]);
  }
  for (const std::string& text : line->target_texts) {
    RETURN_IF_ERROR(bench::CheckTarget(text));
  }
  return Status::Ok();
}

struct Measured {
  Target target;
  std::unique_ptr<Shared> shared;
};

Status OpenAndLoad(const CommandLine& line, std::vector<Measured>* all) {
  for (const std::string& text : line.target_texts) {
    Measured measured;
    ASSIGN_OR_RETURN(measured.target, bench::OpenTarget(text, Split(line.serve_text, ' ')));
    measured.shared = std::make_unique<Shared>(line.size);
    ASSIGN_OR_RETURN(const bench::Client client, bench::Connect(measured.target));
    bson_error_t error{};
    if (!bench::LoadData(client.get(), *measured.shared, &error)) {
      return {kOperationFailed, measured.target.name + ": cannot load the data: " + error.message};
    }
    all->push_back(std::move(measured));
  }
  return Status::Ok();
}

// Every round of one workload, the targets in turns. `raw` may be null.
bench::Row MeasureRow(const CommandLine& line, const Workload& workload, int connections,
                      std::vector<Measured>* all, bench::RawStore* raw) {
  bench::Row row{workload.name, connections, std::vector<bench::Rounds>(all->size())};
  for (int64_t round = 0; round < line.rounds; ++round) {
    for (size_t i = 0; i < all->size(); ++i) {
      const double raw_ns = raw != nullptr && workload.reads_all ? raw->ScanNs() : 0;
      row.targets[i].push_back(
          bench::Measure((*all)[i].target, *(*all)[i].shared, workload, connections, line.seconds));
      row.targets[i].back().raw_scan_ns = raw_ns;
    }
  }
  return row;
}

bool Failed(const bench::Row& row) {
  return std::any_of(row.targets.begin(), row.targets.end(), [](const bench::Rounds& rounds) {
    return std::any_of(rounds.begin(), rounds.end(),
                       [](const bench::Sample& sample) { return !sample.error.empty(); });
  });
}

void Finish(const CommandLine& line, const std::vector<Measured>& all, bench::Results* results) {
  for (const Measured& measured : all) {
    Result<bench::Client> client = bench::Connect(measured.target);
    results->resident_mb.push_back(client.ok() ? bench::ResidentMegabytes(client->get()) : -1);
    if (!line.json && results->resident_mb.back() >= 0) {
      printf("%s: %lld MB resident\n", measured.target.name.c_str(),
             static_cast<long long>(results->resident_mb.back()));
    }
    bson_error_t error;
    if (client.ok() && !line.keep) {
      bench::RunJson(client->get(), bench::kDatabase, R"({"dropDatabase":1})", &error);
    }
  }
}

// The yardstick of workloads that read all events; null when none of them does.
Result<std::unique_ptr<bench::RawStore>> OpenRaw(const CommandLine& line) {
  if (std::none_of(line.workloads.begin(), line.workloads.end(),
                   [](const Workload& workload) { return workload.reads_all; })) {
    return std::unique_ptr<bench::RawStore>();
  }
  return bench::RawStore::Open(line.size);
}

bool IsMeasured(const CommandLine& line, const Workload& workload, int connections) {
  return (!workload.one_connection || connections == 1) &&
         (!line.aims || bench::IsAimed(workload.name, connections));
}

Status RunSize(const CommandLine& line, bool* failed, bench::Results* out) {
  std::vector<Measured> all;
  RETURN_IF_ERROR(OpenAndLoad(line, &all));
  ASSIGN_OR_RETURN(const std::unique_ptr<bench::RawStore> raw, OpenRaw(line));
  bench::Results& results = *out;
  results.size = line.size;
  results.seconds = line.seconds;
  for (const Measured& measured : all) {
    results.targets.push_back(measured.target.name);
  }
  if (!line.json) {
    fputs(bench::TableHead(results).c_str(), stdout);
  }
  for (const Workload& workload : line.workloads) {
    for (int connections : line.connections) {
      if (!IsMeasured(line, workload, connections)) {
        continue;
      }
      results.rows.push_back(MeasureRow(line, workload, connections, &all, raw.get()));
      *failed = *failed || Failed(results.rows.back());
      if (!line.json) {
        fputs(bench::TableRow(results, results.rows.back()).c_str(), stdout);
        fflush(stdout);
      }
    }
  }
  Finish(line, all, &results);
  if (line.json) {
    fputs(bench::ResultsJson(results).c_str(), stdout);
  }
  return Status::Ok();
}

Status Draw(const CommandLine& line, const std::string& picture) {
  if (!line.svg.empty() && !(std::ofstream(line.svg) << picture).flush()) {
    return {kOperationFailed, "cannot write " + line.svg};
  }
  return Status::Ok();
}

Status RunSizes(CommandLine line, bool* failed) {
  std::vector<bench::Results> runs;
  for (const int64_t size : line.sizes) {
    line.size = size;
    RETURN_IF_ERROR(RunSize(line, failed, &runs.emplace_back()));
  }
  if (!line.json) {
    fputs(bench::CurveTable(runs).c_str(), stdout);
  }
  return Draw(line, bench::CurveSvg(runs));
}

Status Run(const CommandLine& line, bool* failed) {
  if (line.embedded) {
    ASSIGN_OR_RETURN(const auto pairs, bench::MeasureEmbedded(line.size, line.rounds));
    fputs(bench::PairTable(pairs).c_str(), stdout);
    return Status::Ok();
  }
  if (!line.sizes.empty()) {
    return RunSizes(line, failed);
  }
  bench::Results results;
  RETURN_IF_ERROR(RunSize(line, failed, &results));
  if (line.aims) {
    ASSIGN_OR_RETURN(const auto pairs, bench::MeasureEmbedded(line.size, line.rounds));
    fputs(bench::AimTable(results, pairs).c_str(), stdout);
  }
  return Draw(line, bench::ResultsSvg(results));
}

}  // namespace

int Bench(const std::vector<std::string>& arguments) {
  CommandLine line;
  const std::vector<ToolOption> rows = line.Options();
  if (std::optional<int> code =
          StartCommand({"bench", rows, &line.words, [&](bool) { return Answered(line, rows); },
                        [&] { return Check(&line); }},
                       arguments)) {
    return *code;
  }
  mongoc_init();
  bool failed = false;
  const Status status = Run(line, &failed);
  if (!status.ok()) {
    fprintf(stderr, "quire bench: %s\n", status.message().c_str());
  }
  return status.ok() && !failed ? kExitOk : kExitFailed;
}

}  // namespace quire::apps
