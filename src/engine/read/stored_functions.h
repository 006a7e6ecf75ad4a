// SPDX-License-Identifier: Apache-2.0
//
// The functions kept in a database's collection system.js, which $where and mapReduce may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "js/script.h"

namespace quire::engine {

class SystemJs : public js::StoredFunctions {
 public:
  // `engine` outlives it.
  SystemJs(Engine* engine, std::string_view database) : engine_(*engine), database_(database) {}
  Result<std::vector<bson::Document>> Load() const override;

 private:
  Engine& engine_;
  std::string database_;
};

}  // namespace quire::engine
