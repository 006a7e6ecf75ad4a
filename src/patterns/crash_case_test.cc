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

Course Record(World* world, const CrashCase& test) {
  TestCrash crash;
  TestFaults faults;
  test.setup(world);
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
void RunAtPoint(World* world, const CrashCase& test, const Course& course, int number, bool late) {
  SCOPED_TRACE((late ? "late after " : "crash after ") +
               course.points[static_cast<size_t>(number) - 1] + ", point " +
               std::to_string(number));
  world->Clear();
  TestCrash crash;
  DeadAfter process;
  crash.number = number;
  crash.action = [&] {
    test.always(world);
    if (late) {
      Settle(test, world);
    }
    process.dead = !late;
    return late;
  };
  test.setup(world);
  Status status = test.operation(world, world->seams(&crash, &process));
  EXPECT_TRUE(crash.fired);
  EXPECT_TRUE(late || Is(status, Error::kCrashed)) << status.ToString();
  test.always(world);
  Settle(test, world);
}

void RunWithFault(World* world, const CrashCase& test, int write, FaultHook::Fault fault) {
  SCOPED_TRACE("write " + std::to_string(write) + " fault " +
               std::to_string(static_cast<int>(fault)));
  world->Clear();
  TestFaults faults;
  faults.at = write;
  faults.fault = fault;
  if (fault == FaultHook::Fault::kNone) {  // only late
    faults.before = [&] { Settle(test, world); };
  }
  test.setup(world);
  (void)test.operation(world, world->seams(nullptr, &faults));
  test.always(world);
  Settle(test, world);
}

}  // namespace

int RunCrashCase(Place place, const CrashCase& test) {
  World world(place);
  const Course course = Record(&world, test);
  int runs = 1;
  for (int number = 1; number <= static_cast<int>(course.points.size()); ++number) {
    RunAtPoint(&world, test, course, number, false);
    RunAtPoint(&world, test, course, number, true);
    runs += 2;
  }
  for (int write = 1; write <= course.writes; ++write) {
    for (auto fault :
         {FaultHook::Fault::kNone, FaultHook::Fault::kFailBefore, FaultHook::Fault::kLoseAnswer}) {
      RunWithFault(&world, test, write, fault);
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
