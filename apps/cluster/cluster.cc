// SPDX-License-Identifier: Apache-2.0
#include "cluster/cluster.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
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

struct CommandLine {
  std::string folder;
  std::string store;
  std::vector<std::string> member_options;
  int64_t shards = 1;
  int64_t members = 3;
  int64_t routers = -1;  // one, where there is more than one shard
  int64_t port = 27017;
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

Status StartOne(ClusterLayout& layout, Process& process) {
  if (StateOf(process) != ProcessState::kEnded) {
    return Status::Ok();
  }
  if (IsStore(process) && !IsInstalled("etcd")) {
    return {kNoSuchKey,
            "etcd is not in PATH: install Debian's package etcd-server, or name one with --etcd"};
  }
  if (!process.set.empty()) {
    std::filesystem::create_directories(layout.folder + "/" +
                                        std::filesystem::path(process.log).stem().string());
  }
  RETURN_IF_ERROR(StartProcess(&process));
  return SaveLayout(layout);
}

Status StopOne(const Process& process) {
  if (StateOf(process) == ProcessState::kEnded) {
    return Status::Ok();
  }
  RETURN_IF_ERROR(SignalProcess(process, SIGTERM));
  RETURN_IF_ERROR(SignalProcess(process, SIGCONT));  // a paused one could not end
  return AwaitEnd(process, kStopLimit)
             ? Status::Ok()
             : Status(kExceededTimeLimit, process.name + " does not end; see " + process.log);
}

// Until each of them answers, or one has ended.
Status AwaitAnswers(const std::vector<Process*>& processes) {
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  for (const Process* process : processes) {
    while (!AskMember(process->host, std::chrono::seconds(2))) {
      if (StateOf(*process) == ProcessState::kEnded) {
        return {kInternalError, process->name + " has ended; see " + process->log};
      }
      if (std::chrono::steady_clock::now() >= until) {
        return {kExceededTimeLimit, process->name + " does not answer; see " + process->log};
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  return Status::Ok();
}

Result<ClusterLayout> LayoutForUp(const CommandLine& line) {
  std::error_code error;
  std::filesystem::create_directories(line.folder, error);
  if (error) {
    return Status(kFileStreamFailed, "cannot make " + line.folder + ": " + error.message());
  }
  auto there = LoadLayout(line.folder);
  if (there.ok() || there.status().code() != kNamespaceNotFound) {
    return there;
  }
  NewCluster wanted{.folder = std::filesystem::absolute(line.folder).lexically_normal(),
                    .shards = line.shards,
                    .members = line.members,
                    .routers = line.routers >= 0 ? line.routers : (line.shards > 1 ? 1 : 0),
                    .port = line.port,
                    .store = line.store,
                    .tool = std::filesystem::read_symlink("/proc/self/exe"),
                    .options = line.member_options};
  ClusterLayout layout = LayOut(wanted);
  RETURN_IF_ERROR(SaveLayout(layout));
  return layout;
}

Status Up(CommandLine& line) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LayoutForUp(line));
  for (Process& process : layout.processes) {
    fprintf(stderr, "starting %-5s at %s\n", process.name.c_str(), process.host.c_str());
    RETURN_IF_ERROR(StartOne(layout, process));
  }
  for (const std::string& set : layout.Sets()) {
    fprintf(stderr, "waiting for the set %s\n", set.c_str());
    RETURN_IF_ERROR(AwaitAnswers(layout.Members(set)));
    RETURN_IF_ERROR(InitiateSet(set, layout.Members(set)));
    RETURN_IF_ERROR(AwaitSet(layout.Members(set), kStartLimit));
  }
  if (const std::vector<Process*> routers = layout.Routers(); !routers.empty()) {
    RETURN_IF_ERROR(AwaitAnswers(routers));
    for (const std::string& set : layout.Sets()) {
      RETURN_IF_ERROR(AddShard(*routers.front(), layout.AddressOf(set)));
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
    if (!IsStore(process) && StateOf(process) != ProcessState::kEnded) {
      RETURN_IF_ERROR(SignalProcess(process, SIGTERM));
    }
  }
  for (auto process = layout.processes.rbegin(); process != layout.processes.rend(); ++process) {
    RETURN_IF_ERROR(StopOne(*process));
  }
  return Status::Ok();
}

Status Start(CommandLine& line) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  return StartOne(layout, *layout.Find(line.words[1]));
}

Status Stop(CommandLine& line) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  return StopOne(*layout.Find(line.words[1]));
}

Status Signal(CommandLine& line, int signal) {
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  return SignalProcess(*layout.Find(line.words[1]), signal);
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
  printf("\nOptions:\n%s\nExit codes: 0 done, 1 failed, 2 wrong usage.\n",
         OptionHelp(rows).c_str());
}

Status Check(const CommandLine& line) {
  const Job* job = line.words.empty() ? nullptr : FindJob(line.words[0]);
  if (job == nullptr) {
    return {kBadValue, line.words.empty() ? "what shall be done? (quire cluster --help)"
                                          : "there is no job '" + line.words[0] + "'"};
  }
  if (line.folder.empty()) {
    return {kBadValue, "--dir names the cluster's folder"};
  }
  if (line.words.size() != (job->names_process ? 2U : 1U)) {
    return {kBadValue, job->names_process ? "name one process (quire cluster status lists them)"
                                          : "'" + line.words[0] + "' takes no name"};
  }
  if (!job->names_process) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(ClusterLayout layout, LoadLayout(line.folder));
  return layout.Find(line.words[1]) != nullptr
             ? Status::Ok()
             : Status(kBadValue, "there is no process '" + line.words[1] + "'");
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
