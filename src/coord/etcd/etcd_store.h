// SPDX-License-Identifier: Apache-2.0
//
// The coordination store in etcd (3.4 or newer), over its JSON gateway.
#pragma once

#include <memory>
#include <string>

#include "coord/coord.h"

namespace quire::coord {

struct EtcdOptions {
  // "http://a:2379", or several, separated by commas: "http://a:2379,http://b:2379,c:2379" (one
  // without a scheme has that of the first).
  std::string servers = {};
  // Where etcd asks for a login; empty: none.
  std::string user = {};
  std::string password = {};
  // PEM files for https: the authority that signed etcd's certificates, and our own certificate
  // where etcd asks for one (its key in a file of its own, or in the same).
  std::string ca_file = {};
  std::string certificate_file = {};
  std::string key_file = {};
};

// Connects with the first call. Error: BadValue for addresses that are none.
Result<std::unique_ptr<Store>> OpenEtcd(const EtcdOptions& options);

}  // namespace quire::coord
