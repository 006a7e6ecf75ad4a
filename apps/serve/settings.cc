// SPDX-License-Identifier: Apache-2.0
#include "serve/settings.h"

#include <array>

#include "tool/text.h"

namespace quire::apps {
namespace {

constexpr double kNoLimit = 1e15;
constexpr std::string_view kPassword = "tlsCertificateKeyFilePassword";
constexpr std::string_view kHidden = "<password>";

using S = Settings;
constexpr std::string_view kStorage = "Storage";
constexpr std::string_view kNetwork = "Network";
constexpr std::string_view kTls = "TLS";
constexpr std::string_view kLog = "Log";
constexpr std::string_view kAudit = "Audit log";
constexpr std::string_view kProcess = "Process";
constexpr std::string_view kReplication = "Replica set";
constexpr std::string_view kOther = "Other";

// clang-format off
const std::array kOptions = {
    Option{kStorage, "dbpath", 0, "FOLDER", &S::dbpath, 0, 0, "storage.dbPath",
           "Folder of the data; created when missing. Default ./data, as mongod /data/db."},
    Option{kStorage, "ephemeral", 0, "", &S::ephemeral, 0, 0, "storage.ephemeral",
           "Keep everything in memory; nothing survives the process."},
    Option{kStorage, "cacheSizeGB", 0, "GB", &S::cache_size_gb, 0, 10000, "storage.cacheSizeGB",
           "Memory for caches and write buffers; 0: half of what is free, less while others need it."},
    Option{kStorage, "oplogSizeMB", 0, "MB", &S::oplog_size_mb, 0, 1e9, "replication.oplogSizeMB",
           "Bound of the change log; 0: 1024 in a folder, 64 in memory."},
    Option{kStorage, "oplogMaxHours", 0, "HOURS", &S::oplog_max_hours, 0, 1e6,
           "storage.oplogMaxHours", "Age after which changes leave the change log; 0: none."},
    Option{kStorage, "wiredTigerCacheSizeGB", 0, "GB", &S::cache_size_gb, 0, 10000,
           "storage.wiredTiger.engineConfig.cacheSizeGB", "mongod's name of --cacheSizeGB."},
    Option{kStorage, "storageEngine", 0, "NAME", &S::storage_engine, 0, 0, "storage.engine",
           "wiredTiger: the store on disk; inMemory or ephemeralForTest: the same as --ephemeral."},
    Option{kStorage, "journal", 0, "", &S::journal, 0, 0, "storage.journal.enabled",
           "The journal is always on; taken for mongod's sake."},
    Option{kStorage, "plainStorage", 0, "", &S::plain_storage, 0, 0, "storage.plain",
           "RocksDB as it comes: without Quire's write buffer, batches, log files and checksums."},

    Option{kNetwork, "port", 0, "NUMBER", &S::port, 0, 65535, "net.port",
           "TCP port; 0 lets the system choose, and the choice is logged."},
    Option{kNetwork, "bind_ip", 0, "LIST", &S::bind_ip, 0, 0, "net.bindIp",
           "Addresses to listen on, separated by commas; a path is a unix socket."},
    Option{kNetwork, "bind_ip_all", 0, "", &S::bind_ip_all, 0, 0, "net.bindIpAll",
           "Listen on every address of the machine."},
    Option{kNetwork, "ipv6", 0, "", &S::ipv6, 0, 0, "net.ipv6", "Also use IPv6 addresses."},
    Option{kNetwork, "maxConns", 0, "NUMBER", &S::max_conns, 5, 1000000,
           "net.maxIncomingConnections",
           "Most connections open at once; fewer when the system allows too few files."},
    Option{kNetwork, "unixSocketPrefix", 0, "FOLDER", &S::unix_socket_prefix, 0, 0,
           "net.unixDomainSocket.pathPrefix", "Folder of the socket file mongodb-PORT.sock."},
    Option{kNetwork, "nounixsocket", 0, "", &S::no_unix_socket, 0, 0,
           "net.unixDomainSocket.enabled", "Do not listen on a unix socket."},
    Option{kNetwork, "filePermissions", 0, "MODE", &S::file_permissions, 0, 0777,
           "net.unixDomainSocket.filePermissions", "Permissions of the socket file (0700)."},
    Option{kNetwork, "networkMessageCompressors", 0, "LIST", &S::compressors, 0, 0,
           "net.compression.compressors",
           "Compressors to agree to, of snappy, zstd and zlib; or disabled."},

    Option{kTls, "tlsMode", 0, "MODE", &S::tls_mode, 0, 0, "net.tls.mode",
           "disabled, allowTLS and preferTLS (both plain and TLS), or requireTLS."},
    Option{kTls, "tlsCertificateKeyFile", 0, "FILE", &S::tls_certificate_key_file, 0, 0,
           "net.tls.certificateKeyFile", "PEM with the server's certificate and its key."},
    Option{kTls, kPassword, 0, "TEXT", &S::tls_key_password, 0, 0,
           "net.tls.certificateKeyFilePassword", "Password of the key, when it is encrypted."},
    Option{kTls, "tlsCAFile", 0, "FILE", &S::tls_ca_file, 0, 0, "net.tls.CAFile",
           "PEM with the authorities clients' certificates are checked with."},
    Option{kTls, "tlsCRLFile", 0, "FILE", &S::tls_crl_file, 0, 0, "net.tls.CRLFile",
           "PEM with the list of revoked certificates."},
    Option{kTls, "tlsAllowConnectionsWithoutCertificates", 0, "", &S::tls_without_certificates,
           0, 0, "net.tls.allowConnectionsWithoutCertificates",
           "Clients need not have a certificate; one that they have is checked."},
    Option{kTls, "tlsAllowInvalidCertificates", 0, "", &S::tls_invalid_certificates, 0, 0,
           "net.tls.allowInvalidCertificates",
           "Clients with invalid certificates may connect, but not log in by them; other members' "
           "certificates are not checked."},
    Option{kTls, "tlsAllowInvalidHostnames", 0, "", &S::tls_invalid_hostnames, 0, 0,
           "net.tls.allowInvalidHostnames",
           "Other members' certificates need not be for the names they are reached by."},
    Option{kTls, "tlsDisabledProtocols", 0, "LIST", &S::tls_disabled_protocols, 0, 0,
           "net.tls.disabledProtocols",
           "Of TLS1_0, TLS1_1, TLS1_2 and TLS1_3, or none. Default TLS1_0,TLS1_1."},
    Option{kTls, "tlsCipherConfig", 0, "LIST", &S::tls_ciphers, 0, 0, "net.tls.tlsCipherConfig",
           "The same as --setParameter opensslCipherConfig: ciphers up to TLS 1.2."},

    Option{kLog, "logpath", 0, "FILE", &S::logpath, 0, 0, "systemLog.path",
           "Write the log to a file instead of standard output."},
    Option{kLog, "logappend", 0, "", &S::logappend, 0, 0, "systemLog.logAppend",
           "Go on with an existing log file instead of setting it aside."},
    Option{kLog, "logFormat", 0, "FORMAT", &S::log_format, 0, 0, "systemLog.format",
           "text or json. Default text, as mongod json."},
    Option{kLog, "logDestination", 0, "PLACE", &S::log_destination, 0, 0, "systemLog.destination",
           "file, which needs --logpath."},
    Option{kLog, "quiet", 0, "", &S::quiet, 0, 0, "systemLog.quiet", "Once started, log warnings and errors only."},
    Option{kLog, "verbose", 'v', "LEVEL", &S::verbosity, 0, 5, "systemLog.verbosity",
           "Log debug messages up to LEVEL, 1 to 5; -v, -vv and so on count."},
    Option{kLog, "slowms", 0, "MS", &S::slow_ms, -1, kNoLimit,
           "operationProfiling.slowOpThresholdMs",
           "Log operations slower than this; -1 logs none."},

    Option{kAudit, "auditDestination", 0, "PLACE", &S::audit_destination, 0, 0, "auditLog.destination",
           "Tell who did what: to a file, the console or syslog."},
    Option{kAudit, "auditFormat", 0, "FORMAT", &S::audit_format, 0, 0, "auditLog.format",
           "JSON, a document a line."},
    Option{kAudit, "auditPath", 0, "FILE", &S::audit_path, 0, 0, "auditLog.path",
           "The file of --auditDestination file."},
    Option{kAudit, "auditFilter", 0, "QUERY", &S::audit_filter, 0, 0, "auditLog.filter",
           "Tell of events that match this query only, such as {\"atype\": \"authenticate\"}."},

    Option{kProcess, "fork", 0, "", &S::fork, 0, 0, "processManagement.fork",
           "Run in the background; needs --logpath. Returns once connections are taken."},
    Option{kProcess, "pidfilepath", 0, "FILE", &S::pidfilepath, 0, 0,
           "processManagement.pidFilePath", "Write the process id to a file."},
    Option{kProcess, "config", 'f', "FILE", &S::config, 0, 0, "",
           "Read options from a YAML file with mongod's keys."},

    Option{kReplication, "replSet", 0, "NAME", &S::repl_set, 0, 0, "replication.replSetName",
           "Name of the replica set; without --coord one that has no other members."},
    Option{kReplication, "coord", 0, "LIST", &S::coord, 0, 0, "replication.coord.servers",
           "Addresses of the etcd that the members of the set agree in, separated by commas."},
    Option{kReplication, "configdb", 0, "LIST", &S::coord, 0, 0, "sharding.configDB",
           "mongos's name of --coord."},
    Option{kReplication, "coordUser", 0, "NAME", &S::coord_user, 0, 0, "replication.coord.user",
           "Who this server is to etcd; with --coordPasswordFile."},
    Option{kReplication, "coordPasswordFile", 0, "FILE", &S::coord_password_file, 0, 0,
           "replication.coord.passwordFile", "File with the password of --coordUser."},
    Option{kReplication, "coordCAFile", 0, "FILE", &S::coord_ca_file, 0, 0,
           "replication.coord.CAFile", "PEM with the authorities of etcd's certificates."},
    Option{kReplication, "coordCertFile", 0, "FILE", &S::coord_certificate_file, 0, 0,
           "replication.coord.certificateFile", "PEM with the certificate this server shows etcd."},
    Option{kReplication, "coordKeyFile", 0, "FILE", &S::coord_key_file, 0, 0,
           "replication.coord.keyFile", "PEM with its key, when that is in a file of its own."},
    Option{kReplication, "clusterName", 0, "NAME", &S::cluster_name, 0, 0,
           "replication.clusterName", "Under which the sets of one cluster are kept in etcd."},

    Option{kOther, "setParameter", 0, "NAME=VALUE", &S::set_parameter, 0, 0, "setParameter",
           "Set a server parameter; may be repeated."},
    Option{kOther, "auth", 0, "", &S::auth, 0, 0, "",
           "Clients log in and do what their roles allow."},
    Option{kOther, "noauth", 0, "", &S::no_auth, 0, 0, "", "No access control, the default."},
    Option{kOther, "authorization", 0, "STATE", &S::authorization, 0, 0, "security.authorization",
           "enabled: the same as --auth; or disabled."},
    Option{kOther, "keyFile", 0, "FILE", &S::key_file, 0, 0, "security.keyFile",
           "File with the key that the members of the set share; turns --auth on."},
    Option{kOther, "clusterAuthMode", 0, "MODE", &S::cluster_auth_mode, 0, 0,
           "security.clusterAuthMode",
           "How members log in to each other: keyFile, or x509 with their certificates."},
    Option{kOther, "timeZoneInfo", 0, "FOLDER", &S::time_zone_info, 0, 0,
           "processManagement.timeZoneInfo",
           "Must exist; the time zones themselves are built in."},
    Option{kOther, "noscripting", 0, "", &S::no_scripting, 0, 0, "security.javascriptEnabled",
           "Refuse $where, $function, $accumulator and mapReduce."},
    Option{kOther, "help", 'h', "", &S::help, 0, 0, "", "Show this text."},
    Option{kOther, "version", 0, "", &S::version, 0, 0, "", "Show the version."},
};
// clang-format on

std::string Usage(const Option& option) {
  std::string text = option.letter != 0 ? std::string("  -") + option.letter + ", " : "      ";
  text += "--";
  text += option.name;
  if (!option.value.empty()) {
    text += ' ';
    text += option.value;
  }
  return text;
}

// "net.port" as sub-documents of `out`, in the order given.
struct Node {
  std::string name;
  std::vector<Node> children;
  const Option* option = nullptr;
};

Node* Child(Node* parent, std::string_view name) {
  for (Node& child : parent->children) {
    if (child.name == name) {
      return &child;
    }
  }
  parent->children.push_back(Node{std::string(name), {}, nullptr});
  return &parent->children.back();
}

void AppendSetting(const Option& option, std::string_view name, const Settings& settings,
                   bson::Builder* out) {
  std::visit(
      [&](auto member) {
        const auto& value = settings.*member;
        if constexpr (std::is_same_v<decltype(member), std::vector<std::string> S::*>) {
          out->BeginDocument(name);
          for (const std::string& pair : value) {
            size_t equals = pair.find('=');
            out->Append(pair.substr(0, equals), pair.substr(equals + 1));
          }
          out->End();
        } else if constexpr (std::is_same_v<decltype(member), int64_t S::*>) {
          out->Append(name, static_cast<int32_t>(value));
        } else if (option.name == "nounixsocket" || option.name == "noscripting") {
          out->Append(name, false);
        } else if (option.name == kPassword) {
          out->Append(name, kHidden);
        } else {
          out->Append(name, value);
        }
      },
      option.field);
}

void AppendNode(const Node& node, const Settings& settings, bson::Builder* out) {
  if (node.option != nullptr) {
    AppendSetting(*node.option, node.name, settings, out);
    return;
  }
  out->BeginDocument(node.name);
  for (const Node& child : node.children) {
    AppendNode(child, settings, out);
  }
  out->End();
}

}  // namespace

std::span<const Option> AllOptions() { return kOptions; }

std::vector<std::string> Shown(std::vector<std::string> argv) {
  const std::string option = "--" + std::string(kPassword);
  for (size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == option && i + 1 < argv.size()) {
      argv[++i] = kHidden;
    } else if (argv[i].starts_with(option + "=")) {
      argv[i] = option + "=" + std::string(kHidden);
    }
  }
  return argv;
}

bson::Document Parsed::ToDocument() const {
  Node root;
  for (const Option& option : kOptions) {
    if (given.count(option.name) == 0) {
      continue;
    }
    std::string_view rest = option.path.empty() ? option.name : option.path;
    Node* node = &root;
    while (!rest.empty()) {
      size_t dot = rest.find('.');
      node = Child(node, rest.substr(0, dot));
      rest = dot == std::string_view::npos ? "" : rest.substr(dot + 1);
    }
    node->option = &option;
  }
  bson::Builder out;
  for (const Node& child : root.children) {
    AppendNode(child, settings, &out);
  }
  return out.Finish();
}

// A router has no data, and is of no set.
bool IsFor(const Option& option, Role role) {
  if (option.name == "configdb") {
    return role == Role::kRouter;
  }
  return role == Role::kServer || (option.group != kStorage && option.name != "replSet");
}

bool ReachedFromOutside(std::string_view address) {
  return !address.starts_with('/') && !address.starts_with("127.") && !address.starts_with("[::1]");
}

std::string HelpText(std::string_view program, Role role) {
  std::string text =
      "usage: " + std::string(program) + " [OPTIONS]\n\n" +
      (role == Role::kRouter
           ? "Routes MongoDB's wire protocol to the shards of a cluster. It keeps no "
             "data: --coord names\nthe etcd that knows where everything lies.\n"
           : "Serves MongoDB's wire protocol: any MongoDB driver or mongosh "
             "connects.\n");
  std::string_view group;
  for (const Option& option : kOptions) {
    if (!IsFor(option, role)) {
      continue;
    }
    if (option.group != group) {
      group = option.group;
      text += "\n" + std::string(group) + ":\n";
    }
    std::string usage = Usage(option);
    constexpr size_t kColumn = 36;
    usage += usage.size() < kColumn ? std::string(kColumn - usage.size(), ' ')
                                    : "\n" + std::string(kColumn, ' ');
    text += usage + Wrapped(option.help, kColumn) + "\n";
  }
  text +=
      "\nExit codes, as mongod's: 0 ended as asked, 1 failed, 2 wrong usage, parameter or "
      "certificate,\n48 cannot listen, 100 the data cannot be opened.\n";
  return text;
}

}  // namespace quire::apps
