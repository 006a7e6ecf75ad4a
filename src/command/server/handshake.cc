// SPDX-License-Identifier: Apache-2.0
//
// hello and its older name isMaster: who this server is, and what it agrees to on a connection.
#include <algorithm>
#include <chrono>

#include "base/error_codes.h"
#include "base/try.h"
#include "base/version.h"
#include "bson/number.h"
#include "command/auth/login.h"
#include "command/authorise.h"
#include "command/diagnostic.h"
#include "command/own_documents.h"
#include "command/repl/set_view.h"
#include "engine/replication.h"

namespace quire::command {
namespace {

constexpr int32_t kMaxBsonSize = 16 << 20;
constexpr int32_t kMaxMessageBytes = 48'000'000;
constexpr int32_t kMaxBatch = 100'000;
constexpr size_t kMaxAppName = 128;
constexpr size_t kMaxMetadata = 512;
constexpr std::chrono::milliseconds kLongestAwait = std::chrono::hours(1);
// A set of one never changes: the topology's version stays at its first primary.
constexpr int64_t kTopologyCounter = 6;

// The election that made this process primary, as an id that sorts with the term.
bson::ObjectId ElectionId() {
  bson::ObjectId id;
  id.bytes = {0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1};
  return id;
}

Status ReadMetadata(Invocation& i) {
  bson::Value client = i.body()["client"];
  if (client.missing()) {
    return Status::Ok();
  }
  if (!client.is_document()) {
    return {kTypeMismatch, "The client metadata document must be a document"};
  }
  bson::View metadata = client.AsDocument();
  request::Client& connection = i.call.client;
  if (connection.has_metadata) {
    if (connection.metadata.bytes() == metadata.bytes()) {
      return Status::Ok();
    }
    return {kClientMetadataCannotBeMutated,
            "The client metadata document may only be sent in the first hello"};
  }
  if (metadata.size() > kMaxMetadata) {
    return {kClientMetadataDocumentTooLarge,
            "The client metadata document must be less then or equal to 512 bytes"};
  }
  bson::Value application = metadata["application"];
  if (application.is_document()) {
    bson::Value name = application.AsDocument()["name"];
    if (name.is_string() && name.AsString().size() > kMaxAppName) {
      return {kClientMetadataAppNameTooLarge,
              "The 'client.application.name' field must be less then or equal to 128 bytes"};
    }
  }
  for (std::string_view field : {"driver", "os"}) {
    if (!metadata[field].is_document()) {
      return {kClientMetadataMissingField, "Missing required field '" + std::string(field) +
                                               "' in the client metadata document"};
    }
  }
  connection.metadata = bson::Document(metadata);
  connection.has_metadata = true;
  return Status::Ok();
}

// saslSupportedMechs: "db.user" asks which mechanisms that user can log in with.
Status AppendMechanisms(Invocation& i) {
  bson::Element asked = i.body().Find("saslSupportedMechs");
  if (!asked.present()) {
    return Status::Ok();
  }
  i.commands.mechanisms.supported_asked.fetch_add(1, std::memory_order_relaxed);
  bson::Value user = asked.value();
  if (user.is_document()) {
    return {kBadValue, "UserName must contain a 'user' field"};
  }
  if (!user.is_string()) {
    return {kTypeMismatch, "saslSupportedMechs must be a string, but is of type " +
                               std::string(bson::TypeName(user.type()))};
  }
  if (user.AsString().find('.') == std::string_view::npos) {
    return {kBadValue, "UserName must contain a '.' separated database.user pair"};
  }
  ASSIGN_OR_RETURN(std::optional<bson::Document> stored, LoadOwn(i.engine, kUsers, user));
  // Who does not exist is answered like who does, where that is nobody's business.
  const bool stand_in = !stored && i.commands.info().access_control;
  if (!stored && !stand_in) {
    return Status::Ok();
  }
  i.reply().BeginArray("saslSupportedMechs");
  for (auth::Mechanism mechanism : {auth::Mechanism::kScramSha1, auth::Mechanism::kScramSha256}) {
    const bool stored_so = stand_in || CredentialOf(stored->view(), mechanism);
    if (stored_so && i.commands.mechanisms.Enabled(auth::MechanismName(mechanism))) {
      i.reply().Push(auth::MechanismName(mechanism));
    }
  }
  if (user.AsString().starts_with("$external.") && i.commands.mechanisms.Enabled(kX509)) {
    i.reply().Push(kX509);
  }
  i.reply().End();
  return Status::Ok();
}

int64_t TopologyCounter(const Invocation& i) {
  return i.engine.replication == nullptr ? kTopologyCounter
                                         : i.engine.replication->status()->topology_counter;
}

// How an awaited hello goes on: with topologyVersion and maxAwaitTimeMS the reply waits for a
// change until the time is over. Nothing: it does not wait.
Result<std::optional<std::chrono::milliseconds>> ReadAwait(Invocation& i) {
  using Wait = std::optional<std::chrono::milliseconds>;
  bson::Value version = i.body()["topologyVersion"];
  bson::Value wait = i.body()["maxAwaitTimeMS"];
  if (version.missing() && wait.missing()) {
    return Wait();
  }
  if (version.missing() || wait.missing()) {
    return Status(31368, version.missing()
                             ? "A request with a 'maxAwaitTimeMS' must include a 'topologyVersion'"
                             : "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'");
  }
  auto millis = bson::ExactInt64(wait);
  if (!millis || *millis < 0) {
    return Status(31373, "maxAwaitTimeMS must be a non-negative integer");
  }
  if (!version.is_document()) {
    return Status(kTypeMismatch, "topologyVersion must be a document");
  }
  bson::Value process = version.AsDocument()["processId"];
  auto counter = bson::ExactInt64(version.AsDocument()["counter"]);
  if (process.type() != bson::Type::kObjectId || !counter) {
    return Status(kFailedToParse, "topologyVersion needs an ObjectId processId and a counter");
  }
  if (*counter < 0) {
    return Status(31372, "topologyVersion must have a non-negative counter");
  }
  const bool same = process.AsObjectId() == ProcessId();
  const int64_t now = TopologyCounter(i);
  if (same && *counter > now) {
    return Status(31382, "Received a topology version with counter: " + std::to_string(*counter) +
                             " which is greater than the server topology version counter: " +
                             std::to_string(now));
  }
  if (!same || *counter < now) {
    return Wait();
  }
  return Wait(std::min(std::chrono::milliseconds(*millis), kLongestAwait));
}

// A client that accepts a stream gets a reply per await without asking again.
void ContinueStream(Invocation& i, int64_t counter) {
  if (!i.call.request->exhaust_allowed || !i.body().Has("topologyVersion")) {
    return;
  }
  bson::Builder next;
  for (const bson::Element& e : i.body()) {
    if (e.name() == "topologyVersion") {
      AppendTopologyVersion(next, counter);
    } else {
      next.Append(e);
    }
  }
  i.call.outcome.more_to_come = true;
  i.call.outcome.next = next.Finish();
}

void AppendCompression(Invocation& i) {
  bson::Value offered = i.body()["compression"];
  if (!offered.is_array()) {
    return;
  }
  std::vector<std::string>& agreed = i.call.client.compressors;
  agreed.clear();
  const auto& known = i.commands.info().compressors;
  for (const bson::Element& e : offered.AsArray()) {
    if (e.type() != bson::Type::kString) {
      continue;
    }
    const std::string_view name = e.value().AsString();
    if (std::find(known.begin(), known.end(), name) != known.end() &&
        std::find(agreed.begin(), agreed.end(), name) == agreed.end()) {
      agreed.emplace_back(name);
    }
  }
  if (!agreed.empty()) {
    i.reply().BeginArray("compression");
    for (const std::string& name : agreed) {
      i.reply().Push(name);
    }
    i.reply().End();
  }
}

void AppendOpTime(bson::Builder& reply, std::string_view name, bson::Timestamp time) {
  reply.BeginDocument(name).Append("ts", time).Append("t", int64_t{1}).End();
}

void AppendOnlyMember(Invocation& i, std::string_view primary_field) {
  std::string me = ReachedAs(i);
  bson::Timestamp time = i.engine.log().Visible();
  bson::Date date{int64_t{time.seconds} * 1000};
  AppendTopologyVersion(i.reply(), kTopologyCounter);
  i.reply()
      .BeginArray("hosts")
      .Push(me)
      .End()
      .Append("setName", i.commands.info().set_name)
      .Append("setVersion", 1);
  // Without storage to write to it can still be read.
  const bool writable = i.engine.writable.load();
  i.reply().Append(primary_field, writable).Append("secondary", !writable);
  if (writable) {
    i.reply().Append("primary", me);
  }
  i.reply().Append("me", me);
  if (writable) {
    i.reply().Append("electionId", ElectionId());
  }
  i.reply().BeginDocument("lastWrite");
  AppendOpTime(i.reply(), "opTime", time);
  i.reply().Append("lastWriteDate", date);
  AppendOpTime(i.reply(), "majorityOpTime", time);
  i.reply().Append("majorityWriteDate", date).End();
}

// The set is as `status` says; null: a set of one.
Status AnswerGreeting(Invocation& i, std::string_view primary_field,
                      const engine::SetStatus* status) {
  ContinueStream(i, status == nullptr ? kTopologyCounter : status->topology_counter);
  bson::Value hello_ok = i.body()["helloOk"];
  if (Truthy(hello_ok)) {
    i.reply().Append("helloOk", true);
  }
  if (i.commands.info().router) {
    i.reply().Append(primary_field, true).Append("msg", "isdbgrid");
    AppendTopologyVersion(i.reply(), kTopologyCounter);
  } else if (status == nullptr) {
    AppendOnlyMember(i, primary_field);
  } else {
    const auto left = i.commands.quiesce_left();
    AppendTopologyVersion(i.reply(), status->topology_counter);
    AppendSetMember(i.reply(), primary_field, *i.engine.replication, *status, left.has_value());
    if (left) {
      i.reply().Append("remainingQuiesceTimeMillis", static_cast<int64_t>(left->count()));
    }
  }
  i.reply()
      .Append("maxBsonObjectSize", kMaxBsonSize)
      .Append("maxMessageSizeBytes", kMaxMessageBytes)
      .Append("maxWriteBatchSize", kMaxBatch)
      .Append("localTime", WallClock())
      .Append("logicalSessionTimeoutMinutes",
              static_cast<int32_t>(i.engine.options().session_timeout.count()))
      .Append("connectionId", static_cast<int32_t>(i.call.client.id()))
      .Append("minWireVersion", kMinWireVersion)
      .Append("maxWireVersion", kMaxWireVersion)
      .Append("readOnly", false);
  AppendCompression(i);
  RETURN_IF_ERROR(AppendMechanisms(i));
  if (bson::Value speculative = i.body()["speculativeAuthenticate"]; speculative.is_document()) {
    StartSpeculatively(i, speculative.AsDocument());
  }
  if (std::string descriptor = i.commands.automation_descriptor(); !descriptor.empty()) {
    i.reply().Append("automationServiceDescriptor", descriptor);
  }
  return Status::Ok();
}

// The set's state, null for a server without one.
std::shared_ptr<const engine::SetStatus> StatusOfSet(const Invocation& i) {
  return i.engine.replication == nullptr ? nullptr : i.engine.replication->status();
}

// An awaited hello: answers when the topology changes, or in time.
class AwaitTopology : public request::Suspension {
 public:
  AwaitTopology(Invocation& invocation, std::string_view primary_field, int64_t counter,
                std::chrono::steady_clock::time_point end)
      : invocation_(invocation), primary_field_(primary_field), counter_(counter) {
    until = end;
    idle = true;
  }

  bool Listen(request::Waker* waker) override {
    if (engine::Replication* set = invocation_.engine.replication; set != nullptr) {
      listener_ = set->changed.Listen([waker] { waker->Wake(); });
    }
    return !Changed();
  }

  Status Resume(request::Call& call) override {
    RETURN_IF_ERROR(call.op.CheckInterruptNow());
    if (!Changed() && std::chrono::steady_clock::now() < until) {
      call.suspension =
          std::make_unique<AwaitTopology>(invocation_, primary_field_, counter_, until);
      return Status::Ok();
    }
    return AnswerGreeting(invocation_, primary_field_, StatusOfSet(invocation_).get());
  }

 private:
  bool Changed() const {
    return TopologyCounter(invocation_) != counter_ ||
           invocation_.commands.quiesce_left().has_value();
  }

  Invocation& invocation_;  // lives in the request's state
  std::string_view primary_field_;
  int64_t counter_;
  std::unique_ptr<Bell::Listener> listener_;
};

Status Greet(Invocation& i, std::string_view primary_field) {
  RETURN_IF_ERROR(ReadMetadata(i));
  ASSIGN_OR_RETURN(const std::optional<std::chrono::milliseconds> wait, ReadAwait(i));
  if (wait && wait->count() > 0) {
    const auto given = i.body()["topologyVersion"].AsDocument()["counter"];
    i.call.suspension = std::make_unique<AwaitTopology>(i, primary_field, *bson::ExactInt64(given),
                                                        std::chrono::steady_clock::now() + *wait);
    return Status::Ok();
  }
  return AnswerGreeting(i, primary_field, StatusOfSet(i).get());
}

Status RunHello(Invocation& i) { return Greet(i, "isWritablePrimary"); }
Status RunIsMaster(Invocation& i) { return Greet(i, "ismaster"); }

}  // namespace

std::string ReachedAs(const Invocation& invocation) {
  const std::string& local = invocation.call.client.local();
  bool tcp = !local.empty() && local[0] != '/';
  return tcp ? local : invocation.commands.info().host;
}

std::span<const Row> HandshakeRows() {
  using request::kHandshake;
  static constexpr Row kRows[] = {
      {{"hello", "", kHandshake | request::kStableApi, "who this server is"}, RunHello, kAnyone},
      {{"isMaster", "ismaster", kHandshake, "hello's older name"}, RunIsMaster, kAnyone},
  };
  return kRows;
}

}  // namespace quire::command
