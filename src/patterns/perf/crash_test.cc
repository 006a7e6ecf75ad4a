// SPDX-License-Identifier: Apache-2.0
//
// Performance monitoring under crashes: every operation at every point, and random histories.
#include <set>

#include "patterns/testing/perf.h"
#include "patterns/testing/random_crash.h"

namespace quire::patterns {
namespace {

using bson::Date;
using bson::Document;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

Perf PerfOf(World* world, const Seams& seams) {
  return Perf(world->client, world->database,
              {.settle = milliseconds(0),
               .batch_lines = 3,
               .max_rejected = 0.5,
               .worker = "op",
               .seams = seams});
}

// Two samples of one day and one of another.
std::vector<PerfSample> ThreeSamples(World* world) {
  const int64_t day = BucketStart(world->clock.Now(), Level::kDay).millis - 5 * kDay;
  return {
      {"host0", Date{day}, "p0", 1}, {"h", Date{day + 1}, "p", 2}, {"h", Date{day + kDay}, "p", 3}};
}

// Every day counts what it holds, and so do its sums.
void ExpectSummed(World* world) {
  auto days = world->store.Find("perf_catalog", Doc());
  int64_t summed = 0;
  for (const Document& day : *days) {
    const std::string name(TextAt(day, "_id"));
    EXPECT_EQ(IntegerAt(day, "count"), *world->store.Count("perf_" + name, Doc())) << name;
    summed += IntegerAt(day, "count");
  }
  auto sums = world->store.Find("perf_daily", Doc());
  int64_t counted = 0;
  for (const Document& sum : *sums) {
    counted += IntegerAt(sum, "count");
  }
  EXPECT_GE(counted, summed);  // sums outlive their days
  EXPECT_TRUE(summed == 0 || counted == summed);
}

class PerfCrashTest : public BothPlaces {
 protected:
  Folder folder_;
};

TEST_P(PerfCrashTest, EveryOperationAtEveryPoint) {
  using Operation = std::function<Status(World*, const Perf&)>;
  struct {
    const char* name;
    Operation run;
    int64_t samples;  // in the end
    bool keyed = false;
    std::function<void(World*)> before = [](World*) {};
  } const kOperations[] = {
      {"import",
       [&](World*, const Perf& perf) { return perf.ScanFolder(folder_.path(), ".csv").status(); },
       7},
      {"insert",
       [&](World* world, const Perf& perf) {
         return perf.InsertMany(ThreeSamples(world), {}, "k").status();
       },
       10, true},
      {"rollup", [&](World*, const Perf& perf) { return perf.Rollup().status(); }, 7, false,
       [&](World* world) { EXPECT_TRUE(PerfOf(world).ScanFolder(folder_.path(), ".csv").ok()); }},
      {"retention", [&](World*, const Perf& perf) { return perf.DropExpired().status(); }, 0, false,
       [&](World* world) {
         EXPECT_TRUE(PerfOf(world).ScanFolder(folder_.path(), ".csv").ok());
         world->clock.Advance(hours(24 * 200));
       }},
  };
  for (const auto& operation : kOperations) {
    SCOPED_TRACE(operation.name);
    CrashCase test;
    test.setup = [&](World* world) {
      ASSERT_TRUE(PerfOf(world).CreateIndexes().ok());
      folder_.Clear();
      folder_.Write("a.csv", CsvLines(world, 7, 0, 360) + "junk,\n");  // two days, three batches
      operation.before(world);
    };
    test.operation = [&](World* world, const Seams& seams) {
      return operation.run(world, PerfOf(world, seams));
    };
    if (operation.keyed) {
      test.repeated = ExpectOk;
    }
    test.settle = [&](World* world) {
      world->clock.Advance(minutes(10));
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(PerfOf(world).ScanFolder(folder_.path(), ".csv").ok());
        EXPECT_TRUE(PerfOf(world).Rollup().ok());
        EXPECT_TRUE(PerfOf(world).DropExpired().ok());
        world->clock.Advance(minutes(2));
      }
    };
    test.always = ExpectSoundPerf;
    test.settled = [&](World* world) {
      if (!operation.keyed) {
        EXPECT_EQ(Samples(world), operation.samples);
      }
      ExpectSummed(world);
      EXPECT_EQ(*world->store.Count("perf_catalog", Doc()) > 0, operation.samples > 0);
      const Document file = FileOf(world);
      EXPECT_EQ(IntegerAt(file, "lines"), 8);
      EXPECT_EQ(IntegerAt(file, "rejected"), 1);
      EXPECT_FALSE(folder_.Has("a.csv"));
      EXPECT_TRUE(folder_.Has("processed/a.csv") || folder_.Has("failed/a.csv"));
      if (operation.samples == 7) {
        auto months = PerfOf(world).Monthly("host0", "p0", Date{0}, world->clock.Now());
        int64_t count = 0;
        for (const PerfSum& month : *months) {
          count += month.count;
        }
        EXPECT_EQ(count, 2);  // lines 0 and 6
      }
    };
    test.done = [&](World* world) { EXPECT_EQ(Samples(world), operation.samples); };
    EXPECT_GE(RunCrashCase(GetParam(), test), 10);
  }
}

QUIRE_IN_BOTH_PLACES(PerfCrashTest);

// Every line of every file, and every sample inserted with a key, is stored once.
class RandomPerf : public RandomWorkload {
 public:
  void Setup(World* world) override {
    EXPECT_TRUE(PerfOf(world).CreateIndexes().ok());
    day_ = BucketStart(world->clock.Now(), Level::kDay).millis - 3 * kDay;
  }

  Status Step(World* world, const Seams& seams, Chance* chance) override {
    const Perf perf = PerfOf(world, seams);
    const int action = chance->Below(6);
    chance->Note("action " + std::to_string(action));
    switch (action) {
      case 0:
        AddFile(chance);
        return Status::Ok();
      case 1:
      case 2:
        return perf.ScanFolder(folder_.path(), ".csv").status();
      case 3: {
        // A key stands for one sample.
        const int key = chance->Below(6);
        keys_.insert(key);
        Status stored = perf.Insert({"k" + std::to_string(key), Date{day_ + key * 1000}, "p", 1},
                                    {}, "k" + std::to_string(key))
                            .status();
        if (stored.ok()) {
          stored_.insert(key);
        }
        return stored;
      }
      case 4:
        return perf.Rollup().status();
      default:
        return perf.DropExpired().status();
    }
  }

  void Settle(World* world) override {
    world->clock.Advance(minutes(10));
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(PerfOf(world).ScanFolder(folder_.path(), ".csv").ok());
      Status summed = PerfOf(world).Rollup().status();
      EXPECT_TRUE(summed.ok()) << summed.ToString();
      world->clock.Advance(minutes(2));
    }
  }
  void ExpectAlways(World* world) override {
    ExpectSoundPerf(world);
    const int64_t samples = Samples(world);
    EXPECT_LE(samples, lines_ + static_cast<int64_t>(keys_.size()));
    EXPECT_GE(samples, static_cast<int64_t>(stored_.size()));
  }
  void ExpectSettled(World* world) override {
    const int64_t samples = Samples(world);
    EXPECT_GE(samples, lines_ + static_cast<int64_t>(stored_.size()));
    EXPECT_LE(samples, lines_ + static_cast<int64_t>(keys_.size()));
    EXPECT_EQ(*world->store.Count("import_files", Doc("state", "done")), files_);
    ExpectSummed(world);
  }

 private:
  void AddFile(Chance* chance) {
    std::string text;
    const int lines = 1 + chance->Below(8);
    for (int i = 0; i < lines; ++i) {
      text += "id,10.0.0.1,host,p," + std::to_string(day_ + (lines_ + i) * 3'600'000) + ",1\n";
    }
    lines_ += lines;
    folder_.Write("f" + std::to_string(files_++) + ".csv", text);
  }

  Folder folder_;
  int64_t day_ = 0;
  int64_t lines_ = 0;
  int64_t files_ = 0;
  std::set<int> keys_;
  std::set<int> stored_;
};

const RandomSystem kRandom("Perf", [](Chance*) { return std::make_unique<RandomPerf>(); });

}  // namespace
}  // namespace quire::patterns
