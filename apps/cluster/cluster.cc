// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error_codes.h"
#include "base/try.h"
#include "cluster/layout.h"
#include "cluster/members.h"
#include "cluster/status.h"
#include "quire/quire.h"
#include "tool/options.h"

namespace quire::apps {
namespace {

constexpr auto kStartLimit = std::chrono::seconds(120);
constexpr auto kStopLimit = std::chrono::seconds(60);
constexpr int64_t kNotGiven = -1;

struct CommandLine {
  std::string folder;
  std::string store;
  std::string key_file;
  std::vector<std::string> member_options;
  int64_t shards = kNotGiven;
  int64_t members = kNotGiven;
  int64_t routers = kNotGiven;
  int64_t port = kNotGiven;
  bool json = false;
  bool help = false;
  std::vector<std::string> words;  // what to do, and to which process

  std::vector<ToolOption> Options() {
    return {
        {"dir", 0, "FOLDER", &folder, "Where the cluster lies: data, logs and cluster.json."},
        {"shards", 0, "N", &shards, "up: how many sets share the data. Default 1.", 1, 100},
        {"members", 0, "N", &members, "up: members of each set. Default 3.", 1, 7},
        {"routers", 0, "N", &routers, "up: routers. Default 1 with several shards, else none.", 0,
         100},
        {"port", 'p', "PORT", &port,
         "up: of the first router, or without one of the first member; the others follow. 0: free "
         "ports. Default 27017.",
         0, 65'000},
        {"etcd", 0, "URL", &store,
         "up: use this etcd (http://HOST:PORT,...) instead of starting one."},
        {"keyFile", 0, "FILE", &key_file,
         "up: the processes know each other by this key, and clients have to log in."},
        {"option", 0, "TEXT", &member_options,
         "up: a further option of every member, as in --option=--cacheSizeGB=1."},
        {"json", 0, "", &json, "status: print one JSON document."},
        {"help", 'h', "", &help, "Show this text."},
    };
  }
};

struct Job {
  std::string_view name;
  bool names_process;
  Status (*run)(CommandLine& line);
  std::string_view help;
};

std::string ThisProgram() { return std::filesystem::read_symlink("/proc/self/exe"); }

Status CheckEtcdInstalled() {
  return IsInstalled("etcd") ? Status::Ok()
                             : Status(kNoSuchKey,
                                      "etcd is not in PATH: install Debian's package etcd-server, "
                                      "or name one that runs with --etcd URL");
}

std::string Hint(const std::string& job, const Process& process, const ClusterLayout& layout) {
  return "quire cluster " + job + " " + process.name + " --dir " + layout.folder;
}

Status StartOne(ClusterLayout& layout, Process& process) {
  if (StateOf(process) != ProcessState::kEnded) {
    return Status::Ok();
  }
  if (IsStore(process)) {
    RETURN_IF_ERROR(CheckEtcdInstalled());
  } else {
    process.argv.front() = ThisProgram();  // it may be a newer one than the cluster began with
  }
  if (!IsPortFree(process.host)) {
    return {kInternalError, process.host + " of " + process.name +
                                " is in use by another program: end that one, then " +
                                Hint("start", process, layout)};
  }
  if (!process.set.empty()) {
    std::filesystem::create_directories(layout.folder + "/" +
                                        std::filesystem::path(process.log).stem().string());
  }
  RETURN_IF_ERROR(StartProcess(&process));
  return SaveLayout(layout);
}

Status StopOne(const Process& process) {
  // One that has ended, be it between the two signals, is what was asked for.
  (void)SignalProcess(process, SIGTERM);
  (void)SignalProcess(process, SIGCONT);  // a paused one could not end
  return AwaitEnd(process, kStopLimit)
             ? Status::Ok()
             : Status(kExceededTimeLimit, process.name + " does not end; see " + process.log);
}

bool Answers(const Process& process) {
  return IsStore(process) ? !IsPortFree(process.host)
                          : AskMember(process.host, std::chrono::seconds(2)).has_value();
}

// The last lines of a log, without the end of the last one.
std::string EndOf(const std::string& log) {
  constexpr size_t kLines = 3;
  std::ifstream file(log);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back("  " + line);
    if (lines.size() > kLines) {
      lines.pop_front();
    }
  }
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

// Until each of them answers, or one has ended.
Status AwaitAnswers(const std::vector<Process*>& processes) {
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  for (const Process* process : processes) {
    while (!Answers(*process)) {
      if (StateOf(*process) == ProcessState::kEnded) {
        return {kInternalError, process->name + " has ended; the end of " + process->log + ":\n" +
                                    EndOf(process->log)};
      }
      if (std::chrono::steady_clock::now() >= until) {
        return {kExceededTimeLimit, process->name + " does not answer; see " + process->log};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  return Status::Ok();
}

// What was asked for is what is there: the options of `up` make a cluster, and do not change one.
Status CheckSame(const CommandLine& line, ClusterLayout& there) {
  const std::string set = there.Sets().front();
  const Process& first =
      there.Routers().empty() ? *there.Members(set).front() : *there.Routers().front();
  const auto port = std::stoll(first.host.substr(first.host.rfind(':') + 1));
  auto count = [](size_t n) { return static_cast<int64_t>(n); };
  const struct {
    std::string_view name;
    int64_t wanted;
    int64_t present;
  } kNumbers[] = {{"shards", line.shards, count(there.Sets().size())},
                  {"members", line.members, count(there.Members(set).size())},
                  {"routers", line.routers, count(there.Routers().size())},
                  {"port", line.port == 0 ? kNotGiven : line.port, port}};
  std::string differing;
  for (const auto& number : kNumbers) {
    if (number.wanted != kNotGiven && number.wanted != number.present) {
      differing = std::string(number.name) + " is " + std::to_string(number.present);
    }
  }
  if (!line.store.empty() && line.store != there.store) {
    differing = "etcd is " + there.store;
  }
  if (!line.key_file.empty() && std::filesystem::absolute(line.key_file) != there.KeyFile()) {
    differing = "keyFile is " + (there.KeyFile().empty() ? "not used" : there.KeyFile());
  }
  const std::vector<std::string>& argv = there.Members(set).front()->argv;
  const std::vector<std::string>& options = line.member_options;
  if (options.size() > argv.size() ||
      !std::equal(options.rbegin(), options.rend(), argv.rbegin())) {
    differing = "option is not what the members were made with";
  }
  return differing.empty()
             ? Status::Ok()
             : Status(kBadValue, "there is a cluster in " + line.folder + " whose --" + differing +
                                     ": leave the option out, or choose another folder");
}

Status CheckPorts(const ClusterLayout& layout) {
  for (const Process& process : layout.processes) {
    if (!IsPortFree(process.host)) {
      return {kInternalError, process.host +
                                  " is in use by another program: choose other ports "
                                  "with --port (0: free ones)"};
    }
  }
  return Status::Ok();
}

Result<ClusterLayout> MakeLayout(const CommandLine& line) {
  auto or_default = [](int64_t given, int64_t otherwise) {
    return given == kNotGiven ? otherwise : given;
  };
  if (line.store.empty()) {
    RETURN_IF_ERROR(CheckEtcdInstalled());
  }
  NewCluster wanted{
      .folder = std::filesystem::absolute(line.folder).lexically_normal(),
      .shards = or_default(line.shards, 1),
      .members = or_default(line.members, 3),
      .routers = or_default(line.routers, line.shards > 1 ? 1 : 0),
      .port = or_default(line.port, 27017),
      .store = line.store,
      .key_file = line.key_file.empty() ? "" : std::filesystem::absolute(line.key_file).string(),
      .tool = ThisProgram(),
      .options = line.member_options};
  ClusterLayout layout = LayOut(wanted);
  RETURN_IF_ERROR(LoginTo(layout).status());  // the key can be read
  RETURN_IF_ERROR(CheckPorts(layout));
  std::error_code error;
  std::filesystem::create_directories(line.folder, error);
  if (error) {
    return Status(kFileStreamFailed, "cannot make " + line.folder + ": " + error.message());
  }
  RETURN_IF_ERROR(SaveLayout(layout));
  return layout;
}

Result<ClusterLayout> LayoutForUp(const CommandLine& line) {
  auto there = LoadLayout(line.folder);
  if (there.ok()) {
    RETURN_IF_ERROR(CheckSame(line, *there));
    return there;
  }
  return there.status().code() == kNamespaceNotFound ? MakeLayout(line) : std::move(there);
}

// Null: nothing.
const char* WhatUpDoes(ProcessState state) {
  return state == ProcessState::kEnded    ? "starting"
         : state == ProcessState::kPaused ? "resuming"
                                          : nullptr;
}

Status Up(CommandLine& line) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LayoutForUp(line));
  ASSIGN_OR_RETURN(const peer::Login login, LoginTo(layout));
  for (Process& process : layout.processes) {
    if (const char* what = WhatUpDoes(StateOf(process)); what != nullptr) {
      fprintf(stderr, "%s %-5s at %s\n", what, process.name.c_str(), process.host.c_str());
    }
    RETURN_IF_ERROR(StartOne(layout, process));
    (void)SignalProcess(process, SIGCONT);  // it may have been paused
    if (IsStore(process)) {
      RETURN_IF_ERROR(AwaitAnswers({&process}));
    }
  }
  for (const std::string& set : layout.Sets()) {
    fprintf(stderr, "waiting for the set %s\n", set.c_str());
    RETURN_IF_ERROR(AwaitAnswers(layout.Members(set)));
    RETURN_IF_ERROR(InitiateSet(set, layout.Members(set), login));
    RETURN_IF_ERROR(AwaitSet(layout.Members(set), kStartLimit, login));
  }
  if (const std::vector<Process*> routers = layout.Routers(); !routers.empty()) {
    RETURN_IF_ERROR(AwaitAnswers(routers));
    for (const std::string& set : layout.Sets()) {
      RETURN_IF_ERROR(AddShard(*routers.front(), layout.AddressOf(set), login));
    }
  }
  printf("%s\n", layout.Uri().c_str());
  return Status::Ok();
}

Status ShowStatus(CommandLine& line) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  const std::vector<ProcessReport> reports = Report(layout);
  fputs(line.json ? (bson::ToJson(ToDocument(reports, layout.Uri())) + "\n").c_str()
                  : ToTable(reports).c_str(),
        stdout);
  return Status::Ok();
}

Status Down(CommandLine& line) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  // All are told at once, so that none waits for one that ended before it; the store ends last.
  for (const Process& process : layout.processes) {
    if (!IsStore(process)) {
      (void)SignalProcess(process, SIGTERM);
    }
  }
  for (auto process = layout.processes.rbegin(); process != layout.processes.rend(); ++process) {
    RETURN_IF_ERROR(StopOne(*process));
  }
  return Status::Ok();
}

Status Start(CommandLine& line) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  Process& process = *layout.Find(line.words[1]);
  if (StateOf(process) == ProcessState::kPaused) {
    return {kInternalError, process.name + " is paused: " + Hint("resume", process, layout)};
  }
  RETURN_IF_ERROR(StartOne(layout, process));
  return AwaitAnswers({&process});
}

Status Stop(CommandLine& line) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  return StopOne(*layout.Find(line.words[1]));
}

Status Signal(CommandLine& line, int signal) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  const Process& process = *layout.Find(line.words[1]);
  if (StateOf(process) == ProcessState::kEnded) {
    return {kNoSuchKey, process.name + " is not running: " + Hint("start", process, layout)};
  }
  return SignalProcess(process, signal);
}

Status Kill(CommandLine& line) {
  RETURN_IF_ERROR(Signal(line, SIGKILL));
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  AwaitEnd(*layout.Find(line.words[1]), kStopLimit);
  return Status::Ok();
}

Status Pause(CommandLine& line) { return Signal(line, SIGSTOP); }
Status Resume(CommandLine& line) { return Signal(line, SIGCONT); }

constexpr Job kJobs[] = {
    {"up", false, Up, "start what is not running, make it a set, print its address"},
    {"status", false, ShowStatus, "every process with role, address, id and lag"},
    {"start", true, Start, "start NAME, which has ended"},
    {"stop", true, Stop, "let NAME end in order"},
    {"kill", true, Kill, "end NAME at once, as kill -9"},
    {"pause", true, Pause, "let NAME stand still, as SIGSTOP"},
    {"resume", true, Resume, "let NAME go on"},
    {"down", false, Down, "end all of them; the data stays"},
};

const Job* FindJob(const std::string& name) {
  const Job* job = std::find_if(std::begin(kJobs), std::end(kJobs),
                                [&](const Job& one) { return one.name == name; });
  return job == std::end(kJobs) ? nullptr : job;
}

void PrintHelp(const std::vector<ToolOption>& rows) {
  printf(
      "usage: quire cluster up --dir FOLDER [OPTIONS]\n"
      "       quire cluster status|down --dir FOLDER\n"
      "       quire cluster start|stop|kill|pause|resume NAME --dir FOLDER\n\n"
      "A replica set, or a sharded cluster of several sets behind routers, on this machine and in "
      "the\n"
      "background. Processes are called etcd, s0/0, s0/1 (members of the first set), r0 (a "
      "router). "
      "The\n"
      "last line that `up` prints is the address for clients.\n\nJobs:\n");
  for (const Job& job : kJobs) {
    printf("  %-7s %s\n", job.name.data(), job.help.data());
  }
  printf(
      "\nRoles: primary, secondary, starting (not in a set yet), recovering, router, etcd; "
      "paused,\n"
      "silent (does not answer), down.\n"
      "\nOptions:\n%s\nExit codes: 0 done, 1 failed, 2 wrong usage.\n",
      OptionHelp(rows).c_str());
}

// An option that was given and says nothing to this job. Empty: there is none.
std::string ForeignOption(const CommandLine& line, std::string_view job) {
  const struct {
    std::string_view name;
    std::string_view job;
    bool given;
  } kOptions[] = {{"shards", "up", line.shards != kNotGiven},
                  {"members", "up", line.members != kNotGiven},
                  {"routers", "up", line.routers != kNotGiven},
                  {"port", "up", line.port != kNotGiven},
                  {"etcd", "up", !line.store.empty()},
                  {"keyFile", "up", !line.key_file.empty()},
                  {"option", "up", !line.member_options.empty()},
                  {"json", "status", line.json}};
  for (const auto& option : kOptions) {
    if (option.given && option.job != job) {
      return "--" + std::string(option.name) + " is an option of '" + std::string(option.job) + "'";
    }
  }
  return "";
}

std::string Names(const ClusterLayout& layout) {
  std::string names;
  for (const Process& process : layout.processes) {
    names += (names.empty() ? "" : ", ") + process.name;
  }
  return names;
}

Status Check(const CommandLine& line) {
  const Job* job = line.words.empty() ? nullptr : FindJob(line.words[0]);
  if (job == nullptr) {
    return {kBadValue,
            line.words.empty()
                ? "what shall be done? up, status, start, stop, kill, pause, resume or down"
                : "there is no job '" + line.words[0] + "'"};
  }
  if (line.folder.empty()) {
    return {kBadValue, "--dir names the cluster's folder"};
  }
  if (line.words.size() != (job->names_process ? 2U : 1U)) {
    return {kBadValue, job->names_process ? "name one process (quire cluster status lists them)"
                                          : "'" + line.words[0] + "' takes no name"};
  }
  if (std::string foreign = ForeignOption(line, job->name); !foreign.empty()) {
    return {kBadValue, foreign};
  }
  if (!job->names_process) {
    return Status::Ok();
  }
  auto layout = LoadLayout(line.folder);  // where there is none, the job says so
  return !layout.ok() || layout->Find(line.words[1]) != nullptr
             ? Status::Ok()
             : Status(kBadValue,
                      "there is no process '" + line.words[1] + "', only " + Names(*layout));
}

}  // namespace

int Cluster(const std::vector<std::string>& arguments) {
  CommandLine line;
  const std::vector<ToolOption> rows = line.Options();
  auto answered = [&](bool) {
    if (line.help) {
      PrintHelp(rows);
    }
    return line.help;
  };
  if (auto code = StartCommand(
          {"cluster", rows, &line.words, answered, [&] { return Check(line); }}, arguments)) {
    return *code;
  }
  Status status = FindJob(line.words[0])->run(line);
  if (!status.ok()) {
    fprintf(stderr, "quire cluster: %s\n", status.message().c_str());
    return kExitFailed;
  }
  return kExitOk;
}

}  // namespace quire::apps
