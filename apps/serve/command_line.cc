// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <numeric>

#include "audit/log.h"
#include "auth/key_file.h"
#include "base/error_codes.h"
#include "base/try.h"
#include "coord/etcd/etcd_store.h"
#include "serve/settings.h"
#include "server/tls.h"

namespace quire::apps {
namespace {

// Options of mongod that ask for what does not exist here, with what to tell the user.
struct Refused {
  std::string_view name;
  std::string_view why;
  std::string_view path = "-";  // in a configuration file, where it has one
};
constexpr Refused kRefused[] = {
    {"nojournal", "the journal cannot be turned off; --ephemeral keeps nothing on disk"},
    {"shardsvr", "every replica set with --coord can be a shard", "sharding.clusterRole"},
    {"configsvr", "what config servers keep lies in etcd: --coord"},
    {"repair", "the store repairs itself at start; there is nothing to ask for"},
    {"directoryperdb", "all databases share one store", "storage.directoryPerDB"},
    {"syslog", "logs go to standard output or to --logpath"},
    {"sslMode", "use --tlsMode"},
    {"sslPEMKeyFile", "use --tlsCertificateKeyFile"},
    {"sslCAFile", "use --tlsCAFile"},
    {"tlsOnNormalPorts", "use --tlsMode requireTLS"},
    {"tlsClusterFile", "members show each other --tlsCertificateKeyFile", "net.tls.clusterFile"},
    {"tlsClusterCAFile", "members check each other by --tlsCAFile"},
    {"tlsClusterPassword", "members show each other --tlsCertificateKeyFile"},
    {"tlsFIPSMode", "OpenSSL's own configuration decides that"},
    {"tlsCertificateSelector", "certificates come from --tlsCertificateKeyFile"},
};

Status Bad(std::string text) { return {kBadValue, std::move(text)}; }

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      bool same = tolower(a[i - 1]) == tolower(b[j - 1]);
      size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = std::exchange(row[j], next);
    }
  }
  return row[b.size()];
}

const Option* Find(std::string_view name) {
  for (const Option& option : AllOptions()) {
    if (option.name == name) {
      return &option;
    }
  }
  return nullptr;
}

const Option* FindLetter(char letter) {
  for (const Option& option : AllOptions()) {
    if (letter != 0 && option.letter == letter) {
      return &option;
    }
  }
  return nullptr;
}

Result<bool> ToBool(const std::string& text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return Bad("is not true or false");
}

Result<double> ToNumber(const Option& option, const std::string& text, bool whole) {
  char* end = nullptr;
  errno = 0;
  bool octal = option.name == "filePermissions" && text.starts_with('0');
  double value = whole ? static_cast<double>(strtoll(text.c_str(), &end, octal ? 8 : 10))
                       : strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || errno != 0) {
    return Bad("is not a number");
  }
  if (value < option.min || value > option.max) {
    auto show = [](double v) { return std::to_string(static_cast<int64_t>(v)); };
    return Bad("is not between " + show(option.min) + " and " + show(option.max));
  }
  return value;
}

struct Store {
  const Option& option;
  const std::string& text;
  Settings& settings;

  Status operator()(bool Settings::*member) const {
    ASSIGN_OR_RETURN(settings.*member, ToBool(text));
    return Status::Ok();
  }
  Status operator()(int64_t Settings::*member) const {
    ASSIGN_OR_RETURN(double value, ToNumber(option, text, true));
    settings.*member = static_cast<int64_t>(value);
    return Status::Ok();
  }
  Status operator()(double Settings::*member) const {
    ASSIGN_OR_RETURN(settings.*member, ToNumber(option, text, false));
    return Status::Ok();
  }
  Status operator()(std::string Settings::*member) const {
    settings.*member = text;
    return Status::Ok();
  }
  Status operator()(std::vector<std::string> Settings::*member) const {
    if (text.find('=') == std::string::npos) {
      return Bad("is not of the form name=value");
    }
    (settings.*member).push_back(text);
    return Status::Ok();
  }
};

bool IsSwitch(const Option& option) {
  return std::holds_alternative<bool Settings::*>(option.field);
}

// Walks the arguments one option at a time.
class Parser {
 public:
  Parser(const std::vector<std::string>& arguments, Parsed* out)
      : arguments_(arguments), out_(out) {}

  Status Run() {
    while (at_ < arguments_.size()) {
      const std::string& argument = arguments_[at_++];
      if (argument.starts_with("--")) {
        RETURN_IF_ERROR(Long(argument));
      } else if (argument.size() > 1 && argument[0] == '-') {
        RETURN_IF_ERROR(Short(argument));
      } else {
        return Bad("unexpected argument '" + argument + "'");
      }
    }
    return Status::Ok();
  }

 private:
  Status Long(const std::string& argument) {
    size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const Option* option = Find(name);
    if (option == nullptr) {
      return UnknownOption(name, argument, false);
    }
    if (equals != std::string::npos) {
      return SetFromText(*option, argument.substr(equals + 1), out_);
    }
    return Take(*option, argument);
  }

  Status Short(const std::string& argument) {
    if (argument.find_first_not_of('v', 1) == std::string::npos) {
      return SetFromText(*Find("verbose"), std::to_string(argument.size() - 1), out_);
    }
    const Option* option = argument.size() == 2 ? FindLetter(argument[1]) : nullptr;
    return option == nullptr ? UnknownOption(argument.substr(1), argument, false)
                             : Take(*option, argument);
  }

  Status Take(const Option& option, const std::string& argument) {
    if (IsSwitch(option)) {
      return SetFromText(option, "true", out_);
    }
    if (at_ == arguments_.size() || arguments_[at_].starts_with("--")) {
      if (option.name == "verbose") {
        return SetFromText(option, "1", out_);
      }
      return Bad("option '" + argument + "' needs a value");
    }
    return SetFromText(option, arguments_[at_++], out_);
  }

  const std::vector<std::string>& arguments_;
  Parsed* out_;
  size_t at_ = 0;
};

bool IsFile(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

Status CheckAccess(const Settings& s) {
  if (!s.authorization.empty() && s.authorization != "enabled" && s.authorization != "disabled") {
    return Bad("security.authorization must be enabled or disabled");
  }
  if (s.no_auth && (s.auth || s.authorization == "enabled" || !s.key_file.empty())) {
    return Bad("--noauth excludes --auth and --keyFile");
  }
  if (!s.key_file.empty()) {
    if (auto key = auth::ReadKeyFile(s.key_file); !key.ok()) {
      return Bad("--keyFile: " + key.status().message());
    }
  }
  if (!s.time_zone_info.empty() && !IsFile(s.time_zone_info)) {
    return Bad("--timeZoneInfo: there is no '" + s.time_zone_info + "'");
  }
  return Status::Ok();
}

Status CheckRouter(const Parsed& parsed) {
  for (const Option& option : AllOptions()) {
    if (parsed.given.count(option.name) != 0 && !IsFor(option, Role::kRouter)) {
      return Bad("--" + std::string(option.name) + " is not for a router, which keeps no data");
    }
  }
  return parsed.settings.coord.empty() ? Bad("a router needs --coord: where the cluster is kept")
                                       : Status::Ok();
}

Status CheckMembers(const Parsed& parsed, Role role) {
  const Settings& s = parsed.settings;
  if (s.repl_set.empty()) {
    return Bad("--replSet needs a name");
  }
  if (s.cluster_name.empty() || s.cluster_name.find('/') != std::string::npos) {
    return Bad("--clusterName needs a name without '/'");
  }
  const std::string& mode = s.cluster_auth_mode;
  if (!mode.empty() && mode != "keyFile" && mode != "x509") {
    return Bad("--clusterAuthMode must be keyFile or x509");
  }
  if (mode == "keyFile" && s.key_file.empty()) {
    return Bad("--clusterAuthMode keyFile needs --keyFile");
  }
  if (mode == "x509" && (s.tls_ca_file.empty() || !s.key_file.empty() || s.no_auth)) {
    return Bad("--clusterAuthMode x509 needs --tlsCAFile, and excludes --keyFile and --noauth");
  }
  if (s.coord.empty()) {
    for (std::string_view name : parsed.given) {
      if (name.starts_with("coord") || name == "clusterName") {
        return Bad("--" + std::string(name) + " needs --coord");
      }
    }
    return Status::Ok();
  }
  if (parsed.given.count("configdb") != 0 && role == Role::kServer) {
    return Bad("--configdb is for a router: quire route");
  }
  if (role == Role::kServer && parsed.given.count("replSet") == 0) {
    return Bad("--coord needs --replSet");
  }
  if (auto store = coord::OpenEtcd({.servers = s.coord}); !store.ok()) {
    return Bad("--coord: " + store.status().message());
  }
  if (s.ephemeral || s.storage_engine != "wiredTiger") {
    return Bad("a member of a set keeps its data in a folder");
  }
  if (s.coord_user.empty() != s.coord_password_file.empty()) {
    return Bad("--coordUser and --coordPasswordFile need each other");
  }
  for (const std::string& file :
       {s.coord_password_file, s.coord_ca_file, s.coord_certificate_file, s.coord_key_file}) {
    if (!file.empty() && !IsFile(file)) {
      return Bad("cannot read '" + file + "'");
    }
  }
  return Status::Ok();
}

Status CheckTls(const Parsed& parsed) {
  const Settings& s = parsed.settings;
  ASSIGN_OR_RETURN(server::TlsMode mode,
                   server::ParseTlsMode(s.tls_mode.empty() ? "disabled" : s.tls_mode));
  RETURN_IF_ERROR(tls::ParseVersions(s.tls_disabled_protocols).status());
  if (mode != server::TlsMode::kDisabled) {
    return s.tls_certificate_key_file.empty()
               ? Bad("need tlsCertificateKeyFile when TLS is enabled")
               : Status::Ok();
  }
  for (std::string_view name : parsed.given) {
    if (name.starts_with("tls") && name != "tlsMode") {
      return Bad("need to enable TLS via the tlsMode flag when using TLS configuration parameters");
    }
  }
  return Status::Ok();
}

Status CheckAudit(const Settings& s) {
  const std::string& destination = s.audit_destination;
  if (destination.empty()) {
    return s.audit_format.empty() && s.audit_path.empty() && s.audit_filter.empty()
               ? Status::Ok()
               : Bad("--auditFormat, --auditPath and --auditFilter need --auditDestination");
  }
  if (destination != "file" && destination != "console" && destination != "syslog") {
    return Bad("--auditDestination must be file, console or syslog");
  }
  if ((destination == "file") == s.audit_path.empty()) {
    return Bad(s.audit_path.empty() ? "--auditDestination file needs --auditPath"
                                    : "--auditPath needs --auditDestination file");
  }
  if (!s.audit_format.empty() && s.audit_format != "JSON") {
    return Bad("--auditFormat must be JSON");
  }
  return audit::ParseFilter(s.audit_filter).status();
}

Status CheckTogether(const Parsed& parsed, Role role) {
  const Settings& s = parsed.settings;
  if (s.fork && s.logpath.empty()) {
    return Bad("--fork needs --logpath");
  }
  if (s.log_destination == "syslog") {
    return UnknownOption("syslog", "--syslog", false);
  }
  if (!s.log_destination.empty() && (s.log_destination != "file" || s.logpath.empty())) {
    return Bad("systemLog.destination must be file, together with systemLog.path");
  }
  if (!s.log_format.empty() && s.log_format != "text" && s.log_format != "json") {
    return Bad("--logFormat must be text or json");
  }
  RETURN_IF_ERROR(CheckAccess(s));
  RETURN_IF_ERROR(CheckTls(parsed));
  RETURN_IF_ERROR(CheckAudit(s));
  if (s.storage_engine != "wiredTiger" && s.storage_engine != "inMemory" &&
      s.storage_engine != "ephemeralForTest") {
    return Bad("unknown storage engine '" + s.storage_engine + "'");
  }
  if (s.bind_ip_all && parsed.given.count("bind_ip") != 0) {
    return Bad("--bind_ip and --bind_ip_all exclude each other");
  }
  if (role == Role::kRouter) {
    RETURN_IF_ERROR(CheckRouter(parsed));
  }
  return CheckMembers(parsed, role);
}

}  // namespace

Status UnknownOption(std::string_view name, std::string_view shown, bool is_path) {
  for (const Refused& refused : kRefused) {
    if ((is_path ? refused.path : refused.name) == name) {
      return Bad((is_path ? "" : "--") + std::string(name) +
                 " is not supported: " + std::string(refused.why));
    }
  }
  std::string_view nearest;
  size_t best = std::max<size_t>(2, name.size() / 3) + 1;
  for (const Option& option : AllOptions()) {
    const std::string_view known = is_path ? option.path : option.name;
    const size_t distance = EditDistance(name, known);
    if (!known.empty() && distance < best) {
      best = distance;
      nearest = known;
    }
  }
  std::string text = "unknown option '" + std::string(shown) + "'";
  if (!nearest.empty()) {
    text += "; did you mean '" + std::string(is_path ? "" : "--") + std::string(nearest) + "'?";
  }
  return Bad(text);
}

Status SetFromText(const Option& option, const std::string& text, Parsed* parsed) {
  Status status = std::visit(Store{option, text, parsed->settings}, option.field);
  if (!status.ok()) {
    return Bad("--" + std::string(option.name) + ": '" + text + "' " + status.message());
  }
  parsed->given.insert(option.name);
  return Status::Ok();
}

Result<Parsed> ParseCommandLine(const std::vector<std::string>& arguments, Role role) {
  Parsed parsed;
  RETURN_IF_ERROR(Parser(arguments, &parsed).Run());
  if (parsed.settings.help || parsed.settings.version) {
    return parsed;  // nothing will be started, so nothing is missing
  }
  if (!parsed.settings.config.empty()) {
    RETURN_IF_ERROR(ReadConfigFile(parsed.settings.config, &parsed));
  }
  RETURN_IF_ERROR(CheckTogether(parsed, role));
  return parsed;
}

}  // namespace quire::apps
