// SPDX-License-Identifier: Apache-2.0
//
// The frame of a demo: loading, working from several threads, asking explain, checking invariants.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "demo/report.h"
#include "quire/patterns/page.h"
#include "quire/quire.h"

namespace quire::apps {

struct DemoSettings {
  int64_t size = 0;
  int64_t threads = 4;
  int64_t operations = 0;  // of all threads together, per design
  int64_t seconds = 0;     // above 0: work for so long instead
  bool quiet = false;      // no progress bar
};

// Numbers by chance that are the same in every run. One thread each.
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // In [0, n). REQUIRES: n > 0.
  int64_t Below(int64_t n) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(n)); }
  // The same, the low ones far more often.
  int64_t Skewed(int64_t n) { return Below(Below(n) + 1); }

 private:
  uint64_t state_;
};

// A thread of the work.
struct Worker {
  Chance chance;
  int64_t thread;
  int64_t operation = 0;  // its number within the thread
};

// A kind of operation of the work. An error of the system itself (NotFound, InsufficientFunds...)
// counts as refused.
struct Step {
  std::string name;
  int weight;  // how often among the others
  std::function<Status(Worker&)> run;
};

// "user000042".
std::string Numbered(std::string_view name, int64_t number);

// One design of a demo, in a database of its own.
class DesignRun {
 public:
  // `answers` are those of the first design to CheckAlike.
  DesignRun(const Client& client, std::string database, const DemoSettings& settings,
            DesignReport* report, std::map<std::string, std::string>* answers)
      : client_(client),
        database_(std::move(database)),
        settings_(settings),
        report_(report),
        answers_(answers) {}

  const Client& client() const { return client_; }
  const std::string& database() const { return database_; }
  int64_t size() const { return settings_.size; }
  int64_t threads() const { return settings_.threads; }

  // Calls `put` for 0 to count - 1, from all threads, with a progress bar. Error: the first one.
  Status Load(const std::string& what, int64_t count, const std::function<Status(int64_t)>& put);
  // The same for `count` things in batches: `put` gets the batch's number and size.
  Status LoadBatches(const std::string& what, int64_t count, int64_t batch,
                     const std::function<Status(int64_t, int64_t)>& put);
  // Runs a job of the system once, as an operation of its own. Error: the job's.
  Status Job(const std::string& name, const std::function<Status()>& body);
  // The design also keeps data in this database.
  void AddDatabase(const std::string& name) { more_databases_.push_back(name); }
  const std::vector<std::string>& more_databases() const { return more_databases_; }
  // The same operations by the same chances in every design; then some of each again, looked at by
  // the profiler. Databases it is to look at, too, are added before.
  Status Work(const std::vector<Step>& steps);
  // What a find examines, in the design's database when none is given. Error: explain's.
  Status Explain(const std::string& name, std::string_view collection, const bson::Document& filter,
                 const bson::Document& sort = {}, int64_t limit = 0,
                 const std::string& database = "");
  void Check(const std::string& what, bool holds, const std::string& detail = "");
  // Holds when there is no line.
  void Check(const std::string& what, const std::vector<std::string>& wrong);
  // What the system itself finds wrong. Error: of the looking.
  template <typename System>
  Status CheckInvariants(const System& system) {
    Result<std::vector<std::string>> wrong = system.CheckInvariants();
    if (wrong.ok()) {
      Check("CheckInvariants finds nothing wrong", *wrong);
    }
    return wrong.status();
  }
  // Holds when the first design gave the same answer. Nothing is compared when the work is for a
  // time: the designs did not do as much.
  void CheckAlike(const std::string& what, const std::string& answer);
  // The sum of a field (an expression: "$balance") over a collection.
  Result<int64_t> Sum(std::string_view collection, std::string_view expression) const;
  // Sizes of data and indexes.
  Status Measure();

 private:
  std::vector<std::string> Databases() const;
  Status SetProfiler(int32_t level) const;
  Status Examine(const Step& step, int64_t number, StepReport* report) const;

  Client client_;
  std::string database_;
  const DemoSettings& settings_;
  DesignReport* report_;
  std::map<std::string, std::string>* answers_;
  std::vector<std::string> more_databases_;
};

class DemoRun {
 public:
  DemoRun(const Client& client, std::string prefix, const DemoSettings& settings,
          DemoReport* report)
      : client_(client), prefix_(std::move(prefix)), settings_(settings), report_(report) {}

  const DemoSettings& settings() const { return settings_; }
  // Runs `body` for a design in an empty database.
  Status Design(const std::string& name, const std::function<Status(DesignRun*)>& body);
  // That for each row of a table of designs, which have names.
  template <typename Rows, typename Body>
  Status Designs(const Rows& rows, const Body& body) {
    for (const auto& row : rows) {
      Status status = Design(row.name, [&](DesignRun* design) { return body(design, row); });
      if (!status.ok()) {
        return status;
      }
    }
    return Status::Ok();
  }
  // Removes the databases of the designs.
  Status Drop();

 private:
  Client client_;
  std::string prefix_;
  const DemoSettings& settings_;
  DemoReport* report_;
  std::vector<std::string> databases_;
  std::map<std::string, std::string> answers_;  // of the first design
};

// How many items a list has that `read` gives in pages: of one page it returns how many, and sets
// where the next begins.
Result<int64_t> CountPages(
    const std::function<Result<size_t>(const patterns::PageRequest&, std::string* next)>& read);

// A row of the table of demos.
struct Demo {
  std::string_view name;
  std::string_view purpose;  // in a line
  int64_t size;              // by default
  std::string_view size_of;  // what --size counts
  Status (*run)(DemoRun* run);
};

std::vector<Demo> AllDemos();

}  // namespace quire::apps
