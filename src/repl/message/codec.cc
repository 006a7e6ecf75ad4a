// SPDX-License-Identifier: Apache-2.0
#include "repl/message/codec.h"

#include <cstring>
#include <utility>

#include "base/error_codes.h"
#include "base/try.h"
#include "repl/message/fields.h"

namespace quire::repl {
namespace {

// One place for both directions: an Archive either writes a field or reads it.
class WriteArchive {
 public:
  explicit WriteArchive(FieldWriter* out) : out_(out) {}
  void Number(std::string_view name, uint64_t& value) { out_->Number(name, value); }
  void Time(std::string_view name, int64_t& value) { out_->Signed(name, value); }
  void Bool(std::string_view name, bool& value) { out_->Bool(name, value); }
  void At(std::string_view name, Position& value) { out_->At(name, value); }
  template <typename T>
  void Part(std::string_view name, T& value) {
    out_->Put(name, value);
  }
  void Log(std::string_view name, LogSummary& log) {
    bson::Builder& b = out_->builder();
    b.BeginDocument(name);
    out_->At("begin", log.begin).Number("undo", log.undo_begin);
    b.BeginArray("ends");
    for (const Position& end : log.ends) {
      b.PushDocument();
      out_->Number("e", end.epoch).Number("t", end.time);
      b.End();
    }
    b.End().End();
  }

 private:
  FieldWriter* out_;
};

class ReadArchive {
 public:
  explicit ReadArchive(FieldReader* in) : in_(in) {}
  void Number(std::string_view name, uint64_t& value) { value = in_->Number(name); }
  void Time(std::string_view name, int64_t& value) { value = in_->Signed(name); }
  void Bool(std::string_view name, bool& value) { value = in_->Bool(name); }
  void At(std::string_view name, Position& value) { value = in_->At(name); }
  void Part(std::string_view name, Stamp& value) { value = in_->ReadStamp(name); }
  void Part(std::string_view name, Session& value) { value = in_->ReadSession(name); }
  void Part(std::string_view name, Leadership& value) { value = in_->ReadLeadership(name); }
  void Log(std::string_view name, LogSummary& log) {
    FieldReader part(in_->Document(name));
    log.begin = part.At("begin");
    log.undo_begin = part.Number("undo");
    for (const bson::Element& element : part.Document("ends", true)) {
      if (!element.value().is_document()) {
        (void)in_->Number("");
        return;
      }
      FieldReader end(element.value().AsDocument());
      log.ends.push_back({end.Number("e"), end.Number("t")});
      bad_ = bad_ || !end.ok();
    }
    bad_ = bad_ || !part.ok();
  }
  bool bad() const { return bad_ || !in_->ok(); }

 private:
  FieldReader* in_;
  bool bad_ = false;
};

template <typename A>
void Fields(A& a, Beacon& m) {
  a.Number("epoch", m.epoch);
  a.Number("boot", m.boot);
  a.Part("base", m.base);
  a.Part("stamp", m.stamp);
  a.Time("sent", m.sent);
  a.Number("commit", m.commit);
  a.Part("session", m.session);
  a.Number("inSync", m.in_sync);
  a.Number("floor", m.floor);
}
template <typename A>
void Fields(A& a, Append& m) {
  a.Number("epoch", m.epoch);
  a.Number("boot", m.boot);
  a.Part("base", m.base);
  a.Part("session", m.session);
  a.At("previous", m.previous);
  a.At("last", m.last);
  a.Number("commit", m.commit);
}
template <typename A>
void Fields(A& a, Ack& m) {
  a.Number("epoch", m.epoch);
  a.Part("session", m.session);
  a.Number("data", m.data);
  a.Number("counter", m.counter);
  a.Time("beacon", m.beacon);
  a.Bool("joined", m.joined);
  a.Bool("gap", m.gap);
  a.Bool("fresh", m.fresh);
  a.Number("durable", m.durable);
  a.Number("applied", m.applied);
  a.At("last", m.last);
  a.Time("uptime", m.uptime);
}
template <typename A>
void Fields(A& a, Hello& m) {
  a.Number("epoch", m.epoch);
  a.Part("session", m.session);
  a.Number("data", m.data);
  a.Bool("fresh", m.fresh);
  a.Number("durable", m.durable);
  a.Log("log", m.log);
}
template <typename A>
void Fields(A& a, Join& m) {
  a.Number("epoch", m.epoch);
  a.Part("session", m.session);
  a.At("common", m.common);
  a.Bool("resync", m.resync);
}
template <typename A>
void Fields(A& a, Refused& m) {
  a.Number("accepted", m.accepted);
}
template <typename A>
void Fields(A& a, PreVote& m) {
  a.Number("round", m.round);
  a.Bool("transfer", m.transfer);
}
template <typename A>
void Fields(A& a, PreVoteAnswer& m) {
  a.Number("round", m.round);
  a.Part("accepted", m.accepted);
  a.Number("fence", m.fence);
  a.Part("heard", m.heard);
  a.Number("boot", m.boot);
  a.Number("data", m.data);
  a.Bool("fresh", m.fresh);
  a.Bool("hears", m.hears);
  a.Bool("leads", m.leads);
  a.At("last", m.last);
}
template <typename A>
void Fields(A& a, TakeOver& m) {
  a.Number("epoch", m.epoch);
}
template <typename A>
void Fields(A& a, Survey& m) {
  a.Number("round", m.round);
  a.Number("epoch", m.epoch);
}
template <typename A>
void Fields(A& a, SurveyAnswer& m) {
  a.Number("round", m.round);
  a.Bool("fenced", m.fenced);
  a.Number("highest", m.highest);
  a.Number("counter", m.counter);
  a.Number("data", m.data);
  a.Bool("fresh", m.fresh);
  a.At("last", m.last);
}
template <typename A>
void Fields(A& a, Local& m) {
  a.Number("data", m.data);
  a.Bool("fresh", m.fresh);
  a.Part("accepted", m.accepted);
  a.Number("fence", m.fence);
  a.Part("heard", m.heard);
  a.Number("acked", m.acked);
}

// In the order of Message's alternatives.
constexpr std::string_view kNames[] = {"beacon",   "append",  "ack",         "hello",
                                       "join",     "refused", "prevote",     "prevoteAnswer",
                                       "takeOver", "survey",  "surveyAnswer"};
static_assert(std::size(kNames) == std::variant_size_v<Message>);

Status Malformed(std::string_view what) {
  return {kFailedToParse, "a message between members is malformed: " + std::string(what)};
}

template <typename T>
Result<T> Read(bson::View document, std::string_view what) {
  FieldReader in(document);
  ReadArchive archive(&in);
  T out;
  Fields(archive, out);
  if (archive.bad()) {
    return Malformed(what);
  }
  return out;
}

template <size_t kIndex = 0>
Result<Message> ReadAs(bson::View document, std::string_view name) {
  if constexpr (kIndex == std::variant_size_v<Message>) {
    return Malformed(name);
  } else {
    if (name != kNames[kIndex]) {
      return ReadAs<kIndex + 1>(document, name);
    }
    using Wanted = std::variant_alternative_t<kIndex, Message>;
    ASSIGN_OR_RETURN(Wanted message, Read<Wanted>(document, name));
    return Message(std::move(message));
  }
}

void PutNumber(std::string* out, uint64_t number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof number);
}

void PutBytes(std::string* out, std::string_view bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof size);
  out->append(bytes);
}

// Takes from the front of bytes; not ok once there were too few.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool done() const { return rest_.empty(); }
  template <typename T>
  T Number() {
    T out = 0;
    if (rest_.size() < sizeof out) {
      ok_ = false;
      rest_ = {};
      return 0;
    }
    memcpy(&out, rest_.data(), sizeof out);
    rest_.remove_prefix(sizeof out);
    return out;
  }
  std::string Bytes() {
    const auto size = Number<uint32_t>();
    if (rest_.size() < size) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    std::string out(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return out;
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace

bson::Document EncodeMessage(const Message& message) {
  FieldWriter out;
  out.Text("t", kNames[message.index()]);
  WriteArchive archive(&out);
  std::visit(
      [&](auto one) {  // a copy: an archive takes what it may change
        Fields(archive, one);
      },
      message);
  return out.Finish();
}

Result<Message> DecodeMessage(const bson::Argument& document) {
  const bson::Value name = document.view()["t"];
  return name.is_string() ? ReadAs(document, name.AsString()) : Malformed("no name");
}

std::string EncodeSlots(std::span<const engine::LogSlot> slots) {
  std::string out;
  for (const engine::LogSlot& slot : slots) {
    PutNumber(&out, slot.at.epoch);
    PutNumber(&out, slot.at.time);
    PutNumber(&out, slot.previous);
    PutNumber(&out, slot.groups.size());
    for (const engine::LogSlot::Group& group : slot.groups) {
      PutBytes(&out, group.key);
      PutBytes(&out, group.value);
    }
  }
  return out;
}

Result<std::vector<engine::LogSlot>> DecodeSlots(std::string_view bytes) {
  std::vector<engine::LogSlot> out;
  Taker in(bytes);
  while (in.ok() && !in.done()) {
    engine::LogSlot& slot = out.emplace_back();
    slot.at.epoch = in.Number<uint64_t>();
    slot.at.time = in.Number<uint64_t>();
    slot.previous = in.Number<uint64_t>();
    const auto groups = in.Number<uint64_t>();
    for (uint64_t i = 0; in.ok() && i < groups; ++i) {
      engine::LogSlot::Group& group = slot.groups.emplace_back();
      group.key = in.Bytes();
      group.value = in.Bytes();
    }
  }
  if (!in.ok()) {
    return Malformed("slots");
  }
  return out;
}

bson::Document EncodeLocal(const Local& local) {
  FieldWriter out;
  WriteArchive archive(&out);
  Local copy = local;
  Fields(archive, copy);
  return out.Finish();
}

Result<Local> DecodeLocal(const bson::Argument& document) { return Read<Local>(document, "local"); }

LogSummary ToCore(const engine::LogEnds& ends) {
  LogSummary out;
  out.begin = ToCore(ends.begin);
  out.undo_begin = ends.undo_begin;
  for (const engine::LogPosition& end : ends.ends) {
    if (end.epoch == 0) {
      // Made before the set was: whoever lacks them copies the folder.
      out.begin = std::max(out.begin, ToCore(end));
    } else {
      out.ends.push_back(ToCore(end));
    }
  }
  return out;
}

}  // namespace quire::repl
