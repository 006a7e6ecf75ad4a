// SPDX-License-Identifier: Apache-2.0
//
// Structured logging: one line per event, as JSON in the shape MongoDB's tools read
// ({t, s, c, ctx, msg, attr}) or as text. Safe for concurrent use. Before Open nothing is written,
// only kept for getLog: a program that embeds the library sees no line of it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quire/status.h"

namespace quire::log {

enum class Severity { kDebug, kInfo, kWarning, kError, kFatal };
enum class Format { kText, kJson };

struct Options {
  std::string path;     // empty: standard output
  bool append = false;  // false: an existing file is renamed with the time and begun anew
  Format format = Format::kText;
  int verbosity = 0;   // debug messages up to this level (0 to 5) are written
  bool quiet = false;  // info messages are kept for getLog only
};

// Text that is JSON already; one too long to be shown whole is shown as a string.
struct Json {
  std::string_view text;
};

// A named value of an event.
struct Attribute {
  std::string_view name;
  std::variant<int64_t, double, bool, std::string_view, Json> value;

  Attribute(std::string_view n, int v) : name(n), value(int64_t{v}) {}
  Attribute(std::string_view n, int64_t v) : name(n), value(v) {}
  Attribute(std::string_view n, size_t v) : name(n), value(static_cast<int64_t>(v)) {}
  Attribute(std::string_view n, double v) : name(n), value(v) {}
  Attribute(std::string_view n, bool v) : name(n), value(v) {}
  Attribute(std::string_view n, const char* v) : name(n), value(std::string_view(v)) {}
  Attribute(std::string_view n, std::string_view v) : name(n), value(v) {}
  Attribute(std::string_view n, const std::string& v) : name(n), value(std::string_view(v)) {}
  Attribute(std::string_view n, Json v) : name(n), value(v) {}
};
using Attributes = std::initializer_list<Attribute>;

// Starts logging as `options` says. Error: FileNotOpen.
Status Open(const Options& options);
// Begins a new file (the old one keeps its content under a name with the time), or reopens the
// path when logs are appended. Nothing to do on standard output. Error: FileNotOpen.
Status Rotate();
void Flush();
// A name for a log file that is set aside: the path, the time, and a number when that is taken.
std::string NameAside(const std::string& path);

// `component` is MongoDB's short name: NETWORK, COMMAND... Of long texts the first 10 KB are shown.
void Write(Severity severity, std::string_view component, std::string_view message,
           Attributes attributes = {});
inline void Info(std::string_view component, std::string_view message, Attributes a = {}) {
  Write(Severity::kInfo, component, message, a);
}
inline void Warning(std::string_view component, std::string_view message, Attributes a = {}) {
  Write(Severity::kWarning, component, message, a);
}
inline void Error(std::string_view component, std::string_view message, Attributes a = {}) {
  Write(Severity::kError, component, message, a);
}
// Written when the component's verbosity is at least `level` (1 to 5).
void Debug(int level, std::string_view component, std::string_view message, Attributes a = {});

int Verbosity();
void SetVerbosity(int level);

// A component as logComponentVerbosity names it; `parent` is "" or another one's name.
struct Component {
  std::string_view name;
  std::string_view parent;
  std::string_view tag;  // the component of Write; "" when nothing logs under it
};
std::span<const Component> Components();
// -1: as its parent, or as Verbosity(). REQUIRES: index < Components().size().
int ComponentVerbosity(size_t index);
void SetComponentVerbosity(size_t index, int level);

bool Quiet();
void SetQuiet(bool quiet);

// The most recent lines (oldest first), and how many were ever written, for getLog.
struct Recent {
  std::vector<std::string> lines;
  int64_t total = 0;
};
Recent RecentLines();
// The same for warnings and errors of the start-up.
Recent StartupWarnings();
// From here on warnings are no longer start-up warnings.
void EndStartup();

// `text` as a JSON string, quotes included.
std::string Quote(std::string_view text);

// The first `most` bytes of a text, or less: up to the end of a character.
std::string_view Beginning(std::string_view text, size_t most);

}  // namespace quire::log
