// SPDX-License-Identifier: Apache-2.0
//
// Routers, and clients of one shard: writes and reads.
#include <algorithm>
#include <utility>

#include "shard/core/testing/simulator_internal.h"

namespace quire::shard {

namespace {
constexpr int kMostTries = 6;
constexpr int kMostParked = 40;
}  // namespace

void Simulator::Write(int router, int id, int key, int tries, bool fleeting) {
  Routing& table = tables_[static_cast<size_t>(router)];
  if (tries > kMostTries) {
    return;
  }
  if (table.dropping) {
    table = Read();
    Later(
        [this, router, id, key, tries, fleeting] { Write(router, id, key, tries + 1, fleeting); });
    return;
  }
  auto request = std::make_shared<Request>();
  request->id = id;
  request->key = key;
  request->shard = table.live ? table.owner[static_cast<size_t>(key)] : 0;
  request->router = router;
  request->tries = tries;
  request->fleeting = fleeting;
  request->version = VersionFor(table, request->shard);
  Message([this, request] { Arrive(request); }, [] {});
}

void Simulator::WriteDirectly() {
  documents_.push_back({.key = static_cast<int>(Draw(kKeys))});
  auto request = std::make_shared<Request>();
  request->id = static_cast<int>(documents_.size()) - 1;
  request->key = documents_.back().key;
  Later([this, request] { Arrive(request); });
}

void Simulator::Arrive(const std::shared_ptr<Request>& request) {
  ShardState& s = shards_[static_cast<size_t>(request->shard)];
  request->boot = s.boot;
  if (!request->version) {
    // Writes of sharded names need a role, which this client does not have.
    if (s.known.placed.version.sharded) {
      return;
    }
    if (!options_.rules.direct_writes_pass) {
      Later([this, request] { Commit(request); });
      return;
    }
  }
  const Verdict verdict =
      s.closed ? Verdict::kBlocked : JudgeVersion(s.known, request->version, options_.rules);
  switch (verdict) {
    case Verdict::kBlocked:
    case Verdict::kUnknown:
      if (++request->parked < kMostParked) {
        if (verdict == Verdict::kUnknown && request->parked % 8 == 1) {
          Adopt(request->shard);
        }
        Later([this, request] { Arrive(request); });
      }
      break;
    case Verdict::kStale:
      tables_[static_cast<size_t>(request->router)] = Read();
      Write(request->router, request->id, request->key, request->tries + 1, request->fleeting);
      break;
    case Verdict::kRun:
      if (options_.rules.pass_with_check) {
        Enter(request);
      } else {
        Later([this, request] { Enter(request); });
      }
      break;
  }
}

void Simulator::Enter(const std::shared_ptr<Request>& request) {
  ShardState& s = shards_[static_cast<size_t>(request->shard)];
  if (s.boot != request->boot) {
    return;
  }
  ++s.passes;
  Later([this, request] { Commit(request); });
}

// The write is committed with majority, or not at all.
void Simulator::Commit(const std::shared_ptr<Request>& request) {
  ShardState& s = shards_[static_cast<size_t>(request->shard)];
  if (s.boot != request->boot) {
    return;
  }
  if (request->version || options_.rules.direct_writes_pass) {
    --s.passes;
  }
  if (s.catalog == 0) {
    if (request->version && request->version->sharded) {
      Fail("a shard took a write of a sharded collection that it does not have");
      return;
    }
    s.catalog = ++last_uuid_;
  }
  if (request->fleeting) {
    CommitFleeting(*request);
    return;
  }
  s.collections[s.catalog].documents[request->id] = request->key;
  DocumentFate& fate = documents_[static_cast<size_t>(request->id)];
  fate.uuid = s.catalog;
  fate.acknowledged = true;
  ++counts_.writes;
  Say("shard ", request->shard, " wrote ", request->id, " key ", request->key, " uuid ", s.catalog);
}

// Its client may not hear the answer: it sends the write again, by any router.
void Simulator::CommitFleeting(const Request& request) {
  ShardState& s = shards_[static_cast<size_t>(request.shard)];
  Fleeting& write = fleeting_[static_cast<size_t>(request.id)];
  if (s.answers.insert(request.id).second && ++write.runs[s.catalog] > 1) {
    Fail("a write that was sent again runs twice");
  }
  ++counts_.writes;
  Say("shard ", request.shard, " ran ", request.id, " key ", request.key, " uuid ", s.catalog);
  if (request.tries < kMostTries && Chance(0.8)) {
    Later([this, id = request.id, key = request.key, tries = request.tries] {
      Write(static_cast<int>(Draw(kRouters)), id, key, tries + 1, true);
    });
  }
}

void Simulator::Query(int router) {
  Routing& table = tables_[static_cast<size_t>(router)];
  if (table.dropping) {
    table = Read();
    return;
  }
  auto reading = std::make_shared<Reading>();
  reading->router = router;
  reading->table = table;
  reading->forbidden = dropped_;
  for (size_t id = 0; id < documents_.size(); ++id) {
    if (documents_[id].acknowledged && !dropping_.contains(documents_[id].uuid)) {
      reading->required.insert(static_cast<int>(id));
    }
  }
  if (table.live) {
    reading->open.insert(table.owner.begin(), table.owner.end());
  } else {
    reading->open.insert(0);
  }
  for (int shard : std::set<int>(reading->open)) {
    Message([this, reading, shard] { ReadAt(reading, shard); }, [] {});
  }
}

void Simulator::ReadAt(const std::shared_ptr<Reading>& reading, int shard) {
  ShardState& s = shards_[static_cast<size_t>(shard)];
  const auto version = VersionFor(reading->table, shard);
  if (s.closed || JudgeVersion(s.known, version, options_.rules) != Verdict::kRun) {
    tables_[static_cast<size_t>(reading->router)] = Read();
    return;
  }
  const Known then = s.known;
  const int boot = s.boot;
  Later([this, reading, shard, then, boot] {
    ShardState& at = shards_[static_cast<size_t>(shard)];
    if (at.boot != boot) {
      return;
    }
    std::set<int> found;
    if (at.catalog != 0) {
      for (const auto& [id, key] : at.collections[at.catalog].documents) {
        if (!then.placed.version.sharded || Owns(then.placed, key)) {
          found.insert(id);
        }
      }
    }
    reading->found.insert(found.begin(), found.end());
    reading->open.erase(shard);
    if (reading->open.empty()) {
      CheckRead(*reading);
    }
  });
}

void Simulator::CheckRead(const Reading& reading) {
  ++counts_.reads;
  for (int id : reading.required) {
    if (!reading.found.contains(id) &&
        !dropping_.contains(documents_[static_cast<size_t>(id)].uuid)) {
      Fail("an acknowledged write is not seen by a router");
      Say("document ", id);
    }
  }
  for (int id : reading.found) {
    if (reading.forbidden.contains(documents_[static_cast<size_t>(id)].uuid)) {
      Fail("a router sees what was dropped");
    }
  }
}

}  // namespace quire::shard
