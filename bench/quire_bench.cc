// SPDX-License-Identifier: Apache-2.0
//
// quire_bench: drives any server that speaks MongoDB's protocol with the workloads of workload.cc
// and prints each one's speed beside its ratio to `ping` over the same connections in the same run.
#include <getopt.h>
#include <mongoc/mongoc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dataset.h"
#include "workload.h"

namespace quire::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string uri = "mongodb://127.0.0.1:27017";
  std::vector<int> connections = {1, 4, 64};
  std::vector<std::string> only;
  double seconds = 3;
  int64_t size = 200'000;
  bool json = false;
  bool keep = false;
};

struct Measured {
  double per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
  std::string error;
};

constexpr const char* kUsage =
    R"(usage: quire_bench [OPTIONS] [mongodb://ADDRESS]

  --connections 1,4,64   how many connections, each used by a thread of its own
  --seconds N            time per workload and number of connections (3)
  --only NAME,NAME       only these workloads (ping always runs)
  --size N               documents in each data set (200000)
  --json                 results as JSON instead of a table
  --keep                 leave the database "quire_bench" on the server
  --list                 print the workloads and what they do
)";

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return parts;
}

void List() {
  for (const Workload& workload : Workloads()) {
    printf("%-14s %s\n", workload.name, workload.help);
  }
}

[[noreturn]] void Fail(const std::string& message) {
  fprintf(stderr, "quire_bench: %s\n", message.c_str());
  exit(1);
}

Options ParseOptions(int argc, char** argv) {
  enum { kConnections = 1, kSeconds, kOnly, kSize, kJson, kKeep, kList, kHelp };
  static const option kOptions[] = {
      {"connections", required_argument, nullptr, kConnections},
      {"seconds", required_argument, nullptr, kSeconds},
      {"only", required_argument, nullptr, kOnly},
      {"size", required_argument, nullptr, kSize},
      {"json", no_argument, nullptr, kJson},
      {"keep", no_argument, nullptr, kKeep},
      {"list", no_argument, nullptr, kList},
      {"help", no_argument, nullptr, kHelp},
      {nullptr, 0, nullptr, 0},
  };
  Options options;
  for (int found; (found = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (found) {
      case kConnections:
        options.connections.clear();
        for (const std::string& part : Split(optarg)) {
          options.connections.push_back(std::max(1, atoi(part.c_str())));
        }
        break;
      case kSeconds:
        options.seconds = std::max(0.05, atof(optarg));
        break;
      case kOnly:
        options.only = Split(optarg);
        break;
      case kSize:
        options.size = std::max<int64_t>(1000, atoll(optarg));
        break;
      case kJson:
        options.json = true;
        break;
      case kKeep:
        options.keep = true;
        break;
      case kList:
        List();
        exit(0);
      case kHelp:
        fputs(kUsage, stdout);
        exit(0);
      default:
        fputs(kUsage, stderr);
        exit(2);
    }
  }
  if (optind < argc) {
    options.uri = argv[optind];
  }
  return options;
}

Client Connect(const std::string& uri) {
  Client client(mongoc_client_new(uri.c_str()));
  if (!client) {
    Fail("not a mongodb:// address: " + uri);
  }
  mongoc_client_set_error_api(client.get(), MONGOC_ERROR_API_VERSION_2);
  return client;
}

// The operations of one connection until the deadline.
struct Lane {
  std::unique_ptr<Connection> connection;
  std::vector<float> latencies_us;
  int64_t documents = 0;
  double seconds = 0;
  bool failed = false;

  void Run(const Workload& workload, Clock::time_point start, Clock::time_point deadline) {
    Clock::time_point now = start;
    do {
      int64_t done = workload.run(*connection);
      Clock::time_point after = Clock::now();
      if (done < 0) {
        failed = true;
        return;
      }
      documents += done;
      latencies_us.push_back(std::chrono::duration<float, std::micro>(after - now).count());
      now = after;
    } while (now < deadline);
    seconds = std::chrono::duration<double>(now - start).count();
  }
};

bool Prepare(mongoc_client_t* client, const Workload& workload, bson_error_t* error) {
  if (workload.indexes == nullptr) {
    return true;
  }
  const std::string name = workload.collection;
  bson_error_t not_there;
  RunJson(client, kDatabase, R"({"drop":")" + name + "\"}", &not_there);
  return RunJson(client, kDatabase, R"({"create":")" + name + "\"}", error) &&
         (strcmp(workload.indexes, "[]") == 0 ||
          RunJson(client, kDatabase,
                  R"({"createIndexes":")" + name + R"(","indexes":)" + workload.indexes + "}",
                  error));
}

std::vector<Lane> OpenLanes(const Options& options, const Workload& workload, int connections,
                            Shared& shared) {
  std::vector<Lane> lanes(static_cast<size_t>(connections));
  for (size_t i = 0; i < lanes.size(); ++i) {
    Client client = Connect(options.uri);
    Collection collection(
        mongoc_client_get_collection(client.get(), kDatabase, workload.collection));
    lanes[i].connection.reset(new Connection{shared, std::move(client), std::move(collection),
                                             std::mt19937_64(i * 7919 + 1)});
    lanes[i].latencies_us.reserve(1 << 16);
  }
  return lanes;
}

Measured Sum(std::vector<Lane>& lanes) {
  Measured measured;
  std::vector<float> latencies;
  for (Lane& lane : lanes) {
    if (lane.failed) {
      measured.error = lane.connection->error.message;
      return measured;
    }
    measured.per_second += static_cast<double>(lane.documents) / lane.seconds;
    latencies.insert(latencies.end(), lane.latencies_us.begin(), lane.latencies_us.end());
  }
  std::sort(latencies.begin(), latencies.end());
  measured.p50_us = latencies[latencies.size() / 2];
  measured.p99_us = latencies[latencies.size() * 99 / 100];
  return measured;
}

Measured Measure(const Options& options, const Workload& workload, int connections,
                 Shared& shared) {
  Measured measured;
  Client client = Connect(options.uri);
  bson_error_t error{};
  if (!Prepare(client.get(), workload, &error)) {
    measured.error = error.message;
    return measured;
  }
  std::vector<Lane> lanes = OpenLanes(options, workload, connections, shared);
  static const Bson ping = FromJson(R"({"ping":1})");
  for (Lane& lane : lanes) {  // connects before the clock starts
    if (!mongoc_client_command_simple(lane.connection->client.get(), "admin", ping.get(), nullptr,
                                      nullptr, &error)) {
      measured.error = error.message;
      return measured;
    }
  }
  const Clock::time_point start = Clock::now();
  const auto deadline = start + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(options.seconds));
  std::vector<std::thread> threads;
  for (Lane& lane : lanes) {
    threads.emplace_back([&] { lane.Run(workload, start, deadline); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return Sum(lanes);
}

// Rows as they come, so that a long run shows progress.
class Report {
 public:
  explicit Report(const Options& options) : options_(options) {
    if (options_.json) {
      printf("{\"uri\": \"%s\", \"size\": %lld, \"seconds\": %g, \"results\": [",
             options_.uri.c_str(), static_cast<long long>(options_.size), options_.seconds);
      return;
    }
    printf("%-14s", "workload");
    for (int connections : options_.connections) {
      printf(" | %4d conn: per s   ratio   p50 us   p99 us", connections);
    }
    printf("\n");
  }

  void Begin(const Workload& workload) {
    name_ = workload.name;
    if (!options_.json) {
      printf("%-14s", workload.name);
    }
  }

  void Add(int connections, const Measured& measured) {
    if (name_ == "ping") {
      ping_[connections] = measured.per_second;
    }
    const double ratio = ping_[connections] > 0 ? measured.per_second / ping_[connections] : 0;
    if (options_.json) {
      AddJson(connections, measured, ratio);
    } else if (!measured.error.empty()) {
      printf(" | %.45s", measured.error.c_str());
    } else {
      printf(" | %16.*f %7.3f %8.0f %8.0f", measured.per_second < 100 ? 1 : 0, measured.per_second,
             ratio, measured.p50_us, measured.p99_us);
    }
    fflush(stdout);
  }

  void Skip() {
    if (!options_.json) {
      printf(" | %16s %7s %8s %8s", "-", "", "", "");
    }
  }

  void EndRow() {
    if (!options_.json) {
      printf("\n");
    }
  }

  void Finish() {
    if (options_.json) {
      printf("\n]}\n");
    }
  }

 private:
  void AddJson(int connections, const Measured& measured, double ratio) {
    printf("%s\n  {\"workload\": \"%s\", \"connections\": %d, ", first_ ? "" : ",", name_.c_str(),
           connections);
    first_ = false;
    if (!measured.error.empty()) {
      Bson text(bson_new());
      BSON_APPEND_UTF8(text.get(), "error", measured.error.c_str());
      char* json = bson_as_relaxed_extended_json(text.get(), nullptr);
      printf("%s", json + 1);  // without the opening brace
      bson_free(json);
      return;
    }
    printf("\"per_second\": %.1f, \"ratio_to_ping\": %.4f, \"p50_us\": %.1f, \"p99_us\": %.1f}",
           measured.per_second, ratio, measured.p50_us, measured.p99_us);
  }

  const Options& options_;
  std::string name_;
  std::map<int, double> ping_;
  bool first_ = true;
};

bool Wanted(const Options& options, const Workload& workload) {
  return options.only.empty() || std::string_view(workload.name) == "ping" ||
         std::find(options.only.begin(), options.only.end(), workload.name) != options.only.end();
}

void CheckNames(const Options& options) {
  for (const std::string& name : options.only) {
    auto all = Workloads();
    if (std::none_of(all.begin(), all.end(), [&](const Workload& w) { return name == w.name; })) {
      Fail("no workload is named " + name + " (--list shows them)");
    }
  }
}

int Run(const Options& options) {
  CheckNames(options);
  Client client = Connect(options.uri);
  Shared shared{.size = options.size, .events = {}, .zipfian = nullptr};
  bson_error_t error{};
  if (!LoadData(client.get(), shared, &error)) {
    Fail(std::string("cannot load the data: ") + error.message);
  }
  Report report(options);
  bool failed = false;
  for (const Workload& workload : Workloads()) {
    if (!Wanted(options, workload)) {
      continue;
    }
    report.Begin(workload);
    for (int connections : options.connections) {
      if (workload.one_connection && connections != 1) {
        report.Skip();
        continue;
      }
      Measured measured = Measure(options, workload, connections, shared);
      failed = failed || !measured.error.empty();
      report.Add(connections, measured);
    }
    report.EndRow();
  }
  report.Finish();
  if (!options.keep) {
    RunJson(client.get(), kDatabase, R"({"dropDatabase":1})", &error);
  }
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace quire::bench

int main(int argc, char** argv) {
  mongoc_init();
  int code = quire::bench::Run(quire::bench::ParseOptions(argc, argv));
  mongoc_cleanup();
  return code;
}
