// SPDX-License-Identifier: Apache-2.0
//
// A process writing through the store is killed at a random moment, again and again: what it was
// told is committed must be there, and no transaction may be there in part.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kv/rocks/rocks_store.h"
#include "kv/testing/conformance.h"

namespace quire::kv {
namespace {

constexpr int kThreads = 3;
constexpr int kIndexes = 2;

// What the writer reports through the pipe after each commit.
struct Acknowledged {
  int32_t thread;
  int32_t number;
};

std::string Key(char table, int thread, int number) {
  std::string digits = std::to_string(number);
  return std::string(1, table) + std::to_string(thread) + "/" +
         std::string(8 - digits.size(), '0') + digits;
}

// What is written together lies in three sections, whose files are written at different times.
Result<std::unique_ptr<Store>> Open(const std::string& folder, bool plain) {
  using Use = Section::Use;
  return OpenRocks({.path = folder,
                    .cache_bytes = 8 << 20,
                    .sections = {{.name = "counts", .begin = "", .use = Use::kSmall},
                                 {.name = "documents", .begin = "d", .use = Use::kAppended},
                                 {.name = "indexes", .begin = "i"}},
                    .plain = plain});
}

Status WriteDocument(Store& store, int thread, int number) {
  auto txn = store.Begin({});
  if (!txn.ok()) {
    return txn.status();
  }
  const std::string document(static_cast<size_t>(20 + number * 37 % 3000), 'd');
  Status status = (*txn)->Put(Key('d', thread, number), document);
  for (int i = 0; status.ok() && i < kIndexes; ++i) {
    status = (*txn)->Put(Key(static_cast<char>('i' + i), thread, number), "");
  }
  if (status.ok()) {
    status = (*txn)->Add("count", 1);
  }
  return status.ok() ? (*txn)->Commit(number % 8 == 0 ? Durability::kDisk : Durability::kProcess)
                     : status;
}

// The killed process: runs only when started by the test below.
TEST(RocksCrash, DISABLED_Writer) {
  const char* folder = getenv("QUIRE_CRASH_FOLDER");
  ASSERT_NE(folder, nullptr);
  const int start = atoi(getenv("QUIRE_CRASH_START"));
  auto store = Open(folder, getenv("QUIRE_CRASH_PLAIN") != nullptr);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int number = start;; ++number) {
        Acknowledged done{thread, number};
        if (!WriteDocument(**store, thread, number).ok() ||
            write(STDOUT_FILENO, &done, sizeof(done)) != sizeof(done)) {
          abort();
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

pid_t StartWriter(const std::string& folder, int start, bool plain, int output) {
  pid_t pid = fork();
  if (pid == 0) {
    setenv("QUIRE_CRASH_FOLDER", folder.c_str(), 1);
    setenv("QUIRE_CRASH_START", std::to_string(start).c_str(), 1);
    if (plain) {
      setenv("QUIRE_CRASH_PLAIN", "1", 1);
    }
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDERR_FILENO);
    dup2(output, STDOUT_FILENO);
    execl("/proc/self/exe", "kv_test", "--gtest_filter=RocksCrash.DISABLED_Writer",
          "--gtest_also_run_disabled_tests", "--gtest_print_time=0", nullptr);
    _exit(1);
  }
  return pid;
}

// GoogleTest's greeting comes first; it ends with the line of the test that runs.
size_t StartOfRecords(const std::string& output) {
  const std::string_view greeting = "DISABLED_Writer\n";
  size_t at = output.rfind(greeting);
  return at == std::string::npos ? std::string::npos : at + greeting.size();
}

// Runs the writer until it is killed, so long after its first write; what it acknowledged.
std::set<std::pair<int, int>> RunAndKill(const std::string& folder, int start, bool plain,
                                         int milliseconds) {
  int fds[2];
  EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
  pid_t pid = StartWriter(folder, start, plain, fds[1]);
  close(fds[1]);
  std::thread killer;
  std::string output;
  char buffer[65536];
  for (ssize_t n; (n = read(fds[0], buffer, sizeof(buffer))) > 0;) {
    output.append(buffer, static_cast<size_t>(n));
    if (!killer.joinable() && StartOfRecords(output) < output.size()) {
      killer = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
        kill(pid, SIGKILL);
      });
    }
  }
  close(fds[0]);
  if (killer.joinable()) {
    killer.join();
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);

  std::set<std::pair<int, int>> acknowledged;
  for (size_t at = std::min(StartOfRecords(output), output.size());
       at + sizeof(Acknowledged) <= output.size(); at += sizeof(Acknowledged)) {
    Acknowledged done;
    memcpy(&done, output.data() + at, sizeof(done));
    acknowledged.emplace(done.thread, done.number);
  }
  return acknowledged;
}

TEST(RocksCrash, WhatWasAcknowledgedIsThere) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  TempFolder folder;
  std::set<std::pair<int, int>> acknowledged;
  for (int round = 0; round < 8; ++round) {
    const int start = round * 1'000'000;
    // Plain storage reads what ours left behind, and the other way round.
    const bool plain_writer = round % 2 == 1;
    const bool plain_reader = round / 2 % 2 == 1;
    acknowledged.merge(
        RunAndKill(folder.path(), start, plain_writer, 60 + static_cast<int>(random() % 250)));

    auto store = Open(folder.path(), plain_reader);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    auto txn = *(*store)->Begin({.read_only = true});
    std::map<std::string, int> pieces;  // of each document
    auto cursor = *txn->Scan({"d", "z"}, Direction::kForward);
    for (Result<bool> moved = cursor->Next(); moved.ok() && *moved; moved = cursor->Next()) {
      ++pieces[std::string(cursor->key().substr(1))];
    }
    for (const auto& [key, count] : pieces) {
      ASSERT_EQ(count, 1 + kIndexes) << key;
    }
    for (const auto& [thread, number] : acknowledged) {
      ASSERT_TRUE(pieces.contains(Key('d', thread, number).substr(1))) << thread << " " << number;
    }
    EXPECT_LE(pieces.size(), acknowledged.size() + static_cast<size_t>(kThreads * (round + 1)));
    EXPECT_EQ(*txn->ReadCounter("count"), static_cast<int64_t>(pieces.size()));
  }
  EXPECT_FALSE(acknowledged.empty());
}

}  // namespace
}  // namespace quire::kv
