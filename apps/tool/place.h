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

  // Error: BadValue, with a text for the user, when the options do not go together.
  Status Check() const;

  // Opens it, and fills `db` in: the one of --db, of the address, or "test". Without --uri and
  // --dbpath it is the server at mongodb://127.0.0.1:27017. Errors: those of quire::Open and
  // quire::Connect.
  Result<Client> Open();

  // The same to read alone. Error: NamespaceNotFound when the folder is not there, where Open makes
  // one.
  Result<Client> OpenExisting();
};

}  // namespace quire::apps
