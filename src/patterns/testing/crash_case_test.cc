// SPDX-License-Identifier: Apache-2.0
//
// The standard crash test, which the systems' tests run on their operations.
#include "patterns/testing/world.h"

namespace quire::patterns {

namespace {

// The dead write nothing any more, whatever they were about to do.
class DeadAfter : public FaultHook {
 public:
  Fault BeforeWrite() override { return dead ? Fault::kFailBefore : Fault::kNone; }
  bool dead = false;
};

// The points and the number of writes of a run without faults.
struct Course {
  std::vector<std::string> points;
  int writes = 0;
};

class CaseRuns {
 public:
  CaseRuns(Place place, const CrashCase& test) : world_(place), test_(test) {
    if (test_.once) {
      test_.once(&world_);
      start_ = world_.Take();
    }
  }

  Course Record() {
    TestCrash crash;
    TestFaults faults;
    Begin();
    (void)test_.operation(&world_, world_.seams(&crash, &faults));
    Settle();
    return {crash.seen, faults.writes};
  }

  // A point that is passed several times is a case each time: `number` is its place in the course.
  void RunAtPoint(const Course& course, int number, bool late) {
    SCOPED_TRACE((late ? "late after " : "crash after ") +
                 course.points[static_cast<size_t>(number) - 1] + ", point " +
                 std::to_string(number));
    Begin();
    TestCrash crash;
    DeadAfter process;
    crash.number = number;
    crash.action = [&] {
      if (late) {
        world_.ExpireTransactions();
        Repeat();
        Settle();
      }
      process.dead = !late;
      return late;
    };
    Status status = test_.operation(&world_, world_.seams(&crash, &process));
    EXPECT_TRUE(crash.fired);
    EXPECT_TRUE(late || Is(status, Error::kCrashed)) << status.ToString();
    End(status);
  }

  void RunWithFault(int write, FaultHook::Fault fault) {
    SCOPED_TRACE("write " + std::to_string(write) + " fault " +
                 std::to_string(static_cast<int>(fault)));
    Begin();
    TestFaults faults;
    faults.at = write;
    faults.fault = fault;
    if (fault == FaultHook::Fault::kNone) {  // only late
      faults.before = [&] {
        world_.ExpireTransactions();
        Settle();
      };
    }
    End(test_.operation(&world_, world_.seams(nullptr, &faults)));
  }

 private:
  // The world as a run finds it.
  void Begin() {
    if (test_.once) {
      world_.Restore(start_);
    } else {
      world_.Clear();
    }
    if (test_.setup) {
      test_.setup(&world_);
    }
    repeated_ = false;
  }

  void Repeat() {
    if (test_.repeated) {
      test_.repeated(test_.operation(&world_, world_.seams()));
      test_.always(&world_);
      repeated_ = true;
    }
  }

  void Settle() {
    test_.settle(&world_);
    test_.always(&world_);
    test_.settled(&world_);
    if (repeated_ && test_.done) {
      test_.done(&world_);
    }
  }

  void End(const Status& status) {
    test_.always(&world_);
    if (!status.ok()) {
      Repeat();
    }
    Settle();
  }

  World world_;
  const CrashCase& test_;
  World::Snapshot start_;
  bool repeated_ = false;  // in this run
};

bool Same(const std::vector<bson::Document>& a, const std::vector<bson::Document>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const bson::Document& x, const bson::Document& y) { return x.bytes() == y.bytes(); });
}

}  // namespace

void World::ExpireTransactions() {
  const bson::Document kill = Doc("killAllSessions", List());
  Status killed = client.GetDatabase("admin").RunCommand(kill).status();
  EXPECT_TRUE(killed.ok()) << killed.ToString();
}

World::Snapshot World::Take() {
  Snapshot snapshot;
  snapshot.now = clock.Now();
  auto names = client.GetDatabase(database).ListCollectionNames();
  EXPECT_TRUE(names.ok()) << names.status().ToString();
  for (const std::string& name : *names) {
    snapshot.documents[name] = *store.Find(name, bson::Document());
  }
  return snapshot;
}

// Most collections are as they were after most runs.
void World::Restore(const Snapshot& snapshot) {
  std::map<std::string, std::vector<bson::Document>> now = Take().documents;
  for (const auto& [name, documents] : snapshot.documents) {
    now.try_emplace(name);
  }
  for (const auto& [name, documents] : now) {
    auto found = snapshot.documents.find(name);
    const std::vector<bson::Document> before =
        found == snapshot.documents.end() ? std::vector<bson::Document>() : found->second;
    if (Same(documents, before)) {
      continue;
    }
    EXPECT_TRUE(store.DeleteMany(name, bson::Document()).ok());
    if (!before.empty()) {
      EXPECT_TRUE(client.GetDatabase(database).GetCollection(name).InsertMany(before).ok());
    }
  }
  clock.Set(snapshot.now);
}

int RunCrashCase(Place place, const CrashCase& test) {
  CaseRuns runs(place, test);
  const Course course = runs.Record();
  int count = 1;
  for (int number = 1; number <= static_cast<int>(course.points.size()); ++number) {
    for (bool late : {false, true}) {
      runs.RunAtPoint(course, number, late);
      ++count;
    }
  }
  for (int write = 1; write <= course.writes; ++write) {
    for (auto fault :
         {FaultHook::Fault::kNone, FaultHook::Fault::kFailBefore, FaultHook::Fault::kLoseAnswer}) {
      runs.RunWithFault(write, fault);
      ++count;
    }
  }
  return count;
}

Explained Explain(const Store& store, const bson::Document& find) {
  auto reply = store.Run(Doc("explain", find, "verbosity", "executionStats"));
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();
  if (!reply.ok()) {
    return {};
  }
  Explained result;
  result.plan = bson::ToJson(At(*reply, "queryPlanner.winningPlan"));
  result.keys = IntegerAt(*reply, "executionStats.totalKeysExamined");
  result.documents = IntegerAt(*reply, "executionStats.totalDocsExamined");
  result.returned = IntegerAt(*reply, "executionStats.nReturned");
  return result;
}

}  // namespace quire::patterns
