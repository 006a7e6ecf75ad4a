// SPDX-License-Identifier: Apache-2.0
//
// What the server is, runs on, and was told: answers that take no engine.
#include <gnu/libc-version.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "base/allocator.h"
#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "base/version.h"
#include "bson/number.h"
#include "command/auth/login.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "js/script.h"
#include "request/fields.h"

namespace quire::command {
namespace {

const std::chrono::steady_clock::time_point kStart = std::chrono::steady_clock::now();

Status CheckHostAndPort(std::string_view text) {
  size_t bracket = text.rfind(']');
  size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && bracket != std::string_view::npos && colon < bracket) {
    colon = std::string_view::npos;
  }
  std::string_view host = text.substr(0, colon);
  if (host.empty()) {
    return {kFailedToParse,
            "Empty host component parsing HostAndPort from \"" + std::string(text) + "\""};
  }
  if (colon == std::string_view::npos) {
    return Status::Ok();
  }
  int port = 0;
  std::string_view digits = text.substr(colon + 1);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port <= 0 || port > 65535) {
    return {kFailedToParse, "Port number " + std::string(digits) +
                                " out of range parsing HostAndPort from \"" + std::string(text) +
                                "\""};
  }
  return Status::Ok();
}

// For commands without fields of their own.
Status OnlyGenericFields(Invocation& i) {
  bool first = true;
  for (const bson::Element& e : i.body()) {
    if (!std::exchange(first, false) && !request::IsGenericField(e.name())) {
      return request::UnknownField(i.call.command.name, e.name());
    }
  }
  return Status::Ok();
}

Status RunPing(Invocation& i) { return OnlyGenericFields(i); }

Status RunBuildInfo(Invocation& i) {
  RETURN_IF_ERROR(OnlyGenericFields(i));
  bson::Builder& reply = i.reply();
  reply.Append("version", kMongoVersion)
      .Append("gitVersion", "quire-" + std::string(kVersion))
      .BeginArray("modules")
      .End()
      .Append("allocator", AllocatorName())
      .Append("javascriptEngine", js::Enabled() ? "mozjs" : "none")
      .Append("sysInfo", "deprecated")
      .BeginArray("versionArray");
  for (int part : kMongoVersionParts) {
    reply.Push(part);
  }
  reply.End()
      .BeginDocument("openssl")
      .Append("running", "disabled")
      .Append("compiled", "disabled")
      .End()
      .BeginDocument("buildEnvironment")
      .Append("distmod", "")
      .Append("distarch", "x86_64")
      .Append("cc", __VERSION__)
      .Append("target_arch", "x86_64")
      .Append("target_os", "linux")
      .End()
      .Append("bits", 64)
      .Append("debug", false)
      .Append("maxBsonObjectSize", 16 << 20)
      .BeginArray("storageEngines")
      .Push("ephemeralForTest")
      .Push("wiredTiger")
      .End();
  return Status::Ok();
}

// The value of `key` in a file of "key=value" or "key : value" lines.
std::string FileValue(const char* path, std::string_view key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) {
      continue;
    }
    size_t at = line.find_first_of("=:");
    if (at == std::string::npos) {
      continue;
    }
    std::string value = line.substr(at + 1);
    std::erase(value, '"');
    value.erase(0, value.find_first_not_of(" \t"));
    return value;
  }
  return "";
}

Status RunHostInfo(Invocation& i) {
  RETURN_IF_ERROR(OnlyGenericFields(i));
  utsname names{};
  (void)uname(&names);
  struct sysinfo memory {};
  (void)sysinfo(&memory);
  auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  auto megabytes = static_cast<int64_t>((uint64_t{memory.totalram} * memory.mem_unit) >> 20);
  i.reply()
      .BeginDocument("system")
      .Append("currentTime", WallClock())
      .Append("hostname", ReachedAs(i))
      .Append("cpuAddrSize", 64)
      .Append("memSizeMB", megabytes)
      .Append("memLimitMB", megabytes)
      .Append("numCores", cores)
      .Append("numCoresAvailableToProcess", cores)
      .Append("numPhysicalCores", cores)
      .Append("numCpuSockets", 1)
      .Append("numNumaNodes", 1)
      .Append("cpuArch", names.machine)
      .Append("numaEnabled", false)
      .End()
      .BeginDocument("os")
      .Append("type", "Linux")
      .Append("name", FileValue("/etc/os-release", "PRETTY_NAME"))
      .Append("version", FileValue("/etc/os-release", "VERSION_ID"))
      .End()
      .BeginDocument("extra")
      .Append("versionString", std::string(names.sysname) + " version " + names.release)
      .Append("libcVersion", gnu_get_libc_version())
      .Append("kernelVersion", names.release)
      .Append("cpuFrequencyMHz", FileValue("/proc/cpuinfo", "cpu MHz"))
      .Append("cpuFeatures", FileValue("/proc/cpuinfo", "flags"))
      .Append("pageSize", static_cast<int64_t>(sysconf(_SC_PAGESIZE)))
      .Append("numPages", static_cast<int32_t>(sysconf(_SC_PHYS_PAGES)))
      .Append("maxOpenFiles", static_cast<int32_t>(sysconf(_SC_OPEN_MAX)))
      .End();
  return Status::Ok();
}

struct ConnectionStatusRequest {
  bool show_privileges = false;
  static constexpr auto kFields = std::to_array<request::FieldRow<ConnectionStatusRequest>>(
      {request::Field<&ConnectionStatusRequest::show_privileges>("showPrivileges")});
};

Status RunConnectionStatus(Invocation& i) {
  ConnectionStatusRequest asked;
  RETURN_IF_ERROR(request::ReadFields<ConnectionStatusRequest>(
      "connectionStatus", i.body(), true, ConnectionStatusRequest::kFields, &asked));
  std::shared_ptr<const Login> login = CurrentLogin(i);
  i.reply().BeginDocument("authInfo").BeginArray("authenticatedUsers");
  if (login != nullptr) {
    i.reply().PushDocument().Append("user", login->user).Append("db", login->database).End();
  }
  i.reply().End();
  AppendRoleNames("authenticatedUserRoles",
                  login != nullptr ? login->roles : std::vector<auth::RoleName>(), &i.reply());
  if (asked.show_privileges) {
    i.reply().BeginArray("authenticatedUserPrivileges");
    if (login != nullptr) {
      for (const auth::Privilege& privilege : login->privileges.all()) {
        auth::AppendPrivilege(privilege, &i.reply());
      }
    }
    i.reply().End();
  }
  i.reply().End();
  return Status::Ok();
}

Status RunWhatsMyUri(Invocation& i) {
  i.reply().Append("you", i.call.client.remote());
  return Status::Ok();
}

Status RunGetCmdLineOpts(Invocation& i) {
  RETURN_IF_ERROR(OnlyGenericFields(i));
  i.reply().BeginArray("argv");
  for (const std::string& argument : i.commands.info().arguments) {
    i.reply().Push(argument);
  }
  i.reply().End().Append("parsed", i.commands.info().parsed_options);
  return Status::Ok();
}

Status RunListCommands(Invocation& i) {
  std::vector<const Row*> rows(i.commands.rows().begin(), i.commands.rows().end());
  std::sort(rows.begin(), rows.end(),
            [](const Row* a, const Row* b) { return a->info.name < b->info.name; });
  i.reply().BeginDocument("commands");
  for (const Row* row : rows) {
    if ((row->info.flags & request::kTestOnly) != 0 && !i.commands.fail_points().enabled()) {
      continue;
    }
    i.reply()
        .BeginDocument(row->info.name)
        .Append("help", row->info.help)
        .Append("requiresAuth", row->access.scope != Access::Scope::kAnyone)
        .Append("secondaryOk", (row->info.flags & request::kWrite) == 0)
        .Append("adminOnly", (row->info.flags & request::kAdminOnly) != 0)
        .BeginArray("apiVersions");
    if ((row->info.flags & request::kStableApi) != 0) {
      i.reply().Push("1");
    }
    i.reply().End().BeginArray("deprecatedApiVersions").End().End();
  }
  i.reply().End();
  return Status::Ok();
}

Status RunGetLog(Invocation& i) {
  RETURN_IF_ERROR(OnlyGenericFields(i));
  bson::Element which = i.body().front();
  if (which.value().nullish()) {
    return request::MissingField("getLog", "getLog");
  }
  if (which.type() != bson::Type::kString) {
    return request::WrongType("getLog", which, "string");
  }
  std::string_view name = which.value().AsString();
  if (name == "*") {
    i.reply().BeginArray("names").Push("global").Push("startupWarnings").End();
    return Status::Ok();
  }
  if (name != "global" && name != "startupWarnings") {
    return {kOperationFailed, "No log named '" + std::string(name) + "'"};
  }
  log::Recent recent = name == "global" ? log::RecentLines() : log::StartupWarnings();
  i.reply().Append("totalLinesWritten", static_cast<int32_t>(recent.total)).BeginArray("log");
  for (const std::string& line : recent.lines) {
    i.reply().Push(line);
  }
  i.reply().End();
  return Status::Ok();
}

Status RunFeatures(Invocation& i) {
  i.reply().Append("js", 0.0).Append("oidMachine", 0.0);
  return Status::Ok();
}

Status RunConnPoolStats(Invocation& i) {
  i.reply()
      .Append("numClientConnections", 0)
      .Append("numAScopedConnections", 0)
      .Append("totalInUse", 0)
      .Append("totalAvailable", 0)
      .Append("totalLeased", 0)
      .Append("totalCreated", 0)
      .Append("totalRefreshing", 0)
      .BeginDocument("replicaSets")
      .End()
      .BeginDocument("pools")
      .End()
      .BeginDocument("hosts")
      .End();
  return Status::Ok();
}

// There is one lock at most, that of fsync: everything, to be read.
Status RunLockInfo(Invocation& i) {
  RETURN_IF_ERROR(OnlyGenericFields(i));
  bson::Builder& reply = i.reply();
  reply.BeginArray("lockInfo");
  if (i.commands.write_gate().locked()) {
    reply.PushDocument().Append("resourceId", "{6917529027641081857: Global, 1}");
    reply.BeginArray("granted").PushDocument();
    reply.Append("mode", "S")
        .Append("convertMode", "NONE")
        .Append("enqueueAtFront", true)
        .Append("compatibleFirst", true)
        .Append("debugInfo", "")
        .BeginDocument("clientInfo")
        .Append("desc", "fsyncLockWorker")
        .End();
    reply.End().End().BeginArray("pending").End().End();
  }
  reply.End();
  return Status::Ok();
}

// What it is made of.
Status StateDiagnosticData(Invocation&, auth::Needs* needs) {
  needs->Add(Action::serverStatus, auth::Cluster());
  needs->Add(Action::replSetGetStatus, auth::Cluster());
  needs->Add(Action::collStats, auth::Collection("local", "oplog.rs"));
  return Status::Ok();
}

Status RunGetDiagnosticData(Invocation& i) {
  i.reply().BeginDocument("data").Append("start", WallClock()).Append("end", WallClock()).End();
  return Status::Ok();
}

Status RunShardingState(Invocation& i) {
  i.reply().Append("enabled", false);
  return Status::Ok();
}

// The server opens no connections to others: there is nothing to drop but the names to check.
Status RunDropConnections(Invocation& i) {
  bson::Element hosts;
  bool first = true;
  for (const bson::Element& e : i.body()) {
    if (std::exchange(first, false)) {
      continue;
    }
    if (e.name() == "hostAndPort") {
      hosts = e;
    } else if (!request::IsGenericField(e.name())) {
      return request::UnknownField("dropConnections", e.name());
    }
  }
  if (!hosts.present() || hosts.value().nullish()) {
    return request::MissingField("dropConnections", "hostAndPort");
  }
  if (hosts.type() != bson::Type::kArray) {
    return request::WrongType("dropConnections", hosts, "array");
  }
  for (const bson::Element& host : hosts.value().AsArray()) {
    if (host.value().nullish()) {
      continue;
    }
    if (host.type() != bson::Type::kString) {
      return request::WrongType("dropConnections.hostAndPort", host, "string");
    }
    RETURN_IF_ERROR(CheckHostAndPort(host.value().AsString()));
  }
  return Status::Ok();
}

Status RunIsSelf(Invocation& i) {
  i.reply().Append("id", bson::ObjectId{});
  return Status::Ok();
}

}  // namespace

int64_t UptimeMillis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               kStart)
      .count();
}

std::span<const Row> ServerInfoRows() {
  using request::kAdminOnly;
  using request::kHandshake;
  static constexpr Row kRows[] = {
      {{"ping", "", kHandshake | request::kStableApi, "does nothing"}, RunPing, kAnyone},
      {{"buildInfo", "buildinfo", kHandshake, "version and build"}, RunBuildInfo, kAnyone},
      {{"hostInfo", "", 0, "the machine"}, RunHostInfo, OnCluster(Action::hostInfo)},
      {{"connectionStatus", "", kHandshake, "who is logged in here"}, RunConnectionStatus, kAnyone},
      {{"whatsmyuri", "", kHandshake, "the client's own address"}, RunWhatsMyUri, kAnyone},
      {{"getCmdLineOpts", "", kAdminOnly, "the options the server was started with"},
       RunGetCmdLineOpts,
       OnCluster(Action::getCmdLineOpts)},
      {{"listCommands", "", 0, "every command"}, RunListCommands, kAnyone},
      {{"getLog", "", kAdminOnly, "recent log lines"}, RunGetLog, OnCluster(Action::getLog)},
      {{"features", "", 0, "what this build can do"}, RunFeatures, kLoggedIn},
      {{"connPoolStats", "", 0, "connections to other servers"},
       RunConnPoolStats,
       OnCluster(Action::connPoolStats)},
      {{"lockInfo", "", kAdminOnly, "locks held"}, RunLockInfo, OnCluster(Action::serverStatus)},
      {{"getDiagnosticData", "", kAdminOnly, "recent measurements"},
       RunGetDiagnosticData,
       Stated(StateDiagnosticData)},
      {{"shardingState", "", kAdminOnly, "whether this is a shard"},
       RunShardingState,
       OnCluster(Action::shardingState)},
      {{"dropConnections", "", kAdminOnly, "closes connections to other servers"},
       RunDropConnections,
       OnCluster(Action::dropConnections)},
      {{"_isSelf", "", kHandshake, "the process's id"}, RunIsSelf, kAnyone},
  };
  return kRows;
}

}  // namespace quire::command
