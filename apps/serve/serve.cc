// SPDX-License-Identifier: Apache-2.0
#include "serve/serve.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "audit/log.h"
#include "auth/key_file.h"
#include "base/allocator.h"
#include "base/log.h"
#include "base/machine_memory.h"
#include "base/try.h"
#include "base/version.h"
#include "command/auth/auditor.h"
#include "command/command.h"
#include "command/diagnostic.h"
#include "command/server/memory_guard.h"
#include "command/server/startup.h"
#include "engine/engine.h"
#include "js/script.h"
#include "kv/open.h"
#include "request/network_limits.h"
#include "router/router.h"
#include "serve/daemon.h"
#include "serve/peers.h"
#include "serve/replica.h"
#include "serve/settings.h"
#include "server/server.h"
#include "store/layout.h"

namespace quire::apps {
namespace {

// mongod's exit codes.
constexpr int kBadOptions = 2;
constexpr int kFailed = 1;
constexpr int kNetworkFailed = 48;
constexpr int kStorageFailed = 100;

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> out;
  std::stringstream stream(list);
  std::string item;
  while (std::getline(stream, item, ',')) {
    item.erase(0, item.find_first_not_of(' '));
    item.erase(item.find_last_not_of(' ') + 1);
    if (!item.empty()) {
      out.push_back(item);
    }
  }
  return out;
}

void PrintVersion(Manner manner) {
  std::string version(kMongoVersion);
  if (manner == Manner::kQuire) {
    printf("quire %s (MongoDB %s)\n", std::string(kVersion).c_str(), version.c_str());
    return;
  }
  printf("db version v%s\n", version.c_str());
  printf("Build Info: {\n    \"version\": \"%s\",\n    \"gitVersion\": \"quire-%s\",\n",
         version.c_str(), std::string(kVersion).c_str());
  printf("    \"modules\": [],\n    \"allocator\": \"%s\",\n    \"environment\": {\n",
         std::string(AllocatorName()).c_str());
  printf("        \"distarch\": \"x86_64\",\n        \"target_arch\": \"x86_64\"\n    }\n}\n");
}

// Storage, engine and commands, opened in that order and closed in the reverse.
struct Node {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<command::Commands> commands;
  std::unique_ptr<command::MemoryGuard> memory;
};

class Service {
 public:
  Service(Manner manner, Role role, const std::vector<std::string>& argv, Parsed parsed)
      : manner_(manner),
        role_(role),
        argv_(argv),
        parsed_(std::move(parsed)),
        s_(parsed_.settings) {
    bool memory = role == Role::kRouter || s_.storage_engine == "inMemory" ||
                  s_.storage_engine == "ephemeralForTest";
    s_.ephemeral = s_.ephemeral || memory;
    if (s_.dbpath.empty()) {
      s_.dbpath = manner == Manner::kMongod ? "/data/db" : "data";
    }
  }

  int Run() {
    BlockSignals();
    KeepFilesPrivate();
    if (Status status = Prepare(); !status.ok()) {
      fprintf(stderr, "quire: %s\n", status.message().c_str());
      return kFailed;
    }
    js::SetEnabled(!s_.no_scripting);
    if (Status status = OpenNode(); !status.ok()) {
      return Fail("STORAGE", "Failed to open the data", status, kStorageFailed);
    }
    if (Status status = command::SetStartupParameters(*node_.commands, s_.set_parameter);
        !status.ok()) {
      return Fail("CONTROL", "Bad --setParameter", status, kBadOptions);
    }
    if (Status status = LoadTls(); !status.ok()) {
      return Fail("NETWORK", "Failed to set up TLS", status, kBadOptions);
    }
    if (Status status = GuardMemory(); !status.ok()) {
      return Fail("CONTROL", "Failed to watch the memory", status, kFailed);
    }
    command::Auditor* auditor = node_.commands->info().auditor.get();
    if (auditor != nullptr) {
      auditor->Started(node_.commands->info().parsed_options.view());
    }
    if (Status status = Listen(); !status.ok()) {
      return Fail("CONTROL", "Failed to set up listener", status, kNetworkFailed);
    }
    if (Status status = command::NoteStart(*node_.commands); !status.ok()) {
      log::Warning("CONTROL", "The start was not written down", {{"error", status.message()}});
    }
    Announce();
    int signal = WaitForEnd([auditor] {
      RETURN_IF_ERROR(log::Rotate());
      return auditor == nullptr ? Status::Ok() : auditor->Rotate();
    });
    if (auditor != nullptr) {
      auditor->Stopping();
    }
    log::Info("CONTROL", "Shutting down", {{"signal", signal}});
    if (replica_ != nullptr) {
      constexpr std::chrono::seconds kQuiesce{5};
      replica_->HandOver();
      node_.commands->Quiesce(kQuiesce);
    }
    server_.reset();
    node_.memory.reset();
    replica_.reset();
    node_.commands.reset();
    Status synced = node_.engine->store().Sync();
    if (!synced.ok()) {
      log::Error("STORAGE", "Flush at shutdown failed", {{"error", synced.message()}});
    }
    node_.engine.reset();
    if (start_again_) {
      return StartAgain(argv_);
    }
    log::Info("CONTROL", "Now exiting", {{"exitCode", synced.ok() ? 0 : kStorageFailed}});
    return synced.ok() ? 0 : kStorageFailed;
  }

 private:
  static int Fail(std::string_view component, std::string_view what, const Status& status,
                  int code) {
    log::Error(component, what, {{"error", status.message()}});
    if (isatty(STDERR_FILENO) == 1) {
      fprintf(stderr, "quire: %s\n", status.message().c_str());
    }
    return code;
  }

  Status Prepare() {
    if (!s_.logpath.empty()) {
      s_.logpath = std::filesystem::absolute(s_.logpath);
    }
    if (!s_.audit_path.empty()) {
      s_.audit_path = std::filesystem::absolute(s_.audit_path);
    }
    const bool again = IsStartedAgain();
    if (s_.fork && !again) {
      RETURN_IF_ERROR(background_.Fork(s_.logpath));
    }
    log::Options options;
    options.path = s_.logpath;
    options.append = s_.logappend || again;
    bool json = s_.log_format.empty() ? manner_ == Manner::kMongod : s_.log_format == "json";
    options.format = json ? log::Format::kJson : log::Format::kText;
    options.verbosity = static_cast<int>(s_.verbosity);
    RETURN_IF_ERROR(log::Open(options));
    if (!s_.pidfilepath.empty()) {
      RETURN_IF_ERROR(pid_file_.Write(s_.pidfilepath));
    }
    log::Info("CONTROL", "Quire starting",
              {{"version", kVersion},
               {"pid", static_cast<int64_t>(getpid())},
               {"dbPath", s_.ephemeral ? std::string_view("(memory)") : s_.dbpath}});
    return Status::Ok();
  }

  // Null when nothing is audited.
  Result<std::shared_ptr<command::Auditor>> OpenAudit() {
    if (s_.audit_destination.empty()) {
      return std::shared_ptr<command::Auditor>();
    }
    using Destination = audit::Options::Destination;
    audit::Options options;
    options.destination = s_.audit_destination == "file"      ? Destination::kFile
                          : s_.audit_destination == "console" ? Destination::kConsole
                                                              : Destination::kSyslog;
    options.path = s_.audit_path;
    ASSIGN_OR_RETURN(options.filter, audit::ParseFilter(s_.audit_filter));
    ASSIGN_OR_RETURN(auto log, audit::Log::Open(std::move(options)));
    return std::make_shared<command::Auditor>(std::move(log));
  }

  bool is_router() const { return role_ == Role::kRouter; }
  bool is_member() const { return !s_.coord.empty() && !is_router(); }

  Status OpenNode() {
    if (is_member()) {
      RETURN_IF_ERROR(Replica::PrepareFolder(s_));
    }
    kv::OpenOptions options;
    options.plain = s_.plain_storage;
    options.cache_bytes = static_cast<uint64_t>(s_.cache_size_gb * (uint64_t{1} << 30));
    options.sections = store::KeySections();
    ASSIGN_OR_RETURN(files_, ShareOpenFiles(s_.max_conns));
    options.max_open_files = files_.storage;
    if (files_.connections < s_.max_conns && parsed_.given.count("maxConns") != 0) {
      log::Warning("CONTROL", "The limit of open files allows fewer connections than --maxConns",
                   {{"maxConns", s_.max_conns}, {"connections", files_.connections}});
    }
    const std::string place = is_router()    ? "memory:"
                              : s_.ephemeral ? "rocks:"
                                             : "rocks:" + s_.dbpath;
    ASSIGN_OR_RETURN(auto store, kv::Open(place, options));
    engine::EngineOptions engine_options;
    engine_options.log_bytes =
        engine::LogBytes(static_cast<uint64_t>(s_.oplog_size_mb) << 20, s_.ephemeral);
    engine_options.log_age = std::chrono::hours(s_.oplog_max_hours);
    ASSIGN_OR_RETURN(node_.engine, engine::Engine::Open(std::move(store), engine_options));
    command::ServerInfo info;
    info.set_name = s_.repl_set;
    info.arguments = Shown(argv_);
    info.parsed_options = parsed_.ToDocument();
    info.data_path = s_.ephemeral ? "" : s_.dbpath;
    info.compressors =
        s_.compressors == "disabled" ? std::vector<std::string>{} : SplitList(s_.compressors);
    info.embedded = false;
    info.access_control = s_.auth || s_.authorization == "enabled" || !s_.key_file.empty() ||
                          s_.cluster_auth_mode == "x509";
    request::Limits().logins = info.access_control;
    info.shutdown = [] { kill(getpid(), SIGTERM); };
    ASSIGN_OR_RETURN(info.auditor, OpenAudit());
    if (is_router()) {
      info.router = true;
      node_.commands = std::make_unique<router::Router>(node_.engine.get(), std::move(info));
    } else if (is_member()) {
      auto commands = std::make_unique<command::ShardCommands>(node_.engine.get(), std::move(info));
      shard_commands_ = commands.get();
      node_.commands = std::move(commands);
    } else {
      node_.commands = std::make_unique<command::Commands>(node_.engine.get(), std::move(info));
    }
    node_.commands->slow_millis = s_.slow_ms;
    return AcceptMembers();
  }

  // How other members log in here.
  Status AcceptMembers() {
    if (s_.cluster_auth_mode == "x509") {
      node_.commands->members.AcceptCertificates();
    } else if (!s_.key_file.empty()) {
      ASSIGN_OR_RETURN(const std::string key, auth::ReadKeyFile(s_.key_file));
      RETURN_IF_ERROR(node_.commands->members.SetKey(key));
    }
    if (is_member() && !node_.commands->info().access_control) {
      log::Warning("REPL",
                   "Without --keyFile or --clusterAuthMode x509 everybody who reaches the "
                   "port can speak as a member of the set");
    }
    return Status::Ok();
  }

  Status LoadTls() {
    server::TlsOptions options;
    ASSIGN_OR_RETURN(options.mode,
                     server::ParseTlsMode(s_.tls_mode.empty() ? "disabled" : s_.tls_mode));
    if (options.mode == server::TlsMode::kDisabled) {
      return Status::Ok();
    }
    options.certificate_key_file = s_.tls_certificate_key_file;
    options.key_password = s_.tls_key_password;
    options.ca_file = s_.tls_ca_file;
    options.crl_file = s_.tls_crl_file;
    options.allow_without_certificate = s_.tls_without_certificates;
    options.allow_invalid_certificates = s_.tls_invalid_certificates;
    options.system_ca = node_.commands->tls_parameters.system_ca;
    ASSIGN_OR_RETURN(options.protocols, TlsProtocols(s_, *node_.commands));
    ASSIGN_OR_RETURN(std::unique_ptr<server::Tls> tls, server::Tls::Load(options));
    tls_ = std::move(tls);
    command::ServerInfo& info = node_.commands->info();
    info.rotate_certificates = [this] { return tls_->Rotate(); };
    info.certificate = [this] {
      server::CertificateFacts facts = tls_->facts();
      return command::ServerCertificate{facts.subject, bson::Date{facts.expires},
                                        facts.has_authority};
    };
    info.tls_mode = [this] { return std::string(server::NameOf(tls_->mode())); };
    info.set_tls_mode = [this](std::string_view name) {
      if (auto mode = server::ParseTlsMode(name); mode.ok()) {
        tls_->SetMode(*mode);
        log::Info("NETWORK", "TLS mode set", {{"mode", name}});
      }
    };
    log::Info("NETWORK", "TLS is enabled",
              {{"mode", s_.tls_mode}, {"subject", tls_->facts().subject}});
    return Status::Ok();
  }

  Status GuardMemory() {
    command::MemoryGuard::SetLimits(ReadMachineMemory());
    ASSIGN_OR_RETURN(node_.memory,
                     command::MemoryGuard::Start(node_.commands.get(), ReadMachineMemory));
    return Status::Ok();
  }

  Status Listen() {
    server::Options options;
    options.port = static_cast<int>(s_.port);
    options.bind = SplitList(s_.bind_ip);
    options.ipv6 = s_.ipv6;
    if (s_.bind_ip_all) {
      options.bind = {"0.0.0.0"};
      if (s_.ipv6) {
        options.bind.emplace_back("::");
      }
    }
    options.unix_socket_folder = s_.no_unix_socket ? "" : s_.unix_socket_prefix;
    options.unix_socket_permissions = static_cast<int>(s_.file_permissions);
    options.max_connections = files_.connections;
    options.tls = tls_;
    ASSIGN_OR_RETURN(
        server_, server::Server::Start(options, node_.commands.get(), [this](int port) {
          command::ServerInfo& info = node_.commands->info();
          info.port = port;
          info.host = HostName() + ":" + std::to_string(port);
          node_.engine->host = info.host;
          joined_ = is_member() ? Join() : is_router() ? ConnectRouter() : Status::Ok();
        }));
    return joined_;
  }

  // Before the first request.
  Status ConnectRouter() {
    router::RouterOptions options;
    options.cluster = s_.cluster_name;
    ASSIGN_OR_RETURN(options.store, OpenCoordination(s_));
    ASSIGN_OR_RETURN(options.peers, PeerOptions(s_, *node_.commands));
    return static_cast<router::Router&>(*node_.commands).Connect(std::move(options));
  }

  // Before the first request: it is the set's.
  Status Join() {
    const auto end = [] { kill(getpid(), SIGTERM); };
    ASSIGN_OR_RETURN(replica_, Replica::Start(
                                   s_, node_.engine.get(), shard_commands_,
                                   [this, end] {
                                     start_again_ = true;
                                     end();
                                   },
                                   end));
    return Status::Ok();
  }

  // The name other machines know this one by, when they can reach it at all: the address that it
  // listens on, or the machine's name when it is all of them.
  std::string HostName() const {
    constexpr std::array<std::string_view, 3> kLocal = {"127.0.0.1", "localhost", "::1"};
    constexpr std::array<std::string_view, 3> kAll = {"0.0.0.0", "::", "*"};
    std::string name = s_.bind_ip_all ? "*" : "127.0.0.1";
    for (const std::string& address : SplitList(s_.bind_ip)) {
      const bool here =
          address.starts_with('/') || std::ranges::find(kLocal, address) != kLocal.end();
      if (name == "127.0.0.1" && !here) {
        name = address;
      }
    }
    char machine[256];
    if (std::ranges::find(kAll, name) != kAll.end()) {
      return gethostname(machine, sizeof machine) == 0 ? machine : "127.0.0.1";
    }
    return name.find(':') == std::string::npos ? name : "[" + name + "]";
  }

  // Members say so of themselves.
  void WarnOfStrangers() {
    const std::vector<std::string> addresses = server_->addresses();
    const bool open = std::ranges::any_of(addresses, ReachedFromOutside);
    if (open && !is_member() && !node_.commands->info().access_control) {
      log::Warning("CONTROL",
                   "Access control is not enabled: whoever reaches the port from another machine "
                   "may read and write everything; --auth turns it on");
    }
  }

  void Announce() {
    for (const std::string& address : server_->addresses()) {
      log::Info("NETWORK", "Listening on", {{"address", address}});
    }
    if (!is_member() && !is_router()) {
      log::Info("REPL", "transition to primary complete; database writes are now permitted",
                {{"setName", s_.repl_set}});
    }
    WarnOfStrangers();
    log::Info("NETWORK", "Waiting for connections", {{"port", server_->port()}});
    log::EndStartup();
    log::SetQuiet(s_.quiet);
    background_.Ready();
    if (isatty(STDOUT_FILENO) == 1 && !s_.fork) {
      printf("\nConnect with:  mongosh mongodb://127.0.0.1:%d\n", server_->port());
      printf("Stop with Ctrl-C.\n\n");
      fflush(stdout);
    }
  }

  Manner manner_;
  Role role_;
  std::vector<std::string> argv_;
  Parsed parsed_;
  Settings& s_;
  Background background_;
  PidFile pid_file_;
  OpenFiles files_;
  Node node_;
  std::shared_ptr<server::Tls> tls_;
  command::ShardCommands* shard_commands_ = nullptr;  // of a member of a set
  std::unique_ptr<Replica> replica_;
  Status joined_;
  std::atomic<bool> start_again_ = false;
  std::unique_ptr<server::Server> server_;
};

int Run(Manner manner, Role role, std::string_view program, const std::vector<std::string>& argv,
        const std::vector<std::string>& arguments) {
  auto parsed = ParseCommandLine(arguments, role);
  if (!parsed.ok()) {
    fprintf(stderr, "Error parsing command line: %s\ntry '%s --help' for more information\n",
            parsed.status().message().c_str(), std::string(program).c_str());
    return kBadOptions;
  }
  if (parsed->settings.help) {
    printf("%s", HelpText(program, role).c_str());
    return 0;
  }
  if (parsed->settings.version) {
    PrintVersion(manner);
    return 0;
  }
  return Service(manner, role, argv, *std::move(parsed)).Run();
}

}  // namespace

int Serve(Manner manner, const std::vector<std::string>& argv,
          const std::vector<std::string>& arguments) {
  return Run(manner, Role::kServer, manner == Manner::kMongod ? "mongod" : "quire serve", argv,
             arguments);
}

int Route(Manner manner, const std::vector<std::string>& argv,
          const std::vector<std::string>& arguments) {
  return Run(manner, Role::kRouter, manner == Manner::kMongod ? "mongos" : "quire route", argv,
             arguments);
}

}  // namespace quire::apps
