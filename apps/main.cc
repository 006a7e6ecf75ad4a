// SPDX-License-Identifier: Apache-2.0
//
// The tool `quire`: one subcommand per job.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "bench/bench.h"
#include "cluster/cluster.h"
#include "demo/demo.h"
#include "export/export.h"
#include "import/import.h"
#include "serve/serve.h"

namespace {

using quire::apps::Manner;

constexpr int kBadUsage = 2;

struct Subcommand {
  std::string_view name;
  int (*run)(const std::vector<std::string>& argv, const std::vector<std::string>& arguments);
  std::string_view help;
};

int RunServe(const std::vector<std::string>& argv, const std::vector<std::string>& arguments) {
  return quire::apps::Serve(Manner::kQuire, argv, arguments);
}

int RunRoute(const std::vector<std::string>& argv, const std::vector<std::string>& arguments) {
  return quire::apps::Route(Manner::kQuire, argv, arguments);
}

int RunImport(const std::vector<std::string>&, const std::vector<std::string>& arguments) {
  return quire::apps::Import(arguments);
}

int RunExport(const std::vector<std::string>&, const std::vector<std::string>& arguments) {
  return quire::apps::Export(arguments);
}

int RunDemo(const std::vector<std::string>&, const std::vector<std::string>& arguments) {
  return quire::apps::RunDemo(arguments);
}

int RunBench(const std::vector<std::string>&, const std::vector<std::string>& arguments) {
  return quire::apps::Bench(arguments);
}

int RunCluster(const std::vector<std::string>&, const std::vector<std::string>& arguments) {
  return quire::apps::Cluster(arguments);
}

constexpr Subcommand kSubcommands[] = {
    {"serve", RunServe, "start the server"},
    {"route", RunRoute, "start the router of a sharded cluster"},
    {"cluster", RunCluster,
     "a cluster on this machine: up, status, start, stop, kill, pause, resume, down"},
    {"import", RunImport, "put a file into a collection: JSON lines, CSV, TSV, access logs"},
    {"export", RunExport, "write a collection as JSON lines, CSV or TSV"},
    {"demo", RunDemo, "show an application system at work (quire demo --list)"},
    {"bench", RunBench, "measure servers that speak MongoDB's protocol (quire bench --list)"},
};

void PrintHelp(FILE* out) {
  fprintf(out, "Quire %.*s: a document database that speaks MongoDB's language.\n\n",
          static_cast<int>(quire::kVersion.size()), quire::kVersion.data());
  fprintf(out, "usage: quire COMMAND [OPTIONS]\n\n");
  for (const Subcommand& subcommand : kSubcommands) {
    fprintf(out, "  %-10s %s\n", subcommand.name.data(), subcommand.help.data());
  }
  fprintf(out, "\n'quire COMMAND --help' lists the options of each.\n");
}

}  // namespace

// In the place of libmongoc's own, which would write to stderr: it is called before main, too, when
// the library is loaded and a process of the same id has left its counters in shared memory.
extern "C" void mongoc_log_default_handler(int /*level*/, const char* /*domain*/,
                                           const char* /*message*/, void* /*user_data*/);
extern "C" void mongoc_log_default_handler(int, const char*, const char*, void*) {}

int main(int argc, char** argv) {
  std::vector<std::string> all(argv, argv + argc);
  std::string_view program = all.empty() ? "quire" : std::string_view(all[0]);
  program.remove_prefix(program.rfind('/') == std::string_view::npos ? 0 : program.rfind('/') + 1);
  if (program == "mongod") {
    return quire::apps::Serve(Manner::kMongod, all, {all.begin() + 1, all.end()});
  }
  if (program == "mongos") {
    return quire::apps::Route(Manner::kMongod, all, {all.begin() + 1, all.end()});
  }
  if (argc < 2 || all[1] == "--help" || all[1] == "-h" || (all[1] == "help" && argc == 2)) {
    PrintHelp(argc < 2 ? stderr : stdout);
    return argc < 2 ? kBadUsage : 0;
  }
  if (all[1] == "--version") {
    printf("quire %.*s\n", static_cast<int>(quire::kVersion.size()), quire::kVersion.data());
    return 0;
  }
  const std::vector<std::string> own(all.begin() + 2, all.end());
  for (const Subcommand& subcommand : kSubcommands) {
    if (all[1] == subcommand.name) {
      return subcommand.run(all, own);
    }
    if (all[1] == "help" && all[2] == subcommand.name) {
      return subcommand.run(all, {"--help"});
    }
  }
  fprintf(stderr, "quire: unknown command '%s'\n\n", all[all[1] == "help" ? 2 : 1].c_str());
  PrintHelp(stderr);
  return kBadUsage;
}
