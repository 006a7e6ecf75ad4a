// SPDX-License-Identifier: Apache-2.0
#include "cluster/layout.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error_codes.h"
#include "base/try.h"
#include "quire/quire.h"

namespace quire::apps {
namespace {

constexpr int kFormat = 1;

std::string FileIn(const std::string& folder) { return folder + "/cluster.json"; }

std::string Local(int port) { return "127.0.0.1:" + std::to_string(port); }

Process EtcdProcess(const NewCluster& wanted, int client_port, int peer_port) {
  const std::string client = "http://" + Local(client_port);
  const std::string peer = "http://" + Local(peer_port);
  Process etcd;
  etcd.name = "etcd";
  etcd.host = Local(client_port);
  etcd.log = wanted.folder + "/etcd.log";
  etcd.argv = {"etcd",
               "--name=quire",
               "--data-dir=" + wanted.folder + "/etcd",
               "--listen-client-urls=" + client,
               "--advertise-client-urls=" + client,
               "--listen-peer-urls=" + peer,
               "--initial-advertise-peer-urls=" + peer,
               "--initial-cluster=quire=" + peer,
               "--auto-compaction-mode=periodic",
               "--auto-compaction-retention=1h",
               "--pre-vote=true",
               "--log-level=warn"};
  return etcd;
}

Process MemberProcess(const NewCluster& wanted, const std::string& store, const std::string& set,
                      int number, int port) {
  const std::string place = set + "-" + std::to_string(number);
  Process member;
  member.name = set + "/" + std::to_string(number);
  member.set = set;
  member.host = Local(port);
  member.log = wanted.folder + "/" + place + ".log";
  member.argv = {wanted.tool, "serve",     "--dbpath", wanted.folder + "/" + place,
                 "--bind_ip", "127.0.0.1", "--port",   std::to_string(port),
                 "--replSet", set,         "--coord",  store};
  if (!wanted.key_file.empty()) {
    member.argv.push_back("--keyFile=" + wanted.key_file);
  }
  member.argv.insert(member.argv.end(), wanted.options.begin(), wanted.options.end());
  return member;
}

Process RouterProcess(const NewCluster& wanted, const std::string& store, int number, int port) {
  Process router;
  router.name = "r" + std::to_string(number);
  router.host = Local(port);
  router.log = wanted.folder + "/" + router.name + ".log";
  router.argv = {wanted.tool,          "route",   "--bind_ip", "127.0.0.1", "--port",
                 std::to_string(port), "--coord", store};
  const std::string key_file =
      wanted.key_file.empty() ? KeyFileAmong(wanted.options) : wanted.key_file;
  if (!key_file.empty()) {
    router.argv.push_back("--keyFile=" + key_file);
  }
  return router;
}

bson::Document ToDocument(const Process& process) {
  return Doc("name", process.name, "set", process.set, "host", process.host, "log", process.log,
             "argv", ListOf(process.argv), "pid", static_cast<int64_t>(process.pid), "began",
             static_cast<int64_t>(process.began));
}

int64_t Number(bson::Value value) { return value.is_number() ? value.AsInt64() : 0; }

Process FromDocument(bson::View document) {
  Process process;
  process.name = document["name"].AsString();
  process.set = document["set"].AsString();
  process.host = document["host"].AsString();
  process.log = document["log"].AsString();
  for (const bson::Element& argument : document["argv"].AsArray()) {
    process.argv.emplace_back(argument.value().AsString());
  }
  process.pid = static_cast<pid_t>(Number(document["pid"]));
  process.began = static_cast<uint64_t>(Number(document["began"]));
  return process;
}

std::string Hosts(const std::vector<Process*>& processes) {
  std::string hosts;
  for (const Process* process : processes) {
    hosts += (hosts.empty() ? "" : ",") + process->host;
  }
  return hosts;
}

}  // namespace

Process* ClusterLayout::Find(const std::string& name) {
  for (Process& process : processes) {
    if (process.name == name) {
      return &process;
    }
  }
  return nullptr;
}

std::vector<std::string> ClusterLayout::Sets() {
  std::vector<std::string> sets;
  for (const Process& process : processes) {
    if (!process.set.empty() && (sets.empty() || sets.back() != process.set)) {
      sets.push_back(process.set);
    }
  }
  return sets;
}

std::vector<Process*> ClusterLayout::Members(const std::string& set) {
  std::vector<Process*> members;
  for (Process& process : processes) {
    if (process.set == set) {
      members.push_back(&process);
    }
  }
  return members;
}

std::vector<Process*> ClusterLayout::Routers() {
  std::vector<Process*> routers;
  for (Process& process : processes) {
    if (IsRouter(process)) {
      routers.push_back(&process);
    }
  }
  return routers;
}

std::string ClusterLayout::AddressOf(const std::string& set) {
  return set + "/" + Hosts(Members(set));
}

std::string ClusterLayout::Uri() {
  const std::vector<Process*> routers = Routers();
  if (!routers.empty()) {
    return "mongodb://" + Hosts(routers) + "/";
  }
  const std::string set = Sets().front();
  return "mongodb://" + Hosts(Members(set)) + "/?replicaSet=" + set;
}

std::string ClusterLayout::KeyFile() const {
  for (const Process& process : processes) {
    if (!process.set.empty()) {
      return KeyFileAmong(process.argv);
    }
  }
  return "";
}

std::string KeyFileAmong(const std::vector<std::string>& arguments) {
  constexpr std::string_view kName = "--keyFile";
  std::string path;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == kName && i + 1 < arguments.size()) {
      path = arguments[i + 1];
    } else if (argument.starts_with(std::string(kName) + "=")) {
      path = argument.substr(kName.size() + 1);
    }
  }
  return path;
}

bool IsStore(const Process& process) { return process.name == "etcd"; }

bool IsRouter(const Process& process) { return process.set.empty() && !IsStore(process); }

ClusterLayout LayOut(const NewCluster& wanted) {
  ClusterLayout layout;
  layout.folder = wanted.folder;
  layout.store = wanted.store;
  const int64_t asked = wanted.port == 0 ? 0 : wanted.shards * wanted.members + wanted.routers;
  std::vector<int> taken;  // those that somebody counts on first
  for (int64_t i = 0; i < asked; ++i) {
    taken.push_back(static_cast<int>(wanted.port + i));
  }
  auto free_port = [&] {
    taken.push_back(FreePort(taken));
    return taken.back();
  };
  int64_t next = 0;
  auto next_port = [&] { return next < asked ? taken[static_cast<size_t>(next++)] : free_port(); };

  if (wanted.store.empty()) {
    const int client = free_port();
    layout.processes.push_back(EtcdProcess(wanted, client, free_port()));
    layout.store = "http://" + Local(client);
  }
  std::vector<Process> routers;
  for (int i = 0; i < wanted.routers; ++i) {
    routers.push_back(RouterProcess(wanted, layout.store, i, next_port()));
  }
  for (int shard = 0; shard < wanted.shards; ++shard) {
    for (int i = 0; i < wanted.members; ++i) {
      layout.processes.push_back(
          MemberProcess(wanted, layout.store, "s" + std::to_string(shard), i, next_port()));
    }
  }
  layout.processes.insert(layout.processes.end(), routers.begin(), routers.end());
  return layout;
}

Result<ClusterLayout> LoadLayout(const std::string& folder) {
  std::ifstream file(FileIn(folder));
  if (!file) {
    return Status(kNamespaceNotFound,
                  "no cluster in " + folder + " (quire cluster up --dir " + folder + " makes one)");
  }
  std::stringstream text;
  text << file.rdbuf();
  ASSIGN_OR_RETURN(bson::Document document, bson::Document::FromJson(text.str()));
  if (Number(document["format"]) != kFormat || !document["processes"].is_array()) {
    return Status(kFailedToParse, FileIn(folder) + " was written by another version");
  }
  ClusterLayout layout;
  layout.folder = folder;
  layout.store = document["store"].AsString();
  for (const bson::Element& process : document["processes"].AsArray()) {
    layout.processes.push_back(FromDocument(process.value().AsDocument()));
  }
  // The processes name their folder; those of a copy would be the first cluster's.
  const std::filesystem::path made =
      std::filesystem::path(layout.processes.front().log).parent_path();
  std::error_code error;
  if (!std::filesystem::equivalent(made, folder, error)) {
    return Status(kBadValue, "the cluster in " + folder + " was made in " + made.string() +
                                 " and runs only there: move the folder back");
  }
  return layout;
}

Status SaveLayout(const ClusterLayout& layout) {
  std::vector<bson::Document> processes;
  for (const Process& process : layout.processes) {
    processes.push_back(ToDocument(process));
  }
  const bson::Document document =
      Doc("format", kFormat, "store", layout.store, "processes", ListOf(processes));
  const std::string path = FileIn(layout.folder);
  const std::string fresh = path + ".new";
  std::ofstream file(fresh, std::ios::trunc);
  file << bson::ToJson(document) << "\n";
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0) {
    return {kFileStreamFailed, "cannot write " + path};
  }
  return Status::Ok();
}

}  // namespace quire::apps
