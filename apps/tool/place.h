// SPDX-License-Identifier: Apache-2.0
//
// The database a sub-command works on: at an address, or a folder opened in the process.
#pragma once

#include <string>
#include <vector>

#include "quire/quire.h"
#include "tool/options.h"

namespace quire::apps {

struct Place {
  std::string uri;
  std::string dbpath;
  std::string db;

  // --uri, --dbpath, --db.
  void AddOptions(std::vector<ToolOption>* rows);

  // Opens it, and fills `db` in: the one of --db, of the address, or "test". Without --uri and
  // --dbpath it is the server at mongodb://127.0.0.1:27017. Errors: BadValue, and those of
  // quire::Open and quire::Connect.
  Result<Client> Open();
};

}  // namespace quire::apps
