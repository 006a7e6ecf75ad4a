// SPDX-License-Identifier: Apache-2.0
#include "repl/keys/keys.h"

#include <algorithm>

#include "base/error_codes.h"
#include "base/try.h"
#include "repl/config/set_config.h"
#include "repl/message/fields.h"

namespace quire::repl {
namespace {

Status Malformed(const std::string& key) {
  return {kFailedToParse, "the key " + key + " of the coordination store is malformed"};
}

const coord::Entry* Find(std::span<const coord::Entry> entries, const std::string& key) {
  auto found = std::find_if(entries.begin(), entries.end(),
                            [&](const coord::Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

void PutStamp(FieldWriter* out, Counter counter, const Nonce& nonce) {
  out->Number("counter", counter).Put("nonce", nonce);
}

std::string EncodeLeader(const View& view, const Nonce& nonce, const std::string& host) {
  FieldWriter out;
  const Leadership& leader = view.leader.leader;
  out.Number("epoch", leader.epoch).Signed("member", leader.member).Number("boot", leader.boot);
  out.Text("host", host);
  PutStamp(&out, view.stamp.counter, nonce);
  return bson::ToCanonicalJson(out.Finish());
}

std::string EncodeInSync(const View& view, const Nonce& nonce) {
  FieldWriter out;
  out.Number("epoch", view.leader.leader.epoch);
  bson::Builder& b = out.builder();
  b.BeginArray("members");
  for (const InSyncMember& member : view.isr.members) {
    b.PushDocument();
    out.Signed("id", member.member).Number("data", member.data);
    b.End();
  }
  b.End();
  out.Number("floor", view.isr.floor).Number("unclean", view.isr.unclean);
  PutStamp(&out, view.stamp.counter, nonce);
  return bson::ToCanonicalJson(out.Finish());
}

std::string EncodeConfig(const View& view, const Nonce& nonce) {
  FieldWriter out;
  out.builder().Append("config", ConfigDocument(view.set(), view.leader.leader.epoch, false));
  PutStamp(&out, view.stamp.counter, nonce);
  return bson::ToCanonicalJson(out.Finish());
}

// Reads the stamp of a key and keeps it when it is the newest.
KeyVersion TakeVersion(FieldReader* in, const coord::Entry& entry, View* view) {
  const Stamp stamp{in->Number("counter"), in->ReadNonce("nonce")};
  if (stamp.counter > view->stamp.counter) {
    view->stamp = stamp;
  }
  return {entry.modified, stamp.nonce};
}

Status ReadLeader(const coord::Entry& entry, View* view) {
  auto document = bson::Document::FromJson(entry.value);
  if (!document.ok()) {
    return Malformed(entry.key);
  }
  FieldReader in(*document);
  view->leader.leader = {in.Number("epoch"), in.Member("member"), in.Number("boot")};
  view->leader.version = TakeVersion(&in, entry, view);
  return in.ok() ? Status::Ok() : Malformed(entry.key);
}

Status ReadInSync(const coord::Entry& entry, View* view) {
  auto document = bson::Document::FromJson(entry.value);
  if (!document.ok()) {
    return Malformed(entry.key);
  }
  FieldReader in(*document);
  for (const bson::Element& element : in.Document("members", true)) {
    if (!element.value().is_document()) {
      return Malformed(entry.key);
    }
    FieldReader member(element.value().AsDocument());
    view->isr.members.Include({member.Member("id"), member.Number("data")});
    if (!member.ok()) {
      return Malformed(entry.key);
    }
  }
  view->isr.floor = in.Number("floor");
  view->isr.unclean = in.Number("unclean");
  view->isr.version = TakeVersion(&in, entry, view);
  return in.ok() ? Status::Ok() : Malformed(entry.key);
}

Status ReadConfig(const coord::Entry& entry, View* view) {
  auto document = bson::Document::FromJson(entry.value);
  if (!document.ok()) {
    return Malformed(entry.key);
  }
  FieldReader in(*document);
  ASSIGN_OR_RETURN(SetConfig config, ParseConfig(in.Document("config")));
  view->config.config = std::make_shared<const SetConfig>(std::move(config));
  view->config.version = TakeVersion(&in, entry, view);
  return in.ok() ? Status::Ok() : Malformed(entry.key);
}

}  // namespace

KeyNames::KeyNames(const std::string& cluster, const std::string& set)
    : prefix("/quire/" + cluster + "/sets/" + set + "/"),
      config(prefix + "config"),
      isr(prefix + "isr"),
      leader(prefix + "leader") {}

Result<std::optional<View>> DecodeKeys(const KeyNames& names,
                                       std::span<const coord::Entry> entries) {
  const coord::Entry* leader = Find(entries, names.leader);
  const coord::Entry* isr = Find(entries, names.isr);
  const coord::Entry* config = Find(entries, names.config);
  if (leader == nullptr || isr == nullptr || config == nullptr) {
    return std::optional<View>();
  }
  View view;
  RETURN_IF_ERROR(ReadLeader(*leader, &view));
  RETURN_IF_ERROR(ReadInSync(*isr, &view));
  RETURN_IF_ERROR(ReadConfig(*config, &view));
  return std::optional<View>(std::move(view));
}

coord::Transaction EncodeWrite(const KeyNames& names, const WriteKeys& write,
                               const std::string& host) {
  coord::Transaction out;
  out.compares = {{names.leader, write.expected.leader.revision},
                  {names.isr, write.expected.isr.revision},
                  {names.config, write.expected.config.revision}};
  if (write.leader) {
    out.writes.push_back(coord::Put(names.leader, EncodeLeader(write.wanted, write.nonce, host)));
  }
  if (write.isr) {
    out.writes.push_back(coord::Put(names.isr, EncodeInSync(write.wanted, write.nonce)));
  }
  if (write.config) {
    out.writes.push_back(coord::Put(names.config, EncodeConfig(write.wanted, write.nonce)));
  }
  return out;
}

coord::Transaction EncodeFirst(const KeyNames& names, const View& view, const Nonce& nonce,
                               const std::string& host) {
  WriteKeys write;
  write.wanted = view;
  write.nonce = nonce;
  write.leader = write.isr = write.config = true;
  return EncodeWrite(names, write, host);
}

}  // namespace quire::repl
