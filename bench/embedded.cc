// SPDX-License-Identifier: Apache-2.0
#include "embedded.h"

#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "dataset.h"
#include "quire/quire.h"
#include "raw_store.h"
#include "results.h"

namespace quire::bench {
namespace {

using Clock = std::chrono::steady_clock;

// The event with its number as _id.
bson::Document Event(int64_t n) {
  const Bson made = MakeEvent(n);
  bson::Builder event;
  event.Append("_id", n).AppendFields(
      bson::View(reinterpret_cast<const char*>(bson_get_data(made.get()))));
  return event.Finish();
}

// Events that differ in their _id alone: what is timed is not how they are made.
class Numbered {
 public:
  explicit Numbered(int64_t first) : bytes_(std::move(Event(first)).TakeBytes()), next_(first) {}
  bson::Document Next() {
    constexpr size_t kPlaceOfId = 9;  // after the size, the type and the name
    memcpy(bytes_.data() + kPlaceOfId, &next_, sizeof next_);
    ++next_;
    return bson::Document::FromTrusted(bytes_);
  }

 private:
  std::string bytes_;
  int64_t next_;
};

class Folder {
 public:
  Folder() : path_((std::filesystem::temp_directory_path() / "quire-embedded-XXXXXX").string()) {
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  bool made() const { return made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

Status Load(Collection& events, int64_t documents) {
  constexpr int64_t kBatch = 1000;
  for (int64_t first = 0; first < documents; first += kBatch) {
    std::vector<bson::Document> batch;
    for (int64_t n = first; n < std::min(first + kBatch, documents); ++n) {
      batch.push_back(Event(n));
    }
    RETURN_IF_ERROR(events.InsertMany(batch).status());
  }
  return Status::Ok();
}

// Of this thread: what others do on the machine does not count.
double ProcessorNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

// Nanoseconds of processor time of one call, of many.
double Time(const std::function<bool()>& call) {
  constexpr auto kTime = std::chrono::milliseconds(300);
  int64_t calls = 0;
  const Clock::time_point start = Clock::now();
  const double began = ProcessorNs();
  while (Clock::now() - start < kTime) {
    constexpr int kTogether = 64;
    for (int i = 0; i < kTogether; ++i, ++calls) {
      if (!call()) {
        return 0;
      }
    }
  }
  return (ProcessorNs() - began) / static_cast<double>(calls);
}

Result<Pair> Compare(const std::string& name, int64_t rounds, const std::function<bool()>& embedded,
                     const std::function<bool()>& raw) {
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  for (int64_t i = 0; i < rounds; ++i) {
    ours.push_back(Time(embedded));
    theirs.push_back(Time(raw));
    if (ours.back() == 0 || theirs.back() == 0) {
      return Status(kOperationFailed, name + " failed");
    }
    ratios.push_back(ours.back() / theirs.back());
  }
  return Pair{name, MiddleOf(ours).median, MiddleOf(theirs).median, MiddleOf(ratios).median};
}

}  // namespace

Result<std::vector<Pair>> MeasureEmbedded(int64_t documents, int64_t rounds) {
  const Folder folder;
  if (!folder.made()) {
    return Status(kInternalError, "cannot make a temporary folder");
  }
  OpenOptions options;
  options.path = folder.path();
  options.cache_bytes = uint64_t{1} << 30;
  ASSIGN_OR_RETURN(Client client, Open(options));
  Collection events = client.GetDatabase("bench").GetCollection("events");
  RETURN_IF_ERROR(Load(events, documents));
  ASSIGN_OR_RETURN(auto raw, RawStore::Open(documents));

  std::mt19937_64 random(1);
  const auto any = [&] {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(documents));
  };
  ASSIGN_OR_RETURN(Pair read, Compare(
                                  "find by _id", rounds,
                                  [&] {
                                    const bson::Document id =
                                        bson::Builder().Append("_id", any()).Finish();
                                    const auto found = events.FindOne(id);
                                    return found.ok() && found->has_value();
                                  },
                                  [&] { return raw->Get(any()); }));
  Numbered next(documents);
  Numbered raw_next(documents);
  ASSIGN_OR_RETURN(Pair write,
                   Compare(
                       "insert", rounds, [&] { return events.InsertOne(next.Next()).ok(); },
                       [&] { return raw->Insert(raw_next.Next().bytes()); }));
  return std::vector<Pair>{std::move(read), std::move(write)};
}

std::string PairTable(const std::vector<Pair>& pairs) {
  char line[120];
  snprintf(line, sizeof line, "%-17s %12s %12s %8s\n", "embedded", "quire ns", "RocksDB ns",
           "ratio");
  std::string text = line;
  for (const Pair& pair : pairs) {
    snprintf(line, sizeof line, "%-17s %12.0f %12.0f %8.2f\n", pair.name.c_str(), pair.embedded_ns,
             pair.raw_ns, pair.ratio);
    text += line;
  }
  return text;
}

}  // namespace quire::bench
