// SPDX-License-Identifier: Apache-2.0
//
// `quire serve` and `quire route`.
#pragma once

#include <string>
#include <vector>

namespace quire::apps {

// How the program was called: by its own name, or by mongod's or mongos's through a link, which
// changes the defaults of the data folder and the log format to theirs.
enum class Manner { kQuire, kMongod };

// Serves until told to end; returns the exit code. `argv` is the whole command line as typed,
// `arguments` what follows the subcommand.
int Serve(Manner manner, const std::vector<std::string>& argv,
          const std::vector<std::string>& arguments);
// The same as the router of a sharded cluster.
int Route(Manner manner, const std::vector<std::string>& argv,
          const std::vector<std::string>& arguments);

}  // namespace quire::apps
