// SPDX-License-Identifier: Apache-2.0
#include "kv/open.h"

#include <string>

#include "base/error_codes.h"
#include "kv/memory/memory_store.h"
#include "kv/rocks/rocks_store.h"

namespace quire::kv {
namespace {

using Opened = Result<std::unique_ptr<Store>>;

Opened OpenMemory(std::string_view rest, const OpenOptions& /*options*/) {
  if (!rest.empty()) {
    return Status(kBadValue, "A store in memory has no folder: " + std::string(rest));
  }
  return NewMemoryStore();
}

Opened OpenRocksAt(std::string_view folder, const OpenOptions& options) {
  return OpenRocks({.path = std::string(folder),
                    .ephemeral = folder.empty(),
                    .cache_bytes = options.cache_bytes,
                    .sections = options.sections,
                    .max_open_files = options.max_open_files,
                    .plain = options.plain});
}

struct Scheme {
  std::string_view name;
  Opened (*open)(std::string_view rest, const OpenOptions& options);
};

constexpr Scheme kSchemes[] = {
    {"rocks:", OpenRocksAt},
    {"memory:", OpenMemory},
};

}  // namespace

Result<std::unique_ptr<Store>> Open(std::string_view uri, const OpenOptions& options) {
  for (const Scheme& scheme : kSchemes) {
    if (uri.starts_with(scheme.name)) {
      return scheme.open(uri.substr(scheme.name.size()), options);
    }
  }
  return Status(kBadValue, "No storage backend has an address like " + std::string(uri));
}

}  // namespace quire::kv
