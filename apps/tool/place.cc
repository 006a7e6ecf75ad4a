// SPDX-License-Identifier: Apache-2.0
#include "tool/place.h"

#include <filesystem>

#include "base/error_codes.h"

namespace quire::apps {
namespace {

constexpr std::string_view kDefaultUri = "mongodb://127.0.0.1:27017";
constexpr std::string_view kDefaultDatabase = "test";

// The database an address names after its hosts; "" when it names none.
std::string DatabaseOf(std::string_view uri) {
  size_t hosts = uri.find("://");
  hosts = hosts == std::string_view::npos ? 0 : hosts + 3;
  const size_t slash = uri.find('/', hosts);
  if (slash == std::string_view::npos) {
    return "";
  }
  return std::string(uri.substr(slash + 1, uri.find('?', slash) - slash - 1));
}

}  // namespace

void Place::AddOptions(std::vector<ToolOption>* rows) {
  rows->push_back({"uri", 0, "ADDRESS", &uri,
                   "Address of the server, mongodb://host:port/database?options. Default "
                   "mongodb://127.0.0.1:27017."});
  rows->push_back({"dbpath", 0, "FOLDER", &dbpath,
                   "Open this folder in the process instead; no server may have it open."});
  rows->push_back({"db", 'd', "NAME", &db, "Database. Default: the address's, or test."});
}

Status Place::Check() const {
  if (!uri.empty() && !dbpath.empty()) {
    return {kBadValue, "--uri and --dbpath exclude each other"};
  }
  if (!uri.empty() && !uri.starts_with("mongodb://") && !uri.starts_with("mongodb+srv://")) {
    return {kBadValue, "--uri: '" + uri + "' is no address: write mongodb://host:port"};
  }
  return Status::Ok();
}

Result<Client> Place::Open() {
  if (db.empty()) {
    db = DatabaseOf(uri);
  }
  if (db.empty()) {
    db = kDefaultDatabase;
  }
  return dbpath.empty() ? Connect(uri.empty() ? kDefaultUri : std::string_view(uri))
                        : quire::Open(dbpath);
}

Result<Client> Place::OpenExisting() {
  std::error_code ignored;
  if (!dbpath.empty() && !std::filesystem::is_directory(dbpath, ignored)) {
    return Status(kNamespaceNotFound, "--dbpath: there is no folder '" + dbpath + "'");
  }
  return Open();
}

}  // namespace quire::apps
