// SPDX-License-Identifier: Apache-2.0
//
// crash: starts the server on a folder, writes from several threads, kills it with SIGKILL at a
// random moment, starts it again and checks that every acknowledged write is there, that nothing is
// there in part, and that every index agrees with its documents; over and over.
#include <getopt.h>
#include <mongoc/mongoc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "checker.h"
#include "server_process.h"
#include "writer.h"

namespace quire::crash {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string server;
  int rounds = 30;
  double minutes = 0;  // when not 0: instead of rounds
  int writers = 4;
  uint64_t seed = 0;
};

Options ParseOptions(int argc, char** argv) {
  enum { kServer = 1, kRounds, kMinutes, kWriters, kSeed };
  static const option kOptions[] = {
      {"server", required_argument, nullptr, kServer},
      {"rounds", required_argument, nullptr, kRounds},
      {"minutes", required_argument, nullptr, kMinutes},
      {"writers", required_argument, nullptr, kWriters},
      {"seed", required_argument, nullptr, kSeed},
      {nullptr, 0, nullptr, 0},
  };
  Options options;
  options.seed = std::random_device{}();
  for (int found; (found = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (found) {
      case kServer:
        options.server = optarg;
        break;
      case kRounds:
        options.rounds = atoi(optarg);
        break;
      case kMinutes:
        options.minutes = atof(optarg);
        break;
      case kWriters:
        options.writers = atoi(optarg);
        break;
      case kSeed:
        options.seed = strtoull(optarg, nullptr, 10);
        break;
      default:
        fputs("usage: crash --server PATH [--rounds N | --minutes N] [--writers N] [--seed N]\n",
              stderr);
        exit(2);
    }
  }
  return options;
}

class Run {
 public:
  explicit Run(const Options& options)
      : options_(options),
        random_(options.seed),
        folder_(MakeFolder()),
        server_(options.server, folder_ + "/data", folder_ + "/server.log"),
        catalog_(random_()) {
    for (int i = 0; i < options.writers; ++i) {
      writers_.emplace_back(i, random_());
    }
  }

  // True when all rounds went well; the folder is kept when not.
  bool All() {
    const Clock::time_point end =
        Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(options_.minutes * 60'000));
    if (!StartAndCheck()) {
      return false;
    }
    int round = 0;
    for (; options_.minutes > 0 ? Clock::now() < end : round < options_.rounds; ++round) {
      if (!Round()) {
        printf("round %d failed; seed %llu; the data and the log are in %s\n", round + 1,
               static_cast<unsigned long long>(options_.seed), folder_.c_str());
        return false;
      }
    }
    if (int code = server_.Stop(); code != 0) {
      printf("the server ended with %d when asked to stop\n", code);
      return false;
    }
    int64_t acknowledged = 0;
    for (DocumentWriter& writer : writers_) {
      acknowledged += writer.acknowledged();
    }
    printf("%d rounds, %lld acknowledged writes, all kept\n", round,
           static_cast<long long>(acknowledged));
    std::filesystem::remove_all(folder_);
    return true;
  }

 private:
  static std::string MakeFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quire-crash-XXXXXX").string();
    if (!mkdtemp(pattern.data())) {
      abort();
    }
    std::filesystem::create_directory(pattern + "/data");
    return pattern;
  }

  bool StartAndCheck() {
    if (!server_.Start()) {
      puts("the server did not start");
      return false;
    }
    return Report(CheckAll(server_.uri(), writers_, catalog_));
  }

  bool Round() {
    std::vector<std::thread> threads;
    for (DocumentWriter& writer : writers_) {
      threads.emplace_back([&] { writer.Run(server_.uri()); });
    }
    threads.emplace_back([&] { catalog_.Run(server_.uri()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random_() % 700));
    const bool killed = server_.Kill();
    for (std::thread& thread : threads) {
      thread.join();
    }
    if (!killed) {
      puts("the server ended by itself");
      return false;
    }
    bool good = Report(catalog_.problems());
    for (DocumentWriter& writer : writers_) {
      good = Report(writer.problems()) && good;
    }
    return StartAndCheck() && good;
  }

  static bool Report(const std::vector<std::string>& problems) {
    constexpr size_t kMost = 20;
    for (size_t i = 0; i < std::min(problems.size(), kMost); ++i) {
      printf("%s\n", problems[i].c_str());
    }
    if (problems.size() > kMost) {
      printf("and %zu more\n", problems.size() - kMost);
    }
    return problems.empty();
  }

  const Options options_;
  std::mt19937_64 random_;
  const std::string folder_;
  ServerProcess server_;
  std::deque<DocumentWriter> writers_;
  CatalogWriter catalog_;
};

}  // namespace
}  // namespace quire::crash

int main(int argc, char** argv) {
  mongoc_log_set_handler(nullptr, nullptr);
  mongoc_init();
  setvbuf(stdout, nullptr, _IOLBF, 0);
  quire::crash::Options options = quire::crash::ParseOptions(argc, argv);
  printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  bool good = quire::crash::Run(options).All();
  mongoc_cleanup();
  return good ? 0 : 1;
}
