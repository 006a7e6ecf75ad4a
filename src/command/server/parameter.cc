// SPDX-License-Identifier: Apache-2.0
//
// getParameter and setParameter: one row per server parameter.
#include <algorithm>
#include <mutex>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/memory_charge.h"
#include "base/try.h"
#include "base/version.h"
#include "bson/number.h"
#include "command/auth/auditor.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "js/script.h"
#include "pipeline/rewrite.h"
#include "request/fields.h"
#include "request/network_limits.h"
#include "store/definition_memory.h"

namespace quire::command {
namespace {

constexpr std::string_view kAuditSuccess = "auditAuthorizationSuccess";
constexpr std::string_view kTlsMode = "tlsMode";
constexpr std::string_view kRequireApiVersion = "requireApiVersion";

enum When : uint8_t { kNever = 0, kStartup = 1, kRuntime = 2, kAlways = 3 };

// A server parameter. `check` accepts or refuses a value, `set` takes an accepted one.
struct Parameter {
  std::string_view name;
  When when;
  void (*get)(Commands& commands, std::string_view name, bson::Builder* out);
  Status (*check)(std::string_view name, const bson::Value& value);
  void (*set)(Commands& commands, const bson::Value& value);
};

Status Refuse(std::string_view name, const std::string& why) {
  return {kBadValue, "Invalid value for parameter " + std::string(name) + ": " + why};
}

// A whole number of at least `Min` and at most `Max`; booleans count as 0 and 1.
template <int64_t Min, int64_t Max>
Status CheckInteger(std::string_view name, const bson::Value& value) {
  if (value.type() == bson::Type::kBool) {
    return Status::Ok();
  }
  if (!value.is_number() || bson::IsNan(value)) {
    return Refuse(name, "not a number");
  }
  int64_t number = bson::ClampedInt64(value);
  if (number < Min || number > Max) {
    return Refuse(name, std::to_string(number) + " is out of range");
  }
  return Status::Ok();
}

int64_t IntegerOf(const bson::Value& value) {
  return value.type() == bson::Type::kBool ? int64_t{value.AsBool()} : bson::ClampedInt64(value);
}

// Anything will do: what is not false, 0 or null counts as true.
Status CheckSwitch(std::string_view, const bson::Value&) { return Status::Ok(); }

// Values that cannot be changed into anything else.
template <bool Only>
Status CheckOnly(std::string_view name, const bson::Value& value) {
  return Truthy(value) == Only ? Status::Ok() : Refuse(name, "not supported by this server");
}

constexpr size_t kMaxDescriptor = 64;

Status CheckDescriptor(std::string_view name, const bson::Value& value) {
  if (!value.is_string()) {
    return {kTypeMismatch, std::string(name) + " must be a string"};
  }
  if (value.AsString().size() > kMaxDescriptor) {
    return {kOverflow, std::string(name) + " is limited to 64 bytes"};
  }
  return Status::Ok();
}

Status CheckText(std::string_view name, const bson::Value& value) {
  return value.is_string() ? Status::Ok()
                           : Status(kTypeMismatch, std::string(name) + " must be a string");
}

void SetNothing(Commands&, const bson::Value&) {}

constexpr std::string_view kVerbosityName = "logComponentVerbosity";

std::optional<size_t> FindComponent(std::string_view parent, std::string_view name) {
  auto all = log::Components();
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].parent == parent && all[i].name == name) {
      return i;
    }
  }
  return std::nullopt;
}

// Calls `visit(index, level)` for every verbosity in the document; an index of nothing is the
// default one's.
template <typename F>
Status VisitVerbosity(bson::View document, std::string_view parent, F visit) {
  for (const bson::Element& e : document) {
    std::optional<size_t> component;
    if (e.name() != "verbosity") {
      component = FindComponent(parent, e.name());
      if (!component) {
        return Refuse(kVerbosityName, "no component named " + std::string(e.name()));
      }
      if (e.type() == bson::Type::kDocument) {
        RETURN_IF_ERROR(VisitVerbosity(e.value().AsDocument(), e.name(), visit));
        continue;
      }
    } else if (!parent.empty()) {
      component = FindComponent("", parent);
    }
    auto level = e.value().is_number() ? bson::TruncatedInt64(e.value()) : std::nullopt;
    if (!level || *level < INT32_MIN || *level > INT32_MAX) {
      return Refuse(kVerbosityName, "a verbosity is a number");
    }
    visit(component, static_cast<int>(std::clamp<int64_t>(*level, -1, 5)));
  }
  return Status::Ok();
}

Status CheckVerbosity(std::string_view name, const bson::Value& value) {
  if (!value.is_document()) {
    return {kTypeMismatch, std::string(name) + " is not a document"};
  }
  return VisitVerbosity(value.AsDocument(), "", [](std::optional<size_t>, int) {});
}

void SetVerbosity(Commands&, const bson::Value& value) {
  Status checked = VisitVerbosity(value.AsDocument(), "", [](std::optional<size_t> at, int level) {
    if (at) {
      log::SetComponentVerbosity(*at, level);
    } else {
      log::SetVerbosity(std::max(level, 0));
    }
  });
  (void)checked;  // accepted by CheckVerbosity
}

void GetVerbosity(Commands&, std::string_view name, bson::Builder* out) {
  auto all = log::Components();
  out->BeginDocument(name).Append("verbosity", log::Verbosity());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i].parent.empty()) {
      continue;
    }
    out->BeginDocument(all[i].name).Append("verbosity", log::ComponentVerbosity(i));
    for (size_t j = 0; j < all.size(); ++j) {
      if (all[j].parent == all[i].name) {
        out->BeginDocument(all[j].name).Append("verbosity", log::ComponentVerbosity(j)).End();
      }
    }
    out->End();
  }
  out->End();
}

// The names of rewrites, separated by commas, as bits; nothing when one is unknown.
std::optional<uint64_t> RewriteBits(std::string_view names) {
  uint64_t bits = 0;
  while (!names.empty()) {
    std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto& all = pipeline::RewriteNames();
    auto at = std::find(all.begin(), all.end(), name);
    if (at == all.end()) {
      return std::nullopt;
    }
    bits |= uint64_t{1} << (at - all.begin());
  }
  return bits;
}

Status CheckRewritesOff(std::string_view name, const bson::Value& value) {
  if (!value.is_string()) {
    return {kTypeMismatch, std::string(name) + " must be a string"};
  }
  return RewriteBits(value.AsString()) ? Status::Ok() : Refuse(name, "no such rewrite");
}

void SetRewritesOff(Commands& commands, const bson::Value& value) {
  commands.engine().rewrites_off = RewriteBits(value.AsString()).value_or(0);
}

void GetRewritesOff(Commands& commands, std::string_view name, bson::Builder* out) {
  std::string names;
  uint64_t off = commands.engine().rewrites_off;
  for (size_t i = 0; i < pipeline::RewriteNames().size(); ++i) {
    if (((off >> i) & 1) != 0) {
      names += (names.empty() ? "" : ",") + std::string(pipeline::RewriteNames()[i]);
    }
  }
  out->Append(name, names);
}

using request::NetworkLimits;

template <std::atomic<int64_t> NetworkLimits::*Limit>
void GetLimit(Commands&, std::string_view name, bson::Builder* out) {
  out->Append(name, static_cast<int32_t>((request::Limits().*Limit).load()));
}

template <std::atomic<int64_t> NetworkLimits::*Limit>
void SetLimit(Commands&, const bson::Value& value) {
  request::Limits().*Limit = IntegerOf(value);
}

const Parameter kParameters[] = {
    {"KeysRotationIntervalSec", kStartup,
     [](Commands&, std::string_view n, bson::Builder* out) { out->Append(n, 7776000); },
     CheckInteger<7776000, 7776000>, SetNothing},
    {"ShardingTaskExecutorPoolReplicaSetMatching", kStartup,
     [](Commands&, std::string_view n, bson::Builder* out) { out->Append(n, "automatic"); },
     [](std::string_view n, const bson::Value& v) {
       return v.is_string() && v.AsString() == "automatic" ? Status::Ok()
                                                           : Refuse(n, "no such matching");
     },
     SetNothing},
    {"allowDiskUseByDefault", kStartup,
     [](Commands&, std::string_view n, bson::Builder* out) { out->Append(n, true); },
     CheckOnly<true>, SetNothing},
    {"authSchemaVersion", kNever,
     [](Commands&, std::string_view n, bson::Builder* out) { out->Append(n, 5); }, nullptr,
     nullptr},
    {"authenticationMechanisms", kStartup,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->BeginArray(n);
       for (std::string_view name : Mechanisms::kNames) {
         if (c.mechanisms.Enabled(name)) {
           out->Push(name);
         }
       }
       out->End();
     },
     [](std::string_view n, const bson::Value& v) {
       RETURN_IF_ERROR(CheckText(n, v));
       return Mechanisms::CheckList(v.AsString());
     },
     [](Commands& c, const bson::Value& v) { (void)c.mechanisms.Enable(v.AsString()); }},
    {"automationServiceDescriptor", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.automation_descriptor());
     },
     CheckDescriptor,
     [](Commands& c, const bson::Value& v) {
       c.SetAutomationDescriptor(std::string(v.AsString()));
     }},
    {"cursorTimeoutMillis", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.engine().cursor_timeout_millis.load());
     },
     CheckInteger<INT64_MIN, INT64_MAX>,
     [](Commands& c, const bson::Value& v) { c.engine().cursor_timeout_millis = IntegerOf(v); }},
    {"diagnosticDataCollectionEnabled", kAlways,
     [](Commands&, std::string_view n, bson::Builder* out) { out->Append(n, false); },
     CheckOnly<false>, SetNothing},
    {"acceptApiVersion2", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.fail_points().accepts_version_2());
     },
     CheckSwitch,
     [](Commands& c, const bson::Value& v) { c.fail_points().AcceptVersion2(Truthy(v)); }},
    {"enableLocalhostAuthBypass", kStartup,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.localhost_exception.load());
     },
     CheckSwitch, [](Commands& c, const bson::Value& v) { c.localhost_exception = Truthy(v); }},
    {"enableTestCommands", kStartup,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.fail_points().enabled());
     },
     CheckSwitch, [](Commands& c, const bson::Value& v) { c.fail_points().Enable(Truthy(v)); }},
    {"enforceUserClusterSeparation", kStartup,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.separate_members.load());
     },
     CheckSwitch, [](Commands& c, const bson::Value& v) { c.separate_members = Truthy(v); }},
    {"failedLoginDelayMaxMillis", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.login_guard().most_delay_millis.load()));
     },
     CheckInteger<0, 60'000>,
     [](Commands& c, const bson::Value& v) { c.login_guard().most_delay_millis = IntegerOf(v); }},
    {"featureCompatibilityVersion", kNever,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->BeginDocument(n).Append("version", c.cluster().version()).End();
     },
     nullptr, nullptr},
    {"internalPipelineRewritesOff", kAlways, GetRewritesOff, CheckRewritesOff, SetRewritesOff},
    {"internalPipelineStageMemoryBytes", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.engine().stage_memory_bytes.load());
     },
     CheckInteger<1, INT64_MAX>,
     [](Commands& c, const bson::Value& v) { c.engine().stage_memory_bytes = IntegerOf(v); }},
    {"internalQueryMaxOpenCursors", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.engine().cursors().most.load()));
     },
     CheckInteger<1, INT32_MAX>,
     [](Commands& c, const bson::Value& v) { c.engine().cursors().most = IntegerOf(v); }},
    {"internalQueryMaxOpenCursorsPerUser", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.engine().cursors().most_per_user.load()));
     },
     CheckInteger<1, INT32_MAX>,
     [](Commands& c, const bson::Value& v) { c.engine().cursors().most_per_user = IntegerOf(v); }},
    {"internalQueryMaxOperationMemoryBytes", kAlways,
     [](Commands&, std::string_view n, bson::Builder* out) {
       out->Append(n, OperationMemory().of_one.load());
     },
     CheckInteger<0, INT64_MAX>,
     [](Commands&, const bson::Value& v) { OperationMemory().of_one = IntegerOf(v); }},
    {"internalQueryMaxTotalMemoryBytes", kAlways,
     [](Commands&, std::string_view n, bson::Builder* out) {
       out->Append(n, OperationMemory().of_all.load());
     },
     CheckInteger<0, INT64_MAX>,
     [](Commands&, const bson::Value& v) { OperationMemory().of_all = IntegerOf(v); }},
    {"internalMaxDefinitionMemoryBytes", kAlways,
     [](Commands&, std::string_view n, bson::Builder* out) {
       out->Append(n, store::DefinitionMemory().most.load());
     },
     CheckInteger<0, INT64_MAX>,
     [](Commands&, const bson::Value& v) { store::DefinitionMemory().most = IntegerOf(v); }},
    {"jsHeapLimitMB", kAlways,
     [](Commands&, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(js::HeapLimit()));
     },
     CheckInteger<10, 4095>,
     [](Commands&, const bson::Value& v) { js::SetHeapLimit(IntegerOf(v)); }},
    {"localLogicalSessionTimeoutMinutes", kNever,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.engine().options().session_timeout.count()));
     },
     nullptr, nullptr},
    {kVerbosityName, kAlways, GetVerbosity, CheckVerbosity, SetVerbosity},
    {"logLevel", kAlways,
     [](Commands&, std::string_view n, bson::Builder* out) { out->Append(n, log::Verbosity()); },
     CheckInteger<0, 5>,
     [](Commands&, const bson::Value& v) { log::SetVerbosity(static_cast<int>(IntegerOf(v))); }},
    {"maxConnectionsPerAddress", kAlways, GetLimit<&NetworkLimits::connections_per_address>,
     CheckInteger<0, INT32_MAX>, SetLimit<&NetworkLimits::connections_per_address>},
    {"maxConnectionsPerUser", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.login_guard().connections_per_user.load()));
     },
     CheckInteger<0, INT32_MAX>,
     [](Commands& c, const bson::Value& v) {
       c.login_guard().connections_per_user = IntegerOf(v);
     }},
    {"maxSessions", kStartup,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.engine().sessions().most()));
     },
     CheckInteger<1, INT32_MAX>,
     [](Commands& c, const bson::Value& v) { c.engine().sessions().SetMost(IntegerOf(v)); }},
    {"messageStallTimeoutMillis", kAlways, GetLimit<&NetworkLimits::message_stall_millis>,
     CheckInteger<0, INT32_MAX>, SetLimit<&NetworkLimits::message_stall_millis>},
    {"preAuthIdleTimeoutMillis", kAlways, GetLimit<&NetworkLimits::stranger_idle_millis>,
     CheckInteger<0, INT32_MAX>, SetLimit<&NetworkLimits::stranger_idle_millis>},
    {"preAuthMaximumMessageSizeBytes", kAlways, GetLimit<&NetworkLimits::stranger_message_bytes>,
     CheckInteger<1024, 48'000'000>, SetLimit<&NetworkLimits::stranger_message_bytes>},
    {"preAuthTimeoutMillis", kAlways, GetLimit<&NetworkLimits::stranger_millis>,
     CheckInteger<0, INT32_MAX>, SetLimit<&NetworkLimits::stranger_millis>},
    {"replyStallTimeoutMillis", kAlways, GetLimit<&NetworkLimits::reply_stall_millis>,
     CheckInteger<0, INT32_MAX>, SetLimit<&NetworkLimits::reply_stall_millis>},
    {"opensslCipherConfig", kStartup,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.tls_parameters.ciphers);
     },
     CheckText, [](Commands& c, const bson::Value& v) { c.tls_parameters.ciphers = v.AsString(); }},
    {"opensslCipherSuiteConfig", kStartup,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.tls_parameters.cipher_suites);
     },
     CheckText,
     [](Commands& c, const bson::Value& v) { c.tls_parameters.cipher_suites = v.AsString(); }},
    {kAuditSuccess, kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       Auditor* auditor = c.info().auditor.get();
       out->Append(n, auditor != nullptr && auditor->authorization_success.load());
     },
     CheckSwitch,
     [](Commands& c, const bson::Value& v) {
       c.info().auditor->authorization_success = Truthy(v);
     }},
    {"internalMaxSessionsPerUser", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.engine().sessions().most_per_user.load()));
     },
     CheckInteger<1, INT32_MAX>,
     [](Commands& c, const bson::Value& v) { c.engine().sessions().most_per_user = IntegerOf(v); }},
    {"quiet", kAlways,
     [](Commands&, std::string_view n, bson::Builder* out) { out->Append(n, log::Quiet()); },
     CheckSwitch, [](Commands&, const bson::Value& v) { log::SetQuiet(Truthy(v)); }},
    {kRequireApiVersion, kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.require_api_version.load());
     },
     CheckSwitch, [](Commands& c, const bson::Value& v) { c.require_api_version = Truthy(v); }},
    {"minSnapshotHistoryWindowInSeconds", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.engine().snapshot_window_seconds.load()));
     },
     CheckInteger<0, INT32_MAX>,
     [](Commands& c, const bson::Value& v) { c.engine().snapshot_window_seconds = IntegerOf(v); }},
    {kTlsMode, kRuntime,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.info().tls_mode ? c.info().tls_mode() : std::string("disabled"));
     },
     CheckText, [](Commands& c, const bson::Value& v) { c.info().set_tls_mode(v.AsString()); }},
    {"tlsUseSystemCA", kStartup,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.tls_parameters.system_ca);
     },
     CheckSwitch,
     [](Commands& c, const bson::Value& v) { c.tls_parameters.system_ca = Truthy(v); }},
    {"transactionLifetimeLimitSeconds", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.engine().transaction_lifetime_seconds.load()));
     },
     CheckInteger<1, INT32_MAX>,
     [](Commands& c, const bson::Value& v) {
       c.engine().transaction_lifetime_seconds = IntegerOf(v);
     }},
    {"ttlMonitorEnabled", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, c.engine().ttl_enabled.load());
     },
     CheckSwitch, [](Commands& c, const bson::Value& v) { c.engine().ttl_enabled = Truthy(v); }},
    {"ttlMonitorSleepSecs", kAlways,
     [](Commands& c, std::string_view n, bson::Builder* out) {
       out->Append(n, static_cast<int32_t>(c.engine().ttl_sleep_millis.load() / 1000));
     },
     CheckInteger<1, INT32_MAX>,
     [](Commands& c, const bson::Value& v) { c.engine().ttl_sleep_millis = IntegerOf(v) * 1000; }},
};

const Parameter* Find(std::string_view name) {
  for (const Parameter& parameter : kParameters) {
    if (parameter.name == name) {
      return &parameter;
    }
  }
  return nullptr;
}

struct Wanted {
  bool all = false;
  bool details = false;
  std::string_view set_at;
};

Status ReadWanted(bson::View options, Wanted* wanted) {
  for (const bson::Element& e : options) {
    if (e.name() == "showDetails" || e.name() == "allParameters") {
      bool* target = e.name() == "showDetails" ? &wanted->details : &wanted->all;
      RETURN_IF_ERROR(request::ReadField("getParameter", e, target));
    } else if (e.name() == "setAt") {
      if (e.value().nullish()) {
        continue;
      }
      RETURN_IF_ERROR(request::ReadField("getParameter", e, &wanted->set_at));
      if (wanted->set_at != "startup" && wanted->set_at != "runtime") {
        return {kBadValue, "Enumeration value '" + std::string(wanted->set_at) +
                               "' for field 'getParameter.setAt' is not a valid value."};
      }
    } else {
      return request::UnknownField("getParameter", e.name());
    }
  }
  return Status::Ok();
}

void AppendParameter(Invocation& i, const Parameter& parameter, bool details) {
  if (!details) {
    parameter.get(i.commands, parameter.name, &i.reply());
    return;
  }
  i.reply().BeginDocument(parameter.name);
  parameter.get(i.commands, "value", &i.reply());
  i.reply()
      .Append("settableAtRuntime", (parameter.when & kRuntime) != 0)
      .Append("settableAtStartup", (parameter.when & kStartup) != 0)
      .End();
}

bool Selected(const Parameter& parameter, std::string_view set_at) {
  return set_at.empty() || (parameter.when & (set_at == "startup" ? kStartup : kRuntime)) != 0;
}

Status RunGetParameter(Invocation& i) {
  Wanted wanted;
  bson::Value first = i.body().front().value();
  if (first.is_document()) {
    RETURN_IF_ERROR(ReadWanted(first.AsDocument(), &wanted));
  } else if (first.is_string() && first.AsString() == "*") {
    wanted.all = true;
  }
  size_t found = 0;
  if (wanted.all) {
    for (const Parameter& parameter : kParameters) {
      if (Selected(parameter, wanted.set_at)) {
        AppendParameter(i, parameter, wanted.details);
        ++found;
      }
    }
  } else {
    bool skip = true;
    for (const bson::Element& e : i.body()) {
      const Parameter* parameter = skip ? nullptr : Find(e.name());
      skip = false;
      if (parameter != nullptr && Selected(*parameter, wanted.set_at)) {
        AppendParameter(i, *parameter, wanted.details);
        ++found;
      }
    }
  }
  if (found == 0) {
    return {kInvalidOptions, "no option found to get"};
  }
  return Status::Ok();
}

// A step towards taking connections with TLS only; there is no way back.
Status CheckTlsMode(Commands& commands, std::string_view wanted) {
  constexpr std::pair<std::string_view, std::string_view> kSteps[] = {{"allowTLS", "preferTLS"},
                                                                      {"preferTLS", "requireTLS"}};
  const std::string now = commands.info().tls_mode ? commands.info().tls_mode() : "disabled";
  for (const auto& [from, to] : kSteps) {
    if (from == now && to == wanted) {
      return Status::Ok();
    }
  }
  return {kBadValue, "Illegal state transition for tlsMode, attempt to change from " + now +
                         " to " + std::string(wanted)};
}

// Accepts or refuses one value; `when` is the moment it is set at.
Result<const Parameter*> CheckOne(Commands& commands, std::string_view name,
                                  const bson::Value& value, When when) {
  const Parameter* parameter = Find(name);
  if (parameter == nullptr) {
    return Status(kInvalidOptions, "attempted to set unrecognized parameter [" + std::string(name) +
                                       "], use help:true to see options ");
  }
  if ((parameter->when & when) == 0) {
    return Status(kIllegalOperation, "not allowed to change [" + std::string(name) + "] at " +
                                         (when == kStartup ? "startup" : "runtime"));
  }
  if (name == kAuditSuccess && commands.info().auditor == nullptr) {
    return Status(kInvalidOptions, std::string(name) + " is of no use: nothing is audited");
  }
  RETURN_IF_ERROR(parameter->check(name, value));
  if (name == kRequireApiVersion && Truthy(value) && commands.engine().replication != nullptr) {
    return Status(kIllegalOperation,
                  "requireApiVersion is not for members of replica sets, which "
                  "do not name a version to each other");
  }
  if (name == kTlsMode) {
    RETURN_IF_ERROR(CheckTlsMode(commands, value.AsString()));
  }
  return parameter;
}

Status RunSetParameter(Invocation& i) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  std::vector<std::pair<const Parameter*, bson::Value>> changes;
  bool skip = true;
  for (const bson::Element& e : i.body()) {
    if (skip || request::IsGenericField(e.name())) {
      skip = false;
      continue;
    }
    ASSIGN_OR_RETURN(const Parameter* parameter,
                     CheckOne(i.commands, e.name(), e.value(), kRuntime));
    changes.emplace_back(parameter, e.value());
  }
  if (changes.empty()) {
    return {kInvalidOptions, "no option found to set, use help:true to see options "};
  }
  changes.front().first->get(i.commands, "was", &i.reply());
  for (const auto& [parameter, value] : changes) {
    parameter->set(i.commands, value);
  }
  return Status::Ok();
}

// A value as typed on a command line.
bson::OwnedValue FromText(const std::string& text) {
  if (text == "true" || text == "false") {
    return bson::OwnedValue(bson::Value(text == "true"));
  }
  char* end = nullptr;
  int64_t number = strtoll(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0') {
    return bson::OwnedValue(bson::Value(number));
  }
  return bson::OwnedValue(bson::Value(std::string_view(text)));
}

}  // namespace

Status SetStartupParameters(Commands& commands, const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) {
    size_t equals = assignment.find('=');
    bson::OwnedValue value = FromText(assignment.substr(equals + 1));
    ASSIGN_OR_RETURN(const Parameter* parameter,
                     CheckOne(commands, std::string_view(assignment).substr(0, equals),
                              value.value(), kStartup));
    parameter->set(commands, value.value());
  }
  return Status::Ok();
}

std::span<const Row> ParameterRows() {
  using request::kAdminOnly;
  static constexpr Row kRows[] = {
      {{"getParameter", "", kAdminOnly, "reads server parameters"},
       RunGetParameter,
       OnCluster(Action::getParameter)},
      {{"setParameter", "", kAdminOnly, "changes server parameters"},
       RunSetParameter,
       OnCluster(Action::setParameter)},
  };
  return kRows;
}

}  // namespace quire::command
