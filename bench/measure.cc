// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace quire::bench {
namespace {

using Clock = std::chrono::steady_clock;

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
         SpreadOverShards(client, name, error) &&
         (strcmp(workload.indexes, "[]") == 0 ||
          RunJson(client, kDatabase,
                  R"({"createIndexes":")" + name + R"(","indexes":)" + workload.indexes + "}",
                  error)) &&
         (workload.fill == nullptr || workload.fill(client, error));
}

// Connects each lane before the clock starts; an error's text, or nothing.
std::string OpenLanes(const Target& target, Shared& shared, const Workload& workload,
                      std::vector<Lane>* lanes) {
  static const Bson ping = FromJson(R"({"ping":1})");
  bson_error_t error{};
  for (size_t i = 0; i < lanes->size(); ++i) {
    Result<Client> client = Connect(target);
    if (!client.ok()) {
      return client.status().message();
    }
    Collection collection(
        mongoc_client_get_collection(client->get(), kDatabase, workload.collection));
    if (!mongoc_client_command_simple(client->get(), "admin", ping.get(), nullptr, nullptr,
                                      &error)) {
      return error.message;
    }
    (*lanes)[i].connection.reset(new Connection{shared, *std::move(client), std::move(collection),
                                                std::mt19937_64(i * 7919 + 1)});
    (*lanes)[i].latencies_us.reserve(1 << 16);
  }
  return {};
}

Sample Sum(std::vector<Lane>& lanes) {
  Sample sample;
  std::vector<float> latencies;
  for (Lane& lane : lanes) {
    if (lane.failed) {
      sample.error = lane.connection->error.message;
      return sample;
    }
    sample.per_second += static_cast<double>(lane.documents) / lane.seconds;
    latencies.insert(latencies.end(), lane.latencies_us.begin(), lane.latencies_us.end());
  }
  std::sort(latencies.begin(), latencies.end());
  sample.p50_us = Percentile(latencies, 0.5);
  sample.p99_us = Percentile(latencies, 0.99);
  sample.p999_us = Percentile(latencies, 0.999);
  return sample;
}

}  // namespace

Sample Measure(const Target& target, Shared& shared, const Workload& workload, int connections,
               double seconds) {
  Sample sample;
  bson_error_t error{};
  Result<Client> client = Connect(target);
  if (!client.ok()) {
    sample.error = client.status().message();
    return sample;
  }
  if (!Prepare(client->get(), workload, &error)) {
    sample.error = error.message;
    return sample;
  }
  std::vector<Lane> lanes(static_cast<size_t>(connections));
  sample.error = OpenLanes(target, shared, workload, &lanes);
  if (!sample.error.empty()) {
    return sample;
  }
  const Clock::time_point start = Clock::now();
  const auto deadline =
      start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::thread> threads;
  for (Lane& lane : lanes) {
    threads.emplace_back([&] { lane.Run(workload, start, deadline); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return Sum(lanes);
}

}  // namespace quire::bench
