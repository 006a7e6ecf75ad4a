// SPDX-License-Identifier: Apache-2.0
#include "command/profiler.h"

#include <algorithm>
#include <random>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/access.h"
#include "command/diagnostic.h"
#include "engine/schema.h"
#include "engine/write.h"
#include "expr/match/node.h"
#include "request/fields.h"

namespace quire::command {
namespace {

constexpr int32_t kProfileBytes = 1 << 20;
constexpr size_t kMaxCommandBytes = size_t{64} << 10;
constexpr std::string_view kNumberTypes = "[long, int, decimal, double]";

std::string ProfileNamespace(std::string_view database) {
  return std::string(database) + ".system.profile";
}

std::string_view OpName(std::string_view command) {
  if (command == "find") return "query";
  if (command == "getMore") return "getmore";
  if (command == "insert" || command == "update") return command;
  if (command == "delete") return "remove";
  return "command";
}

bson::Document Describe(const request::Call& call, const Status& status,
                        std::chrono::microseconds took) {
  bson::Builder out;
  out.Append("op", OpName(call.command.name))
      .Append("ns",
              call.summary.ns.empty() ? std::string(call.database) + ".$cmd" : call.summary.ns);
  if (call.body.size() <= kMaxCommandBytes) {
    out.Append("command", call.body);
  } else {
    out.BeginDocument("command").Append("$truncated", call.command.name).End();
  }
  out.Append("keysExamined", static_cast<int64_t>(call.summary.keys_examined))
      .Append("docsExamined", static_cast<int64_t>(call.summary.docs_examined))
      .Append("numYield", 0);
  if (call.summary.returned >= 0) {
    out.Append("nreturned", call.summary.returned);
  }
  if (!status.ok()) {
    out.Append("ok", 0.0)
        .Append("errMsg", status.message())
        .Append("errName", status.code_name())
        .Append("errCode", status.code());
  }
  out.BeginDocument("locks").End().Append("protocol", "op_msg");
  out.Append("millis", static_cast<int32_t>(took.count() / 1000));
  if (!call.summary.plan.empty()) {
    out.Append("planSummary", call.summary.plan);
  }
  out.Append("ts", WallClock()).Append("client", call.client.remote());
  if (call.client.has_metadata) {
    bson::Value application = call.client.metadata["application"];
    if (application.is_document()) {
      out.Append("appName", application.AsDocument()["name"]);
    }
  }
  out.BeginArray("allUsers").End().Append("user", "");
  return out.Finish();
}

bool Sampled(double rate) {
  if (rate >= 1) {
    return true;
  }
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random) < rate;
}

struct ProfileRequest {
  int64_t level;
  int64_t slow_ms;
  double sample_rate;
  bson::Value filter;
};

Status ReadNumber(const bson::Element& e, std::optional<bson::Value>* out) {
  if (e.value().nullish()) {
    return Status::Ok();
  }
  if (!e.value().is_number()) {
    return request::WrongType("profile", e, kNumberTypes);
  }
  *out = e.value();
  return Status::Ok();
}

Status ReadProfile(bson::View body, ProfileRequest* out) {
  std::optional<bson::Value> level;
  std::optional<bson::Value> slow;
  std::optional<bson::Value> rate;
  bool first = true;
  for (const bson::Element& e : body) {
    if (std::exchange(first, false)) {
      RETURN_IF_ERROR(ReadNumber(e, &level));
    } else if (e.name() == "slowms") {
      RETURN_IF_ERROR(ReadNumber(e, &slow));
    } else if (e.name() == "sampleRate") {
      RETURN_IF_ERROR(ReadNumber(e, &rate));
    } else if (e.name() == "filter") {
      out->filter = e.value();
    } else if (!request::IsGenericField(e.name())) {
      return request::UnknownField("profile", e.name());
    }
  }
  if (!level) {
    return request::MissingField("profile", "profile");
  }
  out->level = bson::ClampedInt64(*level);
  if (slow) {
    out->slow_ms = bson::ClampedInt64(*slow);
  }
  if (rate) {
    out->sample_rate = bson::ToDouble(*rate);
    if (!(out->sample_rate >= 0 && out->sample_rate <= 1)) {
      return {kBadValue, "'sampleRate' must be between 0.0 and 1.0 inclusive"};
    }
  }
  bool unset = out->filter.is_string() && out->filter.AsString() == "unset";
  if (!out->filter.missing() && !unset && !out->filter.is_document()) {
    return {kBadValue, "Expected an object, or the string 'unset'."};
  }
  return Status::Ok();
}

const expr::Context& FilterContext() {
  static const expr::Context context;
  return context;
}

void AppendSettings(Invocation& i, const Profiler::Settings& settings) {
  i.reply()
      .Append("was", settings.level)
      .Append("slowms", static_cast<int32_t>(std::clamp<int64_t>(i.commands.slow_millis.load(),
                                                                 INT32_MIN, INT32_MAX)))
      .Append("sampleRate", i.commands.profiler().sample_rate());
  if (settings.filter != nullptr) {
    i.reply().BeginDocument("filter");
    settings.filter->root().Serialize(&i.reply());
    i.reply().End().Append(
        "note",
        "When a filter expression is set, slowms and sampleRate are not used for "
        "profiling and slow-query log lines.");
  }
}

Status RunProfile(Invocation& i) {
  Profiler& profiler = i.commands.profiler();
  ProfileRequest asked{0, i.commands.slow_millis.load(), profiler.sample_rate(), {}};
  RETURN_IF_ERROR(ReadProfile(i.body(), &asked));
  Profiler::Settings settings = profiler.Get(i.database());
  AppendSettings(i, settings);
  if (asked.level < 0 || asked.level > 2) {
    return Status::Ok();
  }
  if (asked.filter.is_document()) {
    expr::match::Allowed allowed;
    allowed.where = allowed.scripts = false;
    ASSIGN_OR_RETURN(settings.filter, expr::match::Filter::Parse(asked.filter.AsDocument(),
                                                                 &FilterContext(), allowed));
  } else if (asked.filter.is_string()) {
    settings.filter = nullptr;
  }
  settings.level = static_cast<int>(asked.level);
  if (settings.level > 0) {
    bson::Builder options;
    options.Append("capped", true).Append("size", kProfileBytes);
    bson::Document capped = options.Finish();
    Status created =
        engine::CreateCollection(i.operation, ProfileNamespace(i.database()), capped.view());
    if (!created.ok() && created.code() != kNamespaceExists) {
      return created;
    }
  }
  profiler.Set(i.database(), std::move(settings));
  i.commands.slow_millis = asked.slow_ms;
  profiler.SetSampleRate(asked.sample_rate);
  return Status::Ok();
}

}  // namespace

Profiler::Settings Profiler::Get(std::string_view database) {
  std::lock_guard lock(mutex_);
  auto at = databases_.find(database);
  return at == databases_.end() ? Settings{} : at->second;
}

void Profiler::Set(std::string_view database, Settings settings) {
  std::lock_guard lock(mutex_);
  databases_.insert_or_assign(std::string(database), std::move(settings));
  active_ = std::any_of(databases_.begin(), databases_.end(),
                        [](const auto& entry) { return entry.second.level > 0; });
}

void Profiler::Record(engine::Engine& engine, const request::Call& call, const Status& status,
                      std::chrono::microseconds took, int64_t slow_millis) {
  if (!active_.load(std::memory_order_relaxed) || (call.command.flags & request::kHandshake) != 0) {
    return;
  }
  Settings settings = Get(call.database);
  std::string ns = ProfileNamespace(call.database);
  if (settings.level == 0 || call.summary.ns == ns) {
    return;
  }
  bool slow = took >= std::chrono::milliseconds(slow_millis) && Sampled(sample_rate());
  if (settings.filter == nullptr && settings.level == 1 && !slow) {
    return;
  }
  bson::Document entry = Describe(call, status, took);
  if (settings.filter != nullptr) {
    auto matches = settings.filter->Matches(entry.view());
    if (!matches.ok() || !*matches) {
      return;
    }
  }
  OpContext op;
  engine::Operation operation{engine, op};
  request::InsertRequest insert;
  insert.documents.push_back(entry.view());
  auto written = engine::Insert(operation, ns, insert);
  if (!written.ok()) {
    log::Debug(1, "COMMAND", "Profiling failed", {{"error", written.status().message()}});
  }
}

std::span<const Row> ProfileRows() {
  static constexpr Row kRows[] = {
      {{"profile", "", 0, "which operations are kept in system.profile"},
       RunProfile,
       OnDatabase(Action::enableProfiler)},
  };
  return kRows;
}

}  // namespace quire::command
