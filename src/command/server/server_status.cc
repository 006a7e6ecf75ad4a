// SPDX-License-Identifier: Apache-2.0
//
// serverStatus: counters of the running server, one function per section.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "base/version.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "command/repl/set_view.h"
#include "engine/replication.h"
#include "request/network_stats.h"

namespace quire::command {
namespace {

int64_t CommandTotal(const Invocation& i, std::string_view name) {
  auto rows = i.commands.rows();
  for (size_t at = 0; at < rows.size(); ++at) {
    if (rows[at]->info.name == name) {
      return i.commands.tally(at).total.load(std::memory_order_relaxed);
    }
  }
  return 0;
}

void AppendAsserts(Invocation& i) {
  int64_t user = 0;
  for (size_t at = 0; at < i.commands.rows().size(); ++at) {
    user += i.commands.tally(at).failed.load(std::memory_order_relaxed);
  }
  for (std::string_view name : {"regular", "warning", "msg"}) {
    i.reply().Append(name, 0);
  }
  i.reply().Append("user", static_cast<int32_t>(user)).Append("tripwire", 0).Append("rollovers", 0);
}

void AppendConnections(Invocation& i) {
  const request::NetworkStats& stats = request::Network();
  int64_t current = std::max<int64_t>(stats.connections, i.commands.info().embedded ? 0 : 1);
  i.reply()
      .Append("current", static_cast<int32_t>(current))
      .Append("available", static_cast<int32_t>(stats.connections_limit - current))
      .Append("totalCreated", static_cast<int32_t>(stats.connections_created))
      .Append("rejected", static_cast<int32_t>(stats.connections_rejected))
      .Append("active", static_cast<int32_t>(stats.connections_active))
      .Append("threaded", static_cast<int32_t>(current));
}

void AppendExtraInfo(Invocation& i) {
  rusage usage{};
  (void)getrusage(RUSAGE_SELF, &usage);
  auto micros = [](const timeval& t) { return int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
  i.reply()
      .Append("note", "fields vary by platform")
      .Append("user_time_us", micros(usage.ru_utime))
      .Append("system_time_us", micros(usage.ru_stime))
      .Append("maximum_resident_set_kb", int64_t{usage.ru_maxrss})
      .Append("input_blocks", int64_t{usage.ru_inblock})
      .Append("output_blocks", int64_t{usage.ru_oublock})
      .Append("page_reclaims", int64_t{usage.ru_minflt})
      .Append("page_faults", int64_t{usage.ru_majflt})
      .Append("voluntary_context_switches", int64_t{usage.ru_nvcsw})
      .Append("involuntary_context_switches", int64_t{usage.ru_nivcsw})
      .Append("threads", static_cast<int64_t>(request::Network().threads));
}

// Commands that read or write data right now.
struct Busy {
  int32_t readers = 0;
  int32_t writers = 0;
};
Busy CountBusy(Invocation& i) {
  Busy busy;
  i.commands.operations().ForEach([&](const run::RunningOp& op) {
    const uint32_t flags = op.call->command.flags;
    if (op.call != &i.call && (flags & (request::kRead | request::kWrite)) != 0) {
      ((flags & request::kWrite) != 0 ? busy.writers : busy.readers) += 1;
    }
  });
  return busy;
}

void AppendGlobalLock(Invocation& i) {
  const auto [readers, writers] = CountBusy(i);
  i.reply()
      .Append("totalTime", UptimeMillis() * 1000)
      .BeginDocument("currentQueue")
      .Append("total", 0)
      .Append("readers", 0)
      .Append("writers", 0)
      .End()
      .BeginDocument("activeClients")
      .Append("total", readers + writers)
      .Append("readers", readers)
      .Append("writers", writers)
      .End();
}

void AppendCatalogStats(Invocation& i) {
  int32_t collections = 0;
  int32_t capped = 0;
  int32_t views = 0;
  for (const store::CollectionPtr& collection : i.engine.catalog().snapshot()->All()) {
    if (collection->is_view()) {
      ++views;
    } else {
      ++collections;
      capped += collection->capped ? 1 : 0;
    }
  }
  i.reply()
      .Append("collections", collections)
      .Append("capped", capped)
      .Append("clustered", 0)
      .Append("timeseries", 0)
      .Append("views", views)
      .Append("internalCollections", 0)
      .Append("internalViews", 0);
}

void AppendSessions(Invocation& i) {
  i.reply().Append("activeSessionsCount", static_cast<int32_t>(i.engine.sessions().All().size()));
}

void AppendMem(Invocation& i) {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  int64_t page = sysconf(_SC_PAGESIZE);
  i.reply()
      .Append("bits", 64)
      .Append("resident", static_cast<int32_t>((resident * page) >> 20))
      .Append("virtual", static_cast<int32_t>((size * page) >> 20))
      .Append("supported", true);
}

void AppendMetrics(Invocation& i) {
  const engine::Engine::Metrics& metrics = i.engine.metrics;
  i.reply().BeginDocument("commands");
  auto rows = i.commands.rows();
  std::map<std::string_view, const run::Tally*> sorted;
  for (size_t at = 0; at < rows.size(); ++at) {
    sorted.emplace(rows[at]->info.name, &i.commands.tally(at));
  }
  for (const auto& [name, tally] : sorted) {
    i.reply()
        .BeginDocument(name)
        .Append("failed", tally->failed.load())
        .Append("total", tally->total.load())
        .End();
  }
  i.reply()
      .End()
      .BeginDocument("cursor")
      .Append("timedOut", i.engine.cursors().timed_out())
      .BeginDocument("open")
      .Append("noTimeout", int64_t{0})
      .Append("pinned", int64_t{0})
      .Append("total", static_cast<int64_t>(i.engine.cursors().size()))
      .End()
      .End()
      .BeginDocument("document")
      .Append("deleted", metrics.deleted.load())
      .Append("inserted", metrics.inserted.load())
      .Append("returned", i.engine.cursors().returned.load())
      .Append("updated", metrics.updated.load())
      .End()
      .BeginDocument("operation")
      .Append("scanAndOrder", int64_t{0})
      .Append("writeConflicts", metrics.write_conflicts.load())
      .End()
      .BeginDocument("ttl")
      .Append("deletedDocuments", metrics.ttl_deleted.load())
      .Append("passes", metrics.ttl_passes.load())
      .End();
}

void AppendNetwork(Invocation& i) {
  const request::NetworkStats& stats = request::Network();
  i.reply()
      .Append("bytesIn", stats.bytes_in.load())
      .Append("bytesOut", stats.bytes_out.load())
      .Append("physicalBytesIn", stats.bytes_in.load())
      .Append("physicalBytesOut", stats.bytes_out.load())
      .Append("numRequests", stats.requests.load());
}

// Operations by MongoDB's old kinds.
void AppendOpCounters(Invocation& i) {
  int64_t insert = CommandTotal(i, "insert");
  int64_t query = CommandTotal(i, "find");
  int64_t update = CommandTotal(i, "update");
  int64_t remove = CommandTotal(i, "delete");
  int64_t more = CommandTotal(i, "getMore");
  int64_t all = 0;
  for (size_t at = 0; at < i.commands.rows().size(); ++at) {
    all += i.commands.tally(at).total.load(std::memory_order_relaxed);
  }
  i.reply()
      .Append("insert", insert)
      .Append("query", query)
      .Append("update", update)
      .Append("delete", remove)
      .Append("getmore", more)
      .Append("command", all - insert - query - update - remove - more);
}

void AppendOpCountersRepl(Invocation& i) {
  for (std::string_view name : {"insert", "query", "update", "delete", "getmore", "command"}) {
    i.reply().Append(name, int64_t{0});
  }
}

void AppendOpLatencies(Invocation& i) {
  struct Sum {
    int64_t ops = 0;
    int64_t micros = 0;
  } reads, writes, others;
  auto rows = i.commands.rows();
  for (size_t at = 0; at < rows.size(); ++at) {
    uint32_t flags = rows[at]->info.flags;
    Sum& sum = (flags & request::kWrite) != 0  ? writes
               : (flags & request::kRead) != 0 ? reads
                                               : others;
    sum.ops += i.commands.tally(at).total.load(std::memory_order_relaxed);
    sum.micros += i.commands.tally(at).micros.load(std::memory_order_relaxed);
  }
  auto append = [&](std::string_view name, const Sum& sum) {
    i.reply().BeginDocument(name).Append("latency", sum.micros).Append("ops", sum.ops).End();
  };
  append("reads", reads);
  append("writes", writes);
  append("commands", others);
  append("transactions", Sum{});
}

void AppendRepl(Invocation& i) {
  if (engine::Replication* replication = i.engine.replication; replication != nullptr) {
    const auto status = replication->status();
    AppendSetMember(i.reply(), "isWritablePrimary", *replication, *status,
                    i.commands.quiesce_left().has_value());
    i.reply().Append("rbid", 1);
    return;
  }
  std::string me = ReachedAs(i);
  i.reply()
      .BeginArray("hosts")
      .Push(me)
      .End()
      .Append("setName", i.commands.info().set_name)
      .Append("setVersion", 1)
      .Append("isWritablePrimary", true)
      .Append("secondary", false)
      .Append("primary", me)
      .Append("me", me)
      .Append("rbid", 1);
  bson::Timestamp time = i.engine.log().Visible();
  bson::Date date{int64_t{time.seconds} * 1000};
  i.reply().BeginDocument("lastWrite");
  for (auto [name, date_name] :
       {std::pair("opTime", "lastWriteDate"), std::pair("majorityOpTime", "majorityWriteDate")}) {
    i.reply().BeginDocument(name).Append("ts", time).Append("t", int64_t{1}).End();
    i.reply().Append(date_name, date);
  }
  i.reply().End();
}

void AppendOplog(Invocation& i) {
  store::ChangeLog& log = i.engine.log();
  i.reply()
      .Append("latestOptime", log.Visible())
      .Append("earliestOptime", log.First())
      .Append("sizeBytes", static_cast<int64_t>(log.ApproximateSize()))
      .Append("maxSizeBytes", static_cast<int64_t>(i.engine.log_bytes.load()));
}

void AppendSecurity(Invocation& i) {
  Mechanisms& mechanisms = i.commands.mechanisms;
  bson::Builder& out = i.reply();
  out.BeginDocument("authentication")
      .Append("saslSupportedMechsReceived", mechanisms.supported_asked.load())
      .BeginDocument("mechanisms");
  for (std::string_view name : Mechanisms::kNames) {
    if (!mechanisms.Enabled(name)) {
      continue;
    }
    const Mechanisms::Tries& tries = mechanisms.tries(name);
    auto append = [&](std::string_view kind, int64_t received, int64_t successful) {
      out.BeginDocument(kind).Append("received", received).Append("successful", successful).End();
    };
    out.BeginDocument(name);
    append("speculativeAuthenticate", tries.speculative_received, tries.speculative_successful);
    append("clusterAuthenticate", 0, 0);
    append("authenticate", tries.received, tries.successful);
    out.End();
  }
  out.End().End();
  if (const auto& certificate = i.commands.info().certificate) {
    const ServerCertificate facts = certificate();
    out.Append("SSLServerSubjectName", facts.subject)
        .Append("SSLServerHasCertificateAuthority", facts.has_authority)
        .Append("SSLServerCertificateExpirationDate", facts.expires);
  }
}

void AppendTransportSecurity(Invocation& i) {
  for (size_t at = 0; at < request::kTlsVersions.size(); ++at) {
    i.reply().Append(request::kTlsVersions[at], request::Network().tls[at].load());
  }
}

void AppendStorageEngine(Invocation& i) {
  i.reply()
      .Append("name", "wiredTiger")
      .Append("supportsCommittedReads", true)
      .Append("supportsSnapshotReadConcern", true)
      .Append("readOnly", false)
      .Append("persistent", !i.commands.info().data_path.empty());
}

// Nobody waits for a turn: there are more of them than commands can be.
void AppendTickets(Invocation& i) {
  constexpr int32_t kTickets = 1 << 16;
  const Busy busy = CountBusy(i);
  auto tickets = [&](std::string_view name, int32_t out) {
    i.reply()
        .BeginDocument(name)
        .Append("out", out)
        .Append("available", kTickets - out)
        .Append("totalTickets", kTickets)
        .End();
  };
  tickets("write", busy.writers);
  tickets("read", busy.readers);
}

// The cache, under the names monitoring tools read.
void AppendWiredTiger(Invocation& i) {
  kv::StoreStats stats = i.engine.store().Stats();
  i.reply()
      .BeginDocument("cache")
      .Append("bytes currently in the cache", static_cast<int64_t>(stats.memory_bytes))
      .Append("maximum bytes configured", static_cast<int64_t>(stats.cache_capacity))
      .End()
      .BeginDocument("block-manager")
      .Append("file size in bytes", static_cast<int64_t>(stats.disk_bytes))
      .End();
  i.reply().BeginDocument("concurrentTransactions");
  AppendTickets(i);
  i.reply().End();
}

// Where MongoDB 8.0 tells of them.
void AppendQueues(Invocation& i) {
  i.reply().BeginDocument("execution");
  AppendTickets(i);
  i.reply().End();
}

void AppendTransactions(Invocation& i) {
  i.reply()
      .Append("totalCommitted", CommandTotal(i, "commitTransaction"))
      .Append("totalAborted", CommandTotal(i, "abortTransaction"));
}

// Nothing waits for a lock: writers meet at documents.
void AppendLocks(Invocation& i) {
  i.reply().BeginDocument("Global").BeginDocument("acquireCount").End().End();
}

void AppendMirroredReads(Invocation& i) {
  i.reply().Append("seen", int64_t{0}).Append("sent", int64_t{0});
}

enum class Shown {
  kAlways,
  kOnRequest,  // left out unless asked for
  kByNodes,    // tells of storage or a replica set: a router has neither
};

struct Section {
  std::string_view name;
  void (*append)(Invocation& i);
  Shown shown = Shown::kAlways;
};

constexpr Section kSections[] = {
    {"asserts", AppendAsserts},
    {"catalogStats", AppendCatalogStats, Shown::kByNodes},
    {"connections", AppendConnections},
    {"extra_info", AppendExtraInfo},
    {"globalLock", AppendGlobalLock, Shown::kByNodes},
    {"locks", AppendLocks, Shown::kByNodes},
    {"logicalSessionRecordCache", AppendSessions},
    {"mem", AppendMem},
    {"metrics", AppendMetrics},
    {"mirroredReads", AppendMirroredReads, Shown::kOnRequest},
    {"network", AppendNetwork},
    {"opLatencies", AppendOpLatencies, Shown::kByNodes},
    {"oplog", AppendOplog, Shown::kOnRequest},
    {"opcounters", AppendOpCounters},
    {"opcountersRepl", AppendOpCountersRepl, Shown::kByNodes},
    {"queues", AppendQueues, Shown::kByNodes},
    {"repl", AppendRepl, Shown::kByNodes},
    {"security", AppendSecurity},
    {"storageEngine", AppendStorageEngine, Shown::kByNodes},
    {"transactions", AppendTransactions},
    {"transportSecurity", AppendTransportSecurity},
    {"wiredTiger", AppendWiredTiger, Shown::kByNodes},
};

Status RunServerStatus(Invocation& i) {
  int64_t uptime = UptimeMillis();
  i.reply()
      .Append("host", i.commands.info().host)
      .Append("version", kMongoVersion)
      .Append("process", i.commands.info().router ? "mongos" : "mongod")
      .Append("pid", static_cast<int64_t>(getpid()))
      .Append("uptime", static_cast<double>(uptime / 1000))
      .Append("uptimeMillis", uptime)
      .Append("uptimeEstimate", uptime / 1000)
      .Append("localTime", WallClock());
  bool none = Truthy(i.body()["none"]);
  for (const Section& section : kSections) {
    if (i.commands.info().router && section.shown == Shown::kByNodes) {
      continue;
    }
    bson::Value wanted = i.body()[section.name];
    if (wanted.missing() ? none || section.shown == Shown::kOnRequest : !Truthy(wanted)) {
      continue;
    }
    i.reply().BeginDocument(section.name);
    section.append(i);
    i.reply().End();
  }
  return Status::Ok();
}

}  // namespace

std::span<const Row> ServerStatusRows() {
  static constexpr Row kRows[] = {
      {{"serverStatus", "", 0, "counters of the server"},
       RunServerStatus,
       OnCluster(Action::serverStatus)},
  };
  return kRows;
}

}  // namespace quire::command
