// SPDX-License-Identifier: Apache-2.0
//
// Every option of the server in one table: command line, configuration file, help text and
// getCmdLineOpts are all read from it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::apps {

// The values; their initialisers are the defaults.
struct Settings {
  // Storage.
  std::string dbpath;
  bool ephemeral = false;
  double cache_size_gb = 0;
  int64_t oplog_size_mb = 0;
  int64_t oplog_max_hours = 7 * 24;
  std::string storage_engine = "wiredTiger";
  bool journal = false;
  bool plain_storage = false;
  // Network.
  int64_t port = 27017;
  std::string bind_ip = "127.0.0.1";
  bool bind_ip_all = false;
  bool ipv6 = false;
  int64_t max_conns = 65536;
  std::string unix_socket_prefix = "/tmp";
  bool no_unix_socket = false;
  int64_t file_permissions = 0700;
  std::string compressors = "snappy,zstd,zlib";
  // TLS.
  std::string tls_mode;
  std::string tls_certificate_key_file;
  std::string tls_key_password;
  std::string tls_ca_file;
  std::string tls_crl_file;
  bool tls_without_certificates = false;
  bool tls_invalid_certificates = false;
  bool tls_invalid_hostnames = false;
  std::string tls_disabled_protocols;
  std::string tls_ciphers;
  // Log.
  std::string logpath;
  bool logappend = false;
  std::string log_format;
  std::string log_destination;
  bool quiet = false;
  int64_t verbosity = 0;
  int64_t slow_ms = 100;
  // Audit log.
  std::string audit_destination;
  std::string audit_format;
  std::string audit_path;
  std::string audit_filter;
  // Process.
  bool fork = false;
  std::string pidfilepath;
  std::string config;
  // Replica set.
  std::string repl_set = "quire";
  std::string coord;  // empty: the set has no other members
  std::string coord_user;
  std::string coord_password_file;
  std::string coord_ca_file;
  std::string coord_certificate_file;
  std::string coord_key_file;
  std::string cluster_name = "quire";
  // Security, parameters.
  bool auth = false;
  bool no_auth = false;
  std::string authorization;
  std::string key_file;
  std::string cluster_auth_mode;
  std::string time_zone_info;
  bool no_scripting = false;
  std::vector<std::string> set_parameter;
  bool help = false;
  bool version = false;
};

using Field = std::variant<bool Settings::*, int64_t Settings::*, double Settings::*,
                           std::string Settings::*, std::vector<std::string> Settings::*>;

struct Option {
  std::string_view group;  // heading in the help
  std::string_view name;   // "port" for --port
  char letter;             // 'f' for -f; 0: none
  std::string_view value;  // what the help calls its value; "" for switches
  Field field;
  double min;  // bounds of numbers
  double max;
  std::string_view path;  // in the configuration file; "": not allowed there
  std::string_view help;
};

// Every option, grouped in the order of the help. An option with two names has two rows.
std::span<const Option> AllOptions();

// What was given, and where it came from.
struct Parsed {
  Settings settings;
  std::set<std::string_view> given;  // names of options that were set
  // getCmdLineOpts' "parsed": the options given, by their configuration path.
  bson::Document ToDocument() const;
};

// The command line without what is secret in it.
std::vector<std::string> Shown(std::vector<std::string> argv);

// What the process is: not every option is for each.
enum class Role { kServer, kRouter };

// Reads a command line (without the program's name), then the file --config names; the command
// line wins. Error: BadValue with a text for the user.
Result<Parsed> ParseCommandLine(const std::vector<std::string>& arguments,
                                Role role = Role::kServer);

// Sets one option from text. Error: BadValue.
Status SetFromText(const Option& option, const std::string& text, Parsed* parsed);
// Why there is no option `name` (a path of the configuration file when `is_path`, where `shown` is
// as it was written), and which one may have been meant.
Status UnknownOption(std::string_view name, std::string_view shown, bool is_path);
// Reads the YAML file at `path`; options in parsed->given keep their values.
Status ReadConfigFile(const std::string& path, Parsed* parsed);

// The text of --help.
std::string HelpText(std::string_view program, Role role = Role::kServer);
// Whether the option is for the role.
bool IsFor(const Option& option, Role role);

// Whether other machines may reach what listens on `address`, written as the log shows it.
bool ReachedFromOutside(std::string_view address);

}  // namespace quire::apps
