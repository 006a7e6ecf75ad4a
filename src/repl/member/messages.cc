// SPDX-License-Identifier: Apache-2.0
//
// What goes to other members and what comes from them.
#include <algorithm>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"
#include "quire/doc.h"
#include "repl/config/set_config.h"
#include "repl/member/member_internal.h"
#include "repl/message/codec.h"
#include "repl/message/fields.h"
#include "request/reply.h"

namespace quire::repl {
namespace {

constexpr std::chrono::seconds kMessageTimeout{2};
// An acknowledgement's reply says nothing but that the leader lives: one now and then is enough.
constexpr Millis kBetweenReplies = 100;

}  // namespace

void Member::Impl::AppendEnvelope(bson::Builder* body) const {
  body->Append("replSetMessage", 1)
      .Append("set", options.set_name)
      .Append("from", self_id_.load())
      .Append("boot", static_cast<int64_t>(boot_))
      .Append("$db", "admin");
}

void Member::Impl::SendTo(const std::string& host, const char* lane, const bson::Document& body,
                          std::chrono::milliseconds timeout, peer::Done done) {
  pool_->Send(host, lane, body, std::chrono::steady_clock::now() + timeout, std::move(done));
}

void Member::Impl::AskPrimary(const bson::Document& command, std::chrono::milliseconds timeout,
                              Answered answer) {
  // Few connections, and none waits long for another's command.
  static constexpr const char* kLanes[] = {"writes0", "writes1", "writes2", "writes3"};
  const int primary = status()->primary;
  const auto config = shared_config();
  const auto hosts = config ? HostsOf(*config) : std::map<MemberId, std::string>();
  const auto host = hosts.find(primary);
  if (host == hosts.end()) {
    answer(Status(kPrimarySteppedDown, "No primary exists currently"));
    return;
  }
  SendTo(host->second, kLanes[last_asked_++ % std::size(kLanes)], command, timeout,
         std::move(answer));
}

void Member::Impl::SendMessage(MemberId to, const Message& message) {
  auto host = hosts_.find(to);
  if (host == hosts_.end()) {
    return;
  }
  bson::Builder body;
  AppendEnvelope(&body);
  body.Append("message", EncodeMessage(message));
  if (std::holds_alternative<Beacon>(message)) {
    body.Append("members", SpreadDocument());
  }
  const bool heard = std::holds_alternative<Ack>(message) && Now() - seen_[to].at < kBetweenReplies;
  SendTo(host->second, "beacon", body.Finish(), kMessageTimeout,
         [this, to, heard, sent = Now()](Result<bson::Document> reply) {
           if (!heard || !reply.ok()) {
             Post([this, to, sent, reply = std::move(reply)] { TakeReply(to, reply, sent); });
           }
         });
}

void Member::Impl::SendProbe(MemberId to) {
  auto host = hosts_.find(to);
  if (host == hosts_.end()) {
    return;
  }
  bson::Builder body;
  AppendEnvelope(&body);
  body.Append("probe", true);
  SendTo(host->second, "beacon", body.Finish(), kMessageTimeout,
         [this, to, sent = Now()](Result<bson::Document> reply) {
           Post([this, to, sent, reply = std::move(reply)] { TakeReply(to, reply, sent); });
         });
}

void Member::Impl::TakeReply(MemberId from, const Result<bson::Document>& reply, Millis sent) {
  Seen& seen = seen_[from];
  const Status status = reply.ok() ? request::StatusOf(*reply) : reply.status();
  if (!status.ok()) {
    seen.problem = status.message();
    return;
  }
  FieldReader in(*reply);
  const Boot boot = in.Number("boot");
  const auto state = static_cast<engine::MemberState>(in.Signed("state"));
  const int64_t uptime = in.Signed("uptime");
  if (!in.ok()) {
    return;
  }
  seen.at = Now();
  seen.wall_millis = bson::Date::Now().millis;
  seen.ping_millis = Now() - sent;
  seen.state = state;
  seen.uptime_seconds = uptime;
  seen.down = false;
  seen.problem.clear();
  // The process that led has ended, and another one has its place.
  if (core_ && !core_->leading() && core_->leader().member == from &&
      core_->leader().boot != boot) {
    Step(PeerDown{from});
  }
}

void Member::Impl::OnLink(const std::string& host, peer::LinkEvent event) {
  for (const auto& [id, name] : hosts_) {
    if (name != host || id == self_) {
      continue;
    }
    if (event == peer::LinkEvent::kClosed) {
      SendProbe(id);  // finds out whether its port refuses
      continue;
    }
    seen_[id].down = true;
    dirty_ = true;
    if (core_) {
      Step(PeerDown{id});
    }
  }
}

bson::Document Member::Impl::Introduction() const {
  const auto shown = status();
  FieldWriter out;
  out.Number("boot", boot_).Signed("state", static_cast<int64_t>(shown->state));
  out.Signed("uptime", Now() / 1000);
  return out.Finish();
}

bool Member::Impl::HasUserData() const {
  for (const std::string& database : engine_.catalog().snapshot()->Databases()) {
    if (database != "local" && database != "admin" && database != "config") {
      return true;
    }
  }
  return false;
}

void Member::Impl::Receive(bson::Document body, Answered answer) {
  const bson::View view = body;
  const bson::Value set = view["set"];
  if (!set.is_string() || set.AsString() != options.set_name) {
    answer(Status(kInconsistentReplicaSetNames,
                  "Our set name of '" + options.set_name + "' does not match that of the sender"));
    return;
  }
  if (view.Has("parts")) {
    ReceiveSlots(view, std::move(answer));
  } else if (const bson::Value message = view["message"]; message.is_document()) {
    auto decoded = DecodeMessage(message.AsDocument());
    if (!decoded.ok()) {
      answer(decoded.status());
      return;
    }
    Post([this, body = std::move(body), decoded = *std::move(decoded)] {
      ReceiveMessage(body, decoded);
    });
    answer(Introduction());
  } else if (view.Has("copy") && view["copy"].is_document()) {
    if (!status()->initiated || status()->state == engine::MemberState::kStartup2) {
      answer(Status(kNotPrimaryOrSecondary, "this member has nothing to copy"));
      return;
    }
    copies_.Post([this, body = std::move(body), answer = std::move(answer)] {
      answer(source_->Answer(body["copy"].AsDocument()));
    });
  } else if (const bson::Value time = view["noop"]; time.type() == bson::Type::kInt64) {
    Post([this, wanted = static_cast<uint64_t>(time.AsInt64())] {
      if (core_ && core_->log_open() && wanted > core_->log().last().time) {
        AskForNoop(wanted);
      }
    });
    answer(Introduction());
  } else {
    bson::Builder reply;
    const bson::Document introduction = Introduction();
    reply.AppendFields(introduction);
    reply.Append("initiated", status()->initiated).Append("hasData", HasUserData());
    answer(reply.Finish());
  }
}

void Member::Impl::ReceiveSlots(bson::View body, Answered answer) {
  FieldReader in(body);
  const MemberId from = in.Member("from");
  const int64_t piece = in.Signed("piece");
  const int64_t part = in.Signed("part");
  const int64_t parts = in.Signed("parts");
  const bson::Value bytes = body["slots"];
  if (!in.ok() || bytes.type() != bson::Type::kBinary || part < 0 || part >= parts) {
    answer(Status(kFailedToParse, "a part of the log is malformed"));
    return;
  }
  std::string whole;
  {
    MutexLock lock(parts_mutex_);
    Parts& kept = parts_[from];
    if (part == 0) {
      kept = Parts{piece, 0, {}};
    }
    // A part of what was begun over a connection that is gone by now.
    if (kept.piece != piece || kept.count != part) {
      answer(Status(kBadValue, "a part of the log does not follow the one before"));
      return;
    }
    ++kept.count;
    kept.bytes.append(bytes.AsBinary());
    if (part + 1 == parts) {
      whole = std::exchange(kept, {}).bytes;
    }
  }
  if (part + 1 < parts) {
    answer(Introduction());
    return;
  }
  auto message = DecodeMessage(in.Document("message"));
  auto slots = DecodeSlots(whole);
  const auto* append = message.ok() ? std::get_if<Append>(&*message) : nullptr;
  if (append == nullptr || !slots.ok() || slots->empty() ||
      ToCore(slots->back().at) != append->last) {
    answer(Status(kFailedToParse, "a part of the log is malformed"));
    return;
  }
  Post([this, from, append = *append, slots = *std::move(slots),
        answer = std::move(answer)]() mutable {
    if (!core_ || options.loses_log()) {
      answer(Introduction());
      return;
    }
    incoming_ = Incoming{std::move(slots), std::move(answer)};
    seen_[from].received_millis = bson::Date::Now().millis;
    Step(Received{from, append});
    if (incoming_) {  // it was not wanted
      incoming_->answer(Introduction());
      incoming_.reset();
    }
  });
}

void Member::Impl::ReceiveMessage(bson::View body, Message message) {
  FieldReader in(body);
  const MemberId from = in.Member("from");
  if (!core_ || !in.ok()) {
    return;
  }
  seen_[from].received_millis = bson::Date::Now().millis;
  Step(Received{from, std::move(message)});
  if (body.Has("members") && core_->leader().member == from) {
    TakeSpread(body);
  }
}

}  // namespace quire::repl
