// SPDX-License-Identifier: Apache-2.0
//
// The standard crash test, which the systems' tests run on their operations.
#include "patterns/test_world.h"

namespace quire::patterns {

namespace {

void Settle(const CrashCase& test, World* world) {
  test.settle(world);
  test.always(world);
  test.settled(world);
}

// The points and the number of writes of a run without faults.
struct Course {
  std::vector<std::string> points;
  int writes = 0;
};

// The world as a run finds it.
void Begin(World* world, const CrashCase& test, const World::Snapshot& start) {
  if (test.once) {
    world->Restore(start);
  } else {
    world->Clear();
  }
  if (test.setup) {
    test.setup(world);
  }
}

void Repeat(World* world, const CrashCase& test) {
  if (test.repeated) {
    test.repeated(test.operation(world, world->seams()));
    test.always(world);
  }
}

Course Record(World* world, const CrashCase& test, const World::Snapshot& start) {
  TestCrash crash;
  TestFaults faults;
  Begin(world, test, start);
  (void)test.operation(world, world->seams(&crash, &faults));
  Settle(test, world);
  return {crash.seen, faults.writes};
}

// The dead write nothing any more, whatever they were about to do.
class DeadAfter : public FaultHook {
 public:
  Fault BeforeWrite() override { return dead ? Fault::kFailBefore : Fault::kNone; }
  bool dead = false;
};

// A point that is passed several times is a case each time: `number` is its place in the course.
void RunAtPoint(World* world, const CrashCase& test, const World::Snapshot& start,
                const Course& course, int number, bool late) {
  SCOPED_TRACE((late ? "late after " : "crash after ") +
               course.points[static_cast<size_t>(number) - 1] + ", point " +
               std::to_string(number));
  Begin(world, test, start);
  TestCrash crash;
  DeadAfter process;
  crash.number = number;
  crash.action = [&] {
    if (late) {
      world->ExpireTransactions();
      Repeat(world, test);
      Settle(test, world);
    }
    process.dead = !late;
    return late;
  };
  Status status = test.operation(world, world->seams(&crash, &process));
  EXPECT_TRUE(crash.fired);
  EXPECT_TRUE(late || Is(status, Error::kCrashed)) << status.ToString();
  test.always(world);
  if (!status.ok()) {
    Repeat(world, test);
  }
  Settle(test, world);
}

void RunWithFault(World* world, const CrashCase& test, const World::Snapshot& start, int write,
                  FaultHook::Fault fault) {
  SCOPED_TRACE("write " + std::to_string(write) + " fault " +
               std::to_string(static_cast<int>(fault)));
  Begin(world, test, start);
  TestFaults faults;
  faults.at = write;
  faults.fault = fault;
  if (fault == FaultHook::Fault::kNone) {  // only late
    faults.before = [&] {
      world->ExpireTransactions();
      Settle(test, world);
    };
  }
  Status status = test.operation(world, world->seams(nullptr, &faults));
  test.always(world);
  if (!status.ok()) {
    Repeat(world, test);
  }
  Settle(test, world);
}

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
  World world(place);
  World::Snapshot start;
  if (test.once) {
    test.once(&world);
    start = world.Take();
  }
  const Course course = Record(&world, test, start);
  int runs = 1;
  for (int number = 1; number <= static_cast<int>(course.points.size()); ++number) {
    RunAtPoint(&world, test, start, course, number, false);
    RunAtPoint(&world, test, start, course, number, true);
    runs += 2;
  }
  for (int write = 1; write <= course.writes; ++write) {
    for (auto fault :
         {FaultHook::Fault::kNone, FaultHook::Fault::kFailBefore, FaultHook::Fault::kLoseAnswer}) {
      RunWithFault(&world, test, start, write, fault);
      ++runs;
    }
  }
  return runs;
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
