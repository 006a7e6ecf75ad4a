// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/number.h"
#include "command/diagnostic.h"
#include "engine/schema/schema.h"
#include "expr/match/node.h"
#include "request/crud.h"
#include "request/fields.h"
#include "run/profiler.h"

namespace quire::command {
namespace {

constexpr int32_t kProfileBytes = 1 << 20;
constexpr std::string_view kNumberTypes = "[long, int, decimal, double]";

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

// A filter with what it was parsed with, which it reads as long as it lives.
struct FilterInContext {
  expr::Context context;
  std::unique_ptr<const expr::match::Filter> filter;
};

Result<std::shared_ptr<const expr::match::Filter>> ParseFilter(bson::View spec) {
  expr::match::Allowed allowed;
  allowed.where = allowed.scripts = false;
  auto parsed = std::make_shared<FilterInContext>();
  ASSIGN_OR_RETURN(parsed->filter, expr::match::Filter::Parse(spec, &parsed->context, allowed));
  const expr::match::Filter* filter = parsed->filter.get();
  return std::shared_ptr<const expr::match::Filter>(std::move(parsed), filter);
}

void AppendSettings(Invocation& i, const run::Profiler::Settings& settings) {
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

// Who may read what the profiler keeps may see how it is set.
Status StateProfile(Invocation& i, auth::Needs* needs) {
  ProfileRequest asked{0, i.commands.slow_millis.load(), i.commands.profiler().sample_rate(), {}};
  RETURN_IF_ERROR(ReadProfile(i.body(), &asked));
  const bool changes = asked.level != -1 || i.body().Has("slowms") || i.body().Has("sampleRate") ||
                       i.body().Has("filter");
  std::vector<std::vector<auth::Need>> ways = {
      {{Action::enableProfiler, auth::Database(i.database())}}};
  if (!changes) {
    ways.push_back({{Action::find, auth::Collection(i.database(), "system.profile")}});
  }
  needs->AddEither(std::move(ways));
  return Status::Ok();
}

Status RunProfile(Invocation& i) {
  run::Profiler& profiler = i.commands.profiler();
  ProfileRequest asked{0, i.commands.slow_millis.load(), profiler.sample_rate(), {}};
  RETURN_IF_ERROR(ReadProfile(i.body(), &asked));
  run::Profiler::Settings settings = profiler.Get(i.database());
  AppendSettings(i, settings);
  if (asked.level < 0 || asked.level > 2) {
    return Status::Ok();
  }
  if (asked.filter.is_document()) {
    ASSIGN_OR_RETURN(settings.filter, ParseFilter(asked.filter.AsDocument()));
  } else if (asked.filter.is_string()) {
    settings.filter = nullptr;
  }
  settings.level = static_cast<int>(asked.level);
  if (settings.level > 0) {
    ASSIGN_OR_RETURN(const std::string ns, request::Namespace(i.database(), "system.profile"));
    bson::Builder options;
    options.Append("capped", true).Append("size", kProfileBytes);
    bson::Document capped = options.Finish();
    Status created = engine::CreateCollection(i.operation, ns, capped.view());
    if (!created.ok() && created.code() != kNamespaceExists) {
      return created;
    }
    if (store::CollectionPtr kept = i.engine.catalog().Find(ns); kept == nullptr || !kept->capped) {
      return {kNamespaceExists, ns + " exists but isn't capped"};
    }
  }
  profiler.Set(i.database(), std::move(settings));
  i.commands.slow_millis = asked.slow_ms;
  profiler.SetSampleRate(asked.sample_rate);
  return Status::Ok();
}

}  // namespace

std::span<const Row> ProfileRows() {
  static constexpr Row kRows[] = {
      {{"profile", "", 0, "which operations are kept in system.profile"},
       RunProfile,
       Stated(StateProfile)},
  };
  return kRows;
}

}  // namespace quire::command
