// SPDX-License-Identifier: Apache-2.0
#include "repl/core/testing/trace.h"

#include <variant>

namespace quire::repl {
namespace {

std::ostream& operator<<(std::ostream& out, const Position& at) {
  return out << at.epoch << ":" << at.time;
}

std::ostream& operator<<(std::ostream& out, const LogSummary& log) {
  out << "log [" << log.begin;
  for (const Position& end : log.ends) out << " " << end;
  return out << "]";
}

std::ostream& operator<<(std::ostream& out, const View& view) {
  const Leadership& leader = view.leader.leader;
  out << "leader " << leader.member << "/" << leader.boot << " epoch " << leader.epoch << " isr {";
  for (const InSyncMember& one : view.isr.members) out << " " << one.member << "/" << one.data;
  out << " } floor " << view.isr.floor << " counter " << view.stamp.counter;
  if (!view.known()) return out;
  out << " config " << view.set().version << " {";
  for (const MemberConfig& one : view.set().members)
    out << " " << one.id << (one.newly_added ? "+" : one.votes ? "" : "-");
  return out << " }";
}

std::ostream& operator<<(std::ostream& out, const Session& session) {
  return out << session.boot << "/" << session.attempt;
}

struct MessageWords {
  std::ostream& out;
  void operator()(const Beacon& m) const {
    out << "beacon epoch " << m.epoch << " counter " << m.stamp.counter << " commit " << m.commit
        << " session " << m.session;
  }
  void operator()(const Append& m) const {
    out << "append epoch " << m.epoch << " (" << m.previous << ", " << m.last << "] commit "
        << m.commit << " session " << m.session;
  }
  void operator()(const Ack& m) const {
    out << "ack epoch " << m.epoch << " session " << m.session << (m.joined ? " joined" : "")
        << (m.gap ? " gap" : "") << " durable " << m.durable << " last " << m.last << " counter "
        << m.counter << " data " << m.data;
  }
  void operator()(const Hello& m) const {
    out << "hello epoch " << m.epoch << " session " << m.session << " durable " << m.durable << " "
        << m.log << " data " << m.data;
  }
  void operator()(const Join& m) const {
    out << "join epoch " << m.epoch << " session " << m.session << " common " << m.common
        << (m.resync ? " resync" : "");
  }
  void operator()(const Refused& m) const { out << "refused, accepted " << m.accepted; }
  void operator()(const PreVote& m) const {
    out << "pre-vote " << m.round << (m.transfer ? " transfer" : "");
  }
  void operator()(const PreVoteAnswer& m) const {
    out << "pre-vote answer " << m.round << " epoch " << m.accepted.epoch << " counter "
        << m.heard.counter << " last " << m.last << (m.hears ? " hears" : "")
        << (m.leads ? " leads" : "");
  }
  void operator()(const TakeOver& m) const { out << "take over from epoch " << m.epoch; }
  void operator()(const Survey& m) const { out << "survey epoch " << m.epoch; }
  void operator()(const SurveyAnswer& m) const {
    out << "survey answer" << (m.fenced ? " fenced" : "") << " last " << m.last;
  }
};

struct InputWords {
  std::ostream& out;
  void operator()(const Tick& i) const { out << "tick " << i.now; }
  void operator()(const Started& i) const {
    out << "started data " << i.local.data << " accepted " << i.local.accepted.epoch << " " << i.log
        << " applied " << i.applied << " commit " << i.commit << " acked " << i.local.acked;
  }
  void operator()(const LogBroken&) const { out << "a slot of its log has no entry"; }
  void operator()(const Grown& i) const { out << "grown to " << i.visible; }
  void operator()(const Synced& i) const {
    out << "synced generation " << i.generation << " to " << i.up_to;
  }
  void operator()(const Applied& i) const { out << "applied " << i.time; }
  void operator()(const Trimmed& i) const { out << "trimmed to " << i.begin; }
  void operator()(const Received& i) const {
    out << "from " << i.from << ": ";
    std::visit(MessageWords{out}, i.message);
  }
  void operator()(const StoreAnswer& i) const {
    out << "store " << (i.done ? "did " : "refused ") << i.ticket << ": " << i.now;
  }
  void operator()(const Hint& i) const { out << "hint: " << i.view; }
  void operator()(const PeerDown& i) const { out << "sees " << i.member << " down"; }
  void operator()(const LogClosed& i) const { out << "log closed, " << i.log; }
  void operator()(const Copied& i) const {
    out << "copied data " << i.data << " " << i.log << " applied " << i.applied << " commit "
        << i.commit;
  }
  void operator()(const Await& i) const { out << "awaits " << i.slot << " as " << i.id; }
  void operator()(const Abandon& i) const { out << "wait " << i.id << " is abandoned"; }
  void operator()(const Linearize& i) const { out << "linearizable read " << i.id; }
  void operator()(const NoopWritten& i) const { out << "no-op at " << i.slot; }
  void operator()(const StepDownCommand&) const { out << "command: step down"; }
  void operator()(const StepUpCommand&) const { out << "command: step up"; }
  void operator()(const FreezeCommand&) const { out << "command: freeze"; }
  void operator()(const ReconfigCommand&) const { out << "command: reconfig"; }
  void operator()(const RecoverCommand&) const { out << "command: recover"; }
};

struct ActionWords {
  std::ostream& out;
  void operator()(const Persist& a) const {
    out << "persist accepted " << a.local.accepted.epoch << " counter " << a.local.heard.counter
        << " acked " << a.local.acked;
  }
  void operator()(const Send& a) const {
    out << "to " << a.to << ": ";
    std::visit(MessageWords{out}, a.message);
  }
  void operator()(const WriteKeys& a) const {
    out << "write keys " << a.ticket << ": " << a.wanted;
  }
  void operator()(const ReadKeys&) const { out << "read keys"; }
  void operator()(const AppendLog& a) const {
    out << "append (" << a.previous << ", " << a.last << "]";
  }
  void operator()(const SyncLog& a) const {
    out << "sync generation " << a.generation << " to " << a.up_to;
  }
  void operator()(const CutLog& a) const { out << "cut after " << a.after; }
  void operator()(const Apply& a) const { out << "apply to " << a.up_to; }
  void operator()(const KeepSnapshot&) const { out << "keep a snapshot"; }
  void operator()(const OpenLog& a) const {
    out << "open the log in epoch " << a.epoch << (a.writable ? "" : " as caretaker");
  }
  void operator()(const CloseLog&) const { out << "close the log"; }
  void operator()(const PauseWrites& a) const {
    out << (a.paused ? "pause writes" : "let writes go on");
  }
  void operator()(const WriteNoop&) const { out << "write a no-op"; }
  void operator()(const Committed& a) const { out << "committed " << a.commit; }
  void operator()(const Resync&) const { out << "copy another member"; }
  void operator()(const Answer& a) const { out << "answer " << a.id << " code " << a.code; }
  void operator()(const CommandDone& a) const { out << "command done, code " << a.code; }
  void operator()(const Become& a) const {
    constexpr const char* kNames[] = {"starting",   "primary",      "secondary",
                                      "recovering", "initial sync", "removed"};
    out << "is " << kNames[static_cast<int>(a.state)] << " in epoch " << a.epoch;
  }
};

}  // namespace

void Trace(std::ostream& out, Millis now, MemberId member, const Input& input) {
  out << now << " " << member << " ";
  std::visit(InputWords{out}, input);
  out << "\n";
}

void Trace(std::ostream& out, MemberId member, const Action& action) {
  out << "      " << member << " -> ";
  std::visit(ActionWords{out}, action);
  out << "\n";
}

}  // namespace quire::repl
