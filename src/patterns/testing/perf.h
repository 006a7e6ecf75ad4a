// SPDX-License-Identifier: Apache-2.0
//
// Files of samples, for the tests of performance monitoring.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "patterns/testing/places.h"
#include "quire/patterns/perf.h"

namespace quire::patterns {

inline constexpr int64_t kDay = 86'400'000;

// A folder of its own, gone with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "quire_perf_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }
  bool Has(const std::string& name) const { return std::filesystem::exists(path_ / name); }
  void Clear() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      std::filesystem::remove_all(entry.path());
    }
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::app) << text;
  }

 private:
  std::filesystem::path path_;
};

inline PerfOptions Quick(const Seams& seams, size_t batch = 300) {
  return {.settle = std::chrono::milliseconds(0), .batch_lines = batch, .seams = seams};
}
inline Perf PerfOf(World* world) {
  return Perf(world->client, world->database, Quick(world->seams()));
}

// `n` lines, a minute apart, from the clock's day on.
inline std::string CsvLines(World* world, int n, int first = 0, int step_minutes = 1) {
  std::string text;
  for (int i = first; i < first + n; ++i) {
    const int64_t at = BucketStart(world->clock.Now(), Level::kDay).millis - 2 * kDay +
                       int64_t{i} * 60'000 * step_minutes;
    text += "id,10.0.0.1,host" + std::to_string(i % 3) + ",p" + std::to_string(i % 2) + "," +
            std::to_string(at) + "," + std::to_string(i) + ".5\n";
  }
  return text;
}

inline int64_t Samples(World* world) {
  int64_t count = 0;
  auto names = world->client.GetDatabase(world->database).ListCollectionNames();
  for (const std::string& name : *names) {
    if (name.starts_with("perf_2")) {
      count += *world->store.Count(name, Doc());
    }
  }
  return count;
}

inline bson::Document FileOf(World* world) {
  auto found = world->store.FindOne("import_files", Doc());
  return found.ok() && *found ? **found : bson::Document();
}

inline int64_t FileCount(World* world, std::string_view counter) {
  const bson::Document file = FileOf(world);
  return IntegerAt(file, counter);
}

inline std::string FileState(World* world) {
  const bson::Document file = FileOf(world);
  return std::string(TextAt(file, "state"));
}

inline void ExpectSoundPerf(World* world) { ExpectNothingWrong(PerfOf(world).CheckInvariants()); }

}  // namespace quire::patterns
