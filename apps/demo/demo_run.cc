// SPDX-License-Identifier: Apache-2.0
#include "demo/demo_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/try.h"
#include "patterns/doc.h"
#include "quire/doc.h"
#include "quire/patterns/error.h"
#include "tool/progress.h"

namespace quire::apps {
namespace {

using SteadyClock = std::chrono::steady_clock;
using patterns::IntegerAt;

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// One of the system's own: the call was refused, or others were at it and nothing was done.
bool IsAnswer(const Status& status) {
  return patterns::IsFinal(status) || patterns::Is(status, patterns::Error::kContention) ||
         patterns::Is(status, patterns::Error::kTreeBusy) ||
         patterns::Is(status, patterns::Error::kBusy);
}

// What one thread saw of one step.
struct Samples {
  std::vector<float> ms;
  int64_t refused = 0;
  int64_t errors = 0;
  Status first_error;

  void Take(const Status& status, double milliseconds) {
    ms.push_back(static_cast<float>(milliseconds));
    if (status.ok()) {
      return;
    }
    if (IsAnswer(status)) {
      ++refused;
    } else {
      ++errors;
      first_error = first_error.ok() ? status : first_error;
    }
  }
};

double Percentile(std::vector<float>* values, double share) {
  if (values->empty()) {
    return 0;
  }
  auto at = values->begin() + static_cast<int64_t>(share * static_cast<double>(values->size() - 1));
  std::nth_element(values->begin(), at, values->end());
  return *at;
}

const Step& Choose(const std::vector<Step>& steps, Chance* chance) {
  const int sum = std::accumulate(steps.begin(), steps.end(), 0, [](int so_far, const Step& step) {
    return so_far + step.weight;
  });
  int64_t at = chance->Below(sum);
  for (const Step& step : steps) {
    at -= step.weight;
    if (at < 0) {
      return step;
    }
  }
  return steps.back();
}

template <typename Body>
void OnThreads(int64_t count, const Body& body) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i) {
    threads.emplace_back(body, i);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

StepReport Merged(const std::string& name, size_t step, std::vector<std::vector<Samples>>* samples,
                  std::string* first_error) {
  StepReport report;
  report.name = name;
  std::vector<float> all;
  for (std::vector<Samples>& of_thread : *samples) {
    Samples& part = of_thread[step];
    all.insert(all.end(), part.ms.begin(), part.ms.end());
    report.refused += part.refused;
    report.errors += part.errors;
    if (first_error->empty() && !part.first_error.ok()) {
      *first_error = name + ": " + part.first_error.ToString();
    }
  }
  report.operations = static_cast<int64_t>(all.size());
  report.p50_ms = Percentile(&all, 0.5);
  report.p99_ms = Percentile(&all, 0.99);
  return report;
}

}  // namespace

// SplitMix64.
uint64_t Chance::Next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::string Numbered(std::string_view name, int64_t number) {
  std::string digits = std::to_string(number);
  constexpr size_t kDigits = 6;
  return std::string(name) + std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits;
}

Status DesignRun::Load(const std::string& what, int64_t count,
                       const std::function<Status(int64_t)>& put) {
  Progress progress(report_->name + ", " + what, count, settings_.quiet);
  const auto start = SteadyClock::now();
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  Status failed;
  OnThreads(settings_.threads, [&](int64_t) {
    int64_t i;
    while ((i = next++) < count) {
      if (Status status = put(i); !status.ok()) {
        std::lock_guard lock(mutex);
        failed = failed.ok() ? status.WithPrefix("loading " + what + ": ") : failed;
        next = count;
      }
      progress.Show(i, i);
    }
  });
  report_->loads.push_back({what, count, SecondsSince(start)});
  return failed;
}

Status DesignRun::LoadBatches(const std::string& what, int64_t count, int64_t batch,
                              const std::function<Status(int64_t, int64_t)>& put) {
  Status status = Load(what, (count + batch - 1) / batch,
                       [&](int64_t i) { return put(i, std::min(batch, count - i * batch)); });
  report_->loads.back().count = count;
  return status;
}

Status DesignRun::Job(const std::string& name, const std::function<Status()>& body) {
  const auto start = SteadyClock::now();
  Status status = body();
  std::vector<std::vector<Samples>> samples(1, std::vector<Samples>(1));
  samples[0][0].Take(status, SecondsSince(start) * 1000);
  report_->steps.push_back(Merged(name, 0, &samples, &report_->first_error));
  return status;
}

Status DesignRun::Work(const std::vector<Step>& steps) {
  const int64_t per_thread = settings_.operations / settings_.threads + 1;
  std::vector<std::vector<Samples>> samples(static_cast<size_t>(settings_.threads));
  const int64_t total = settings_.seconds > 0 ? settings_.seconds * 1000 : settings_.operations;
  Progress progress(report_->name + ", work", total, settings_.quiet);
  std::atomic<int64_t> done{0};
  const auto start = SteadyClock::now();
  OnThreads(settings_.threads, [&](int64_t thread) {
    Worker worker{Chance(0), thread};
    std::vector<Samples>& mine = samples[static_cast<size_t>(thread)];
    mine.resize(steps.size());
    while (settings_.seconds > 0 ? SecondsSince(start) < static_cast<double>(settings_.seconds)
                                 : worker.operation < per_thread) {
      // Whatever the operation before drew: the designs do the same.
      worker.chance = Chance(static_cast<uint64_t>(worker.operation * settings_.threads + thread));
      worker.chance.Next();
      const Step& step = Choose(steps, &worker.chance);
      const auto began = SteadyClock::now();
      Status status = step.run(worker);
      mine[static_cast<size_t>(&step - steps.data())].Take(status, SecondsSince(began) * 1000);
      ++worker.operation;
      const int64_t so_far = ++done;
      progress.Show(
          settings_.seconds > 0 ? static_cast<int64_t>(SecondsSince(start) * 1000) : so_far,
          so_far);
    }
  });
  report_->seconds += SecondsSince(start);
  for (size_t i = 0; i < steps.size(); ++i) {
    StepReport step = Merged(steps[i].name, i, &samples, &report_->first_error);
    // A user who may not, or a router which cannot, goes without.
    (void)Examine(steps[i], static_cast<int64_t>(i), &step);
    report_->steps.push_back(step);
  }
  return Status::Ok();
}

std::vector<std::string> DesignRun::Databases() const {
  std::vector<std::string> databases = more_databases_;
  databases.push_back(database_);
  return databases;
}

Status DesignRun::SetProfiler(int32_t level) const {
  for (const std::string& database : Databases()) {
    const bson::Document command = Doc("profile", level);
    RETURN_IF_ERROR(client_.GetDatabase(database).RunCommand(command).status());
  }
  return Status::Ok();
}

Status DesignRun::Examine(const Step& step, int64_t number, StepReport* report) const {
  constexpr int64_t kSamples = 20;
  constexpr int64_t kFirst = int64_t{1} << 30;  // of seeds and numbers that the work has not used
  RETURN_IF_ERROR(SetProfiler(2));
  Worker worker{Chance(0), settings_.threads};
  for (int64_t i = 0; i < kSamples; ++i) {
    worker.operation = kFirst + number * kSamples + i;
    worker.chance = Chance(static_cast<uint64_t>(worker.operation));
    worker.chance.Next();
    (void)step.run(worker);  // refusals are work, too
  }
  RETURN_IF_ERROR(SetProfiler(0));
  int64_t commands = 0;
  int64_t keys = 0;
  int64_t documents = 0;
  for (const std::string& database : Databases()) {
    Collection profile = client_.GetDatabase(database).GetCollection("system.profile");
    const bson::Document others = Doc("command.profile", Doc("$exists", false));
    ASSIGN_OR_RETURN(Cursor entries, profile.Find(others));
    while (entries.Next()) {
      ++commands;
      keys += IntegerAt(entries.current(), "keysExamined");
      documents += IntegerAt(entries.current(), "docsExamined");
    }
    RETURN_IF_ERROR(entries.status());
    RETURN_IF_ERROR(profile.Drop());
  }
  report->commands = static_cast<double>(commands) / kSamples;
  report->keys = static_cast<double>(keys) / kSamples;
  report->documents = static_cast<double>(documents) / kSamples;
  return Status::Ok();
}

Status DesignRun::Explain(const std::string& name, std::string_view collection,
                          const bson::Document& filter, const bson::Document& sort, int64_t limit,
                          const std::string& database) {
  bson::Builder find;
  find.Append("find", collection).Append("filter", filter);
  if (!sort.empty()) {
    find.Append("sort", sort);
  }
  if (limit > 0) {
    find.Append("limit", limit);
  }
  const bson::Document command = Doc("explain", find.Finish(), "verbosity", "executionStats");
  ASSIGN_OR_RETURN(
      bson::Document reply,
      client_.GetDatabase(database.empty() ? database_ : database).RunCommand(command));
  QueryReport query;
  query.name = name;
  query.returned = IntegerAt(reply, "executionStats.nReturned");
  query.keys = IntegerAt(reply, "executionStats.totalKeysExamined");
  query.documents = IntegerAt(reply, "executionStats.totalDocsExamined");
  query.collection_scan = bson::ToJson(reply.view()).find("\"COLLSCAN\"") != std::string::npos;
  report_->queries.push_back(query);
  return Status::Ok();
}

void DesignRun::Check(const std::string& what, bool holds, const std::string& detail) {
  report_->checks.push_back({what, holds, holds ? "" : detail});
}

void DesignRun::Check(const std::string& what, const std::vector<std::string>& wrong) {
  Check(what, wrong.empty(),
        wrong.empty() ? "" : std::to_string(wrong.size()) + ", the first: " + wrong[0]);
}

void DesignRun::CheckAlike(const std::string& what, const std::string& answer) {
  const auto [first, is_first] = answers_->emplace(what, answer);
  if (!is_first && settings_.seconds == 0) {
    Check(what, first->second == answer, "the first design answered otherwise");
  }
}

Result<int64_t> DesignRun::Sum(std::string_view collection, std::string_view expression) const {
  Pipeline pipeline;
  pipeline.push_back(
      Doc("$group", Doc("_id", bson::Value::Null(), "sum", Doc("$sum", expression))));
  ASSIGN_OR_RETURN(Cursor cursor,
                   client_.GetDatabase(database_).GetCollection(collection).Aggregate(pipeline));
  const int64_t sum = cursor.Next() ? IntegerAt(cursor.current(), "sum") : 0;
  RETURN_IF_ERROR(cursor.status());
  return sum;
}

Status DesignRun::Measure() {
  for (const std::string& database : Databases()) {
    const bson::Document command = Doc("dbStats", 1);
    ASSIGN_OR_RETURN(bson::Document stats, client_.GetDatabase(database).RunCommand(command));
    report_->data_bytes += IntegerAt(stats, "dataSize");
    report_->index_bytes += IntegerAt(stats, "indexSize");
  }
  return Status::Ok();
}

Status DemoRun::Design(const std::string& name, const std::function<Status(DesignRun*)>& body) {
  std::string suffix = name;
  std::replace(suffix.begin(), suffix.end(), ' ', '_');
  const std::string database = prefix_ + "_" + report_->name + "_" + suffix;
  databases_.push_back(database);
  RETURN_IF_ERROR(client_.GetDatabase(database).Drop());
  DesignReport report;
  report.name = name;
  DesignRun run(client_, database, settings_, &report, &answers_);
  Status status = body(&run);
  status = status.ok() ? run.Measure() : status;
  report_->designs.push_back(std::move(report));
  databases_.insert(databases_.end(), run.more_databases().begin(), run.more_databases().end());
  return status.WithPrefix(name + ": ");
}

Result<int64_t> CountPages(
    const std::function<Result<size_t>(const patterns::PageRequest&, std::string* next)>& read) {
  int64_t count = 0;
  patterns::PageRequest request{.limit = 1000};
  do {
    std::string next;
    ASSIGN_OR_RETURN(size_t items, read(request, &next));
    count += static_cast<int64_t>(items);
    request.after = next;
  } while (!request.after.empty());
  return count;
}

Status DemoRun::Drop() {
  for (const std::string& database : databases_) {
    RETURN_IF_ERROR(client_.GetDatabase(database).Drop());
  }
  return Status::Ok();
}

}  // namespace quire::apps
