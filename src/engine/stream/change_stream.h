// SPDX-License-Identifier: Apache-2.0
//
// $changeStream: the changes of a collection, a database or the whole node as events, read from
// the change log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/stream/resume_token.h"
#include "exec/operator.h"
#include "pipeline/stage.h"
#include "store/log/change_log.h"
#include "store/log/change_reader.h"

namespace quire::engine {

// The argument of $changeStream, checked.
struct StreamSpec {
  enum class Scope { kCollection, kDatabase, kCluster };
  enum class FullDocument { kDefault, kUpdateLookup, kWhenAvailable, kRequired };
  enum class BeforeChange { kOff, kWhenAvailable, kRequired };

  Scope scope = Scope::kCollection;
  std::string database;
  std::string collection;
  FullDocument full_document = FullDocument::kDefault;
  BeforeChange before_change = BeforeChange::kOff;
  bool expanded_events = false;
  bool system_events = false;
  ResumePoint start;
  bson::Document start_token;
  // A router merges it with others: the event to resume after may be another shard's.
  bool merged = false;

  // What a router says in the argument of $changeStream.
  static constexpr std::string_view kMerged = "$_merged";

  // Errors as MongoDB's for a bad argument or place. `now` is where a stream begins that says
  // nothing else.
  static Result<StreamSpec> Parse(const pipeline::Namespace& ns, bson::View spec,
                                  bson::Timestamp now);
};

// Whether the stream shows the change, and whether it ends with it.
bool ShowsChange(const StreamSpec& spec, const store::Change& change, bool* invalidates);
// The event of a change that the stream shows. NoMatchingDocument when a required image is missing.
Result<bson::Document> MakeEvent(const Operation& operation, const StreamSpec& spec,
                                 const store::Change& change);
bson::Document MakeInvalidateEvent(const store::Change& change);
// The resume token of the event of a change, or of the invalidation that follows it.
bson::Document EventToken(const store::Change& change, bool invalidate);

// The events of a stream. Next gives false when there is nothing now; the next call looks again.
class ChangeStream final : public exec::Operator {
 public:
  ChangeStream(Engine& engine, StreamSpec spec);

  Result<bool> Next(OpContext& op, exec::Row* row) override;

  // After the invalidate event.
  bool ended() const { return ended_; }
  // Whether the log has grown.
  bool HasNews() const;
  // The _id of the event given last.
  bson::View last_id() const { return event_["_id"].AsDocument(); }
  // The fragment of the first event's parts that were delivered before; 0: none was.
  uint32_t fragments_to_skip() const { return fragments_to_skip_; }
  void FragmentsSkipped() { fragments_to_skip_ = 0; }

  // This document went to the client.
  void Returned(bson::View document);
  // Where to go on after what was given so far.
  bson::Document ResumeToken() const;
  // Whether all there is up to that time was given.
  bool HasRead(uint64_t time) const { return at_end_ && read_upto_ >= time; }
  // What a router wants to know beside the events: {found, joins}, whether the event to resume
  // after was met, and which sets became shards meanwhile. Empty for anybody else.
  bson::Document State() const;

 private:
  enum class Admit { kSkip, kGive };
  Result<Admit> Place(const store::Change& change, bool invalidate);
  Status OpenReader();
  Result<bool> Invalidate(const store::Change& change);

  Engine& engine_;
  const StreamSpec spec_;
  std::unique_ptr<store::ChangeReader> reader_;
  uint64_t from_;        // where the next reader begins
  bool found_;           // there is no event to resume after, or it was met
  bool passed_ = false;  // it is another shard's
  std::vector<std::string> joins_;
  bool ended_ = false;
  bool invalidate_next_ = false;
  bool at_end_ = false;                    // everything visible was read
  std::optional<ResumePoint> lone_event_;  // given last; answers of sessions alone came behind it
  uint64_t read_upto_;
  uint32_t fragments_to_skip_ = 0;
  store::Change change_;
  bson::Document event_;
  bson::Document last_token_;  // of what went to the client
  ResumePoint last_point_;
};

}  // namespace quire::engine
