// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
#include <memory>

#include "base/error_codes.h"
#include "base/mutex.h"

namespace quire::log {
namespace {

constexpr size_t kRecentLines = 1024;
// Clients decide what some attributes say: a name may have 16 MB, and lines are kept.
constexpr size_t kMostText = 10 << 10;

constexpr Component kComponents[] = {
    {"accessControl", "", "ACCESS"}, {"command", "", "COMMAND"},
    {"control", "", "CONTROL"},      {"geo", "", ""},
    {"index", "", "INDEX"},          {"network", "", "NETWORK"},
    {"asio", "network", ""},         {"query", "", "QUERY"},
    {"replication", "", "REPL"},     {"sharding", "", ""},
    {"storage", "", "STORAGE"},      {"journal", "storage", ""},
    {"recovery", "storage", ""},     {"transaction", "", "TXN"},
    {"write", "", "WRITE"},
};
constexpr size_t kComponentCount = std::size(kComponents);

struct Ring {
  std::deque<std::string> lines;
  int64_t total = 0;

  void Add(const std::string& line) {
    lines.push_back(line);
    ++total;
    if (lines.size() > kRecentLines) {
      lines.pop_front();
    }
  }
  Recent Copy() const { return {{lines.begin(), lines.end()}, total}; }
};

struct State {
  Mutex mutex;
  Options options QUIRE_GUARDED_BY(mutex);
  std::shared_ptr<spdlog::logger> logger QUIRE_GUARDED_BY(mutex);
  Ring recent QUIRE_GUARDED_BY(mutex);
  Ring startup QUIRE_GUARDED_BY(mutex);
  bool starting QUIRE_GUARDED_BY(mutex) = true;
  std::atomic<int> verbosity{0};
  std::atomic<int> components[kComponentCount];  // -1: as verbosity
  std::atomic<int> highest{0};                   // of all of them
  std::atomic<bool> quiet{false};
};

State& Global() {
  static State* state = [] {
    auto* fresh = new State;  // lives until the process ends: threads may still log
    for (auto& level : fresh->components) {
      level = -1;
    }
    return fresh;
  }();
  return *state;
}

void FindHighest(State& state) {
  int highest = state.verbosity;
  for (const auto& level : state.components) {
    highest = std::max(highest, level.load());
  }
  state.highest = highest;
}

int LevelOf(State& state, std::string_view tag) {
  for (size_t i = 0; i < kComponentCount; ++i) {
    if (kComponents[i].tag == tag && state.components[i] >= 0) {
      return state.components[i];
    }
  }
  return state.verbosity;
}

std::shared_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>("quire", std::move(sink));
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  return logger;
}

std::string Now() {
  auto now = std::chrono::system_clock::now();
  auto millis =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  time_t seconds = static_cast<time_t>(millis / 1000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(text + size, sizeof text - size, ".%03d+00:00", static_cast<int>(millis % 1000));
  return text;
}

char Letter(Severity severity) {
  constexpr char kLetters[] = {'D', 'I', 'W', 'E', 'F'};
  return kLetters[static_cast<size_t>(severity)];
}

void AppendQuoted(std::string_view text, std::string* out) {
  *out += '"';
  for (char c : text) {
    switch (c) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\t':
        *out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          char code[8];
          snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
          *out += code;
        } else {
          *out += c;
        }
    }
  }
  *out += '"';
}

struct AppendValue {
  std::string* out;
  void operator()(int64_t v) const { *out += std::to_string(v); }
  void operator()(double v) const {
    char text[32];
    snprintf(text, sizeof text, "%g", v);
    *out += text;
  }
  void operator()(bool v) const { *out += v ? "true" : "false"; }
  void operator()(std::string_view v) const { AppendQuoted(Beginning(v, kMostText), out); }
  void operator()(Json v) const {
    if (v.text.size() > kMostText) {
      AppendQuoted(Beginning(v.text, kMostText), out);  // a part of it is no JSON any more
    } else {
      *out += v.text;
    }
  }
};

// 0: it is no text.
size_t TextSize(const Attribute& attribute) {
  if (const auto* json = std::get_if<Json>(&attribute.value)) {
    return json->text.size();
  }
  const auto* text = std::get_if<std::string_view>(&attribute.value);
  return text == nullptr ? 0 : text->size();
}

std::string ThreadName() {
  char name[32] = "main";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

// Which texts were cut, and their whole sizes.
void AppendTruncated(Attributes attributes, std::string* line) {
  bool first = true;
  for (const Attribute& attribute : attributes) {
    if (const size_t size = TextSize(attribute); size > kMostText) {
      *line += first ? ",\"truncated\":{" : ",";
      first = false;
      AppendQuoted(attribute.name, line);
      *line += ":{\"type\":\"string\",\"size\":" + std::to_string(size) + "}";
    }
  }
  *line += first ? "" : "}";
}

std::string JsonLine(Severity severity, std::string_view component, std::string_view message,
                     Attributes attributes) {
  std::string line =
      "{\"t\":{\"$date\":\"" + Now() + "\"},\"s\":\"" + Letter(severity) + "\",\"c\":";
  AppendQuoted(component, &line);
  line += ",\"id\":0,\"ctx\":";
  AppendQuoted(ThreadName(), &line);
  line += ",\"msg\":";
  AppendQuoted(message, &line);
  if (attributes.size() > 0) {
    line += ",\"attr\":{";
    bool first = true;
    for (const Attribute& attribute : attributes) {
      line += first ? "" : ",";
      first = false;
      AppendQuoted(attribute.name, &line);
      line += ':';
      std::visit(AppendValue{&line}, attribute.value);
    }
    line += '}';
    AppendTruncated(attributes, &line);
  }
  line += '}';
  return line;
}

std::string TextLine(Severity severity, std::string_view component, std::string_view message,
                     Attributes attributes) {
  std::string line = Now();
  line += ' ';
  line += Letter(severity);
  line += ' ';
  line += component;
  line.append(component.size() < 8 ? 8 - component.size() : 0, ' ');
  line += ' ';
  line += message;
  for (const Attribute& attribute : attributes) {
    line += ' ';
    line += attribute.name;
    line += '=';
    std::visit(AppendValue{&line}, attribute.value);
  }
  return line;
}

// Moves an existing file away under a name with the time.
void SetAside(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0) {
    (void)rename(path.c_str(), NameAside(path).c_str());
  }
}

// spdlog reports a file it cannot open by throwing; nothing of it leaves here.
Status OpenFile(const std::string& path, std::shared_ptr<spdlog::logger>* out) {
  try {
    *out = MakeLogger(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path, false));
    return Status::Ok();
  } catch (const spdlog::spdlog_ex& e) {
    return {kFileNotOpen, "Failed to open log file " + path + ": " + e.what()};
  }
}

}  // namespace

Status Open(const Options& options) {
  State& state = Global();
  MutexLock lock(state.mutex);
  if (options.path.empty()) {
    state.logger = MakeLogger(std::make_shared<spdlog::sinks::stdout_sink_mt>());
  } else {
    if (!options.append) {
      SetAside(options.path);
    }
    if (Status status = OpenFile(options.path, &state.logger); !status.ok()) {
      return status;
    }
  }
  state.options = options;
  state.verbosity = options.verbosity;
  FindHighest(state);
  state.quiet = options.quiet;
  return Status::Ok();
}

Status Rotate() {
  State& state = Global();
  MutexLock lock(state.mutex);
  if (state.options.path.empty()) {
    return Status::Ok();
  }
  if (!state.options.append) {
    SetAside(state.options.path);
  }
  return OpenFile(state.options.path, &state.logger);
}

std::string NameAside(const std::string& path) {
  time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char suffix[32];
  strftime(suffix, sizeof suffix, ".%Y-%m-%dT%H-%M-%S", &parts);
  std::string target = path + suffix;
  for (int n = 1; access(target.c_str(), F_OK) == 0; ++n) {
    target = path + suffix + "-" + std::to_string(n);
  }
  return target;
}

void Flush() {
  State& state = Global();
  MutexLock lock(state.mutex);
  if (state.logger) {
    state.logger->flush();
  }
}

void Write(Severity severity, std::string_view component, std::string_view message,
           Attributes attributes) {
  State& state = Global();
  std::string json = JsonLine(severity, component, message, attributes);
  bool shown = severity != Severity::kInfo || !state.quiet.load(std::memory_order_relaxed);
  MutexLock lock(state.mutex);
  if (shown && state.logger) {
    state.logger->info("{}", state.options.format == Format::kJson
                                 ? json
                                 : TextLine(severity, component, message, attributes));
  }
  state.recent.Add(json);
  if (state.starting && severity >= Severity::kWarning) {
    state.startup.Add(json);
  }
}

void Debug(int level, std::string_view component, std::string_view message, Attributes a) {
  State& state = Global();
  if (level <= state.highest.load(std::memory_order_relaxed) &&
      level <= LevelOf(state, component)) {
    Write(Severity::kDebug, component, message, a);
  }
}

int Verbosity() { return Global().verbosity.load(std::memory_order_relaxed); }
void SetVerbosity(int level) {
  Global().verbosity = level;
  FindHighest(Global());
}

std::span<const Component> Components() { return kComponents; }
int ComponentVerbosity(size_t index) { return Global().components[index]; }
void SetComponentVerbosity(size_t index, int level) {
  Global().components[index] = level;
  FindHighest(Global());
}

bool Quiet() { return Global().quiet; }
void SetQuiet(bool quiet) { Global().quiet = quiet; }

std::string_view Beginning(std::string_view text, size_t most) {
  if (text.size() <= most) {
    return text;
  }
  size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

Recent RecentLines() {
  State& state = Global();
  MutexLock lock(state.mutex);
  return state.recent.Copy();
}

Recent StartupWarnings() {
  State& state = Global();
  MutexLock lock(state.mutex);
  return state.startup.Copy();
}

void EndStartup() {
  State& state = Global();
  MutexLock lock(state.mutex);
  state.starting = false;
}

std::string Quote(std::string_view text) {
  std::string out;
  AppendQuoted(text, &out);
  return out;
}

}  // namespace quire::log
