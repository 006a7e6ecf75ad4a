// SPDX-License-Identifier: Apache-2.0
//
// Open cursors: what is left of a query between getMores.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/needs.h"
#include "base/bell.h"
#include "base/memory_charge.h"
#include "base/mutex.h"
#include "exec/operator.h"
#include "quire/bson.h"
#include "request/request.h"
#include "run/owner_counts.h"

namespace quire::run {

// What produces a cursor's rows, with everything they refer to.
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual Result<bool> Next(OpContext& op, exec::Row* row) = 0;
  // After Next gave false on a tailable source: prepares to see what was written since.
  virtual Status Refresh(OpContext& op) = 0;
  // A bell that rings when there may be more to see, and whether there is already. Null for sources
  // that are not tailable.
  virtual Bell* News() { return nullptr; }
  virtual bool HasNews() const { return false; }
  // Next gave false because the next row is on its way, and may be there by now: News rings when it
  // may be, HasNews tells whether it is.
  virtual bool Pending() const { return false; }
  // Nothing is asked until the next getMore: gives back the snapshot where the rows that follow can
  // be found without it.
  virtual void Rest() {}
  // Whether Finish gives a snapshot back that would be held else.
  virtual bool HoldsSnapshot() const { return false; }
  // Next has given its last row and is not called any more.
  virtual void Finish() {}
  // Ok, or why the cursor cannot go on (its collection is gone).
  virtual Status Check() const = 0;
  virtual std::string PlanSummary() const = 0;
  // Since it was opened.
  virtual exec::Counters Totals() const = 0;
  // Where a change stream goes on after the rows given so far; empty in other sources.
  virtual bson::Document ResumeToken() const { return {}; }
  // What a change stream tells a router about itself; empty in other sources.
  virtual bson::Document StreamState() const { return {}; }
  // Whether a tailable source has given all there is up to that cluster time.
  virtual bool HasRead(uint64_t) const { return false; }
  // Whether it is known, without looking further, that Next has given its last row.
  virtual bool AtEnd() const { return false; }
  // A tailable source that will give nothing more (an invalidated change stream).
  virtual bool Ended() const { return false; }
  // Told of each document of a tailable source that goes to the client.
  virtual void Returned(bson::View) {}
};

class Cursor {
 public:
  std::string ns;
  std::string lsid;
  // Who opened it, and what that needed; both null without access control.
  std::shared_ptr<const request::Identity> owner;
  std::shared_ptr<const auth::Needs> needs;
  std::optional<int64_t> txn_number;               // set inside a multi-document transaction
  std::optional<bson::Timestamp> at_cluster_time;  // of a snapshot read
  // What is left of the maxTimeMS of the command that made it.
  std::optional<OpContext::Clock::duration> time_left;
  std::unique_ptr<RowSource> source;
  size_t most_bytes = size_t{16} << 20;  // of a batch, unless one row alone is larger
  bool tailable = false;
  bool await_data = false;
  bool no_timeout = false;
  bool exhausted = false;
  int64_t returned = 0;
  uint64_t told_keys = 0;  // examined by the commands before, who told of them
  uint64_t told_docs = 0;
  bson::Document command;   // as currentOp shows it; see KeptCommand
  size_t command_size = 0;  // of the whole of it, which what is parsed of it grows with

  Bell killed;  // rings when somebody ends it

  // An awaiting getMore ends, with what there is, once everything up to the time was read: whoever
  // merges the rows with others' wants to know.
  void Reach(uint64_t time) {
    wanted_.store(time, std::memory_order_release);
    wanted.Ring();
  }
  Bell wanted;  // rings with Reach
  bool HasReached() const {
    const uint64_t time = wanted_.load(std::memory_order_acquire);
    return time != 0 && source->HasRead(time);
  }
  // The same, and the time is forgotten when it is reached.
  bool TakeReached() {
    const bool reached = HasReached();
    if (reached) {
      wanted_.store(0, std::memory_order_release);
    }
    return reached;
  }

  int64_t id() const { return id_; }

  // Pushes up to `limit` documents (0: as many as fit into a reply) onto the array being built.
  // Sets `exhausted` once nothing is left. Stops before rows that are on their way (Awaits tells);
  // called again, it goes on with the same array.
  Status Fill(OpContext& op, int64_t limit, bson::Builder* array);
  // Whether the batch that Fill has begun waits for rows.
  bool Awaits() const { return awaits_; }
  // Takes rows into memory, at most `bytes` of them, so that a source that has no more gives its
  // snapshot back. Stops when `op` does.
  void TakeAhead(OpContext& op, size_t bytes);

 private:
  friend class CursorTable;
  OwnerTicket ticket_;  // null without an owner
  OwnerTicket place_;   // among all
  // The next row: one taken ahead, or the source's. *ahead: where the former is kept.
  Result<bool> NextRow(OpContext& op, exec::Row* row, bson::Document* ahead);

  // Tells the getMore that has it. REQUIRES: the table's mutex is held.
  void End();

  std::atomic<uint64_t> wanted_{0};
  int64_t id_ = 0;
  bool pinned_ = false;        // protected by the table's mutex
  OpContext* user_ = nullptr;  // of the getMore that has it; protected by the table's mutex
  bool killed_ = false;        // protected by the table's mutex
  std::chrono::steady_clock::time_point last_use_;
  bool taking_ahead_ = false;  // pinned for TakeAhead; protected by the table's mutex
  bson::Document stash_;       // a row that did not fit
  bool has_stash_ = false;
  MemoryCharge stash_charge_;
  std::deque<bson::Document> ahead_;     // rows taken ahead
  std::atomic<size_t> ahead_bytes_ = 0;  // of them; changed by who has it pinned, read by all
  Status ahead_error_;                   // met after them
  bool finished_ = false;                // the source has no more
  bool awaits_ = false;
  size_t batch_start_ = 0;  // of the batch that awaits rows, in the reply
};

// What an open cursor keeps of its command: all of a short one; of a long one the fields that are
// short, the beginnings of its arrays, and the names of the others under "$truncated".
bson::Document KeptCommand(bson::View command);

// Safe for concurrent use.
class CursorTable {
 public:
  // Most cursors open at once: all of them, and those of one user. One of a long command counts for
  // several, one for every 16 KB: it holds several times as many bytes.
  std::atomic<int64_t> most{100'000};
  std::atomic<int64_t> most_per_user{20'000};
  // Keeps the cursor and gives it an id. ExceededMemoryLimit when there are too many.
  Result<int64_t> Add(std::shared_ptr<Cursor> cursor);
  // Takes the cursor for exclusive use by `op`, which ends with CursorKilled when the cursor is
  // killed meanwhile. CursorNotFound, or CursorInUse when a getMore runs.
  Result<std::shared_ptr<Cursor>> Pin(int64_t id, OpContext* op);
  // Gives it back, or forgets it when exhausted or killed meanwhile.
  void Unpin(const std::shared_ptr<Cursor>& cursor);
  // The cursor's last use is now, if there is such a cursor.
  void Touch(int64_t id);

  // Null when there is none.
  std::shared_ptr<Cursor> Find(int64_t id);
  // False when there is none.
  bool Kill(int64_t id);
  void KillSession(std::string_view lsid);
  void KillNamespace(std::string_view ns);
  void KillTransaction(std::string_view lsid, int64_t txn_number);
  void Expire(std::chrono::milliseconds timeout);
  // Cursors idle for so long and with little left take that into memory and give their snapshots
  // back, so that storage can reclaim what was overwritten since. Takes some milliseconds at most.
  void ReleaseSnapshots(std::chrono::milliseconds idle);
  void Clear();

  size_t size();
  int64_t timed_out() const { return timed_out_; }
  // Documents that batches have carried.
  std::atomic<int64_t> returned{0};
  // Calls `visit(cursor)` with each cursor that no getMore uses; the table is locked meanwhile.
  template <typename F>
  void ForEachIdle(F visit) {
    MutexLock lock(mutex_);
    for (const auto& [id, cursor] : cursors_) {
      if (!cursor->pinned_) {
        visit(*cursor);
      }
    }
  }

 private:
  template <typename F>
  void KillIf(F matches);
  std::vector<std::shared_ptr<Cursor>> PinIdle(std::chrono::milliseconds idle, OpContext* op,
                                               size_t* room);

  Mutex mutex_;
  std::condition_variable taken_ahead_;
  std::map<int64_t, std::shared_ptr<Cursor>> cursors_ QUIRE_GUARDED_BY(mutex_);
  OwnerCounts owners_ QUIRE_GUARDED_BY(mutex_);
  OwnerCounts all_ QUIRE_GUARDED_BY(mutex_);  // of the one owner ""
  std::atomic<int64_t> timed_out_{0};
};

}  // namespace quire::run
