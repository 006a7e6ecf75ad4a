// SPDX-License-Identifier: Apache-2.0
//
// Hashes of data: dbHash over databases, filemd5 over GridFS files.
#include <algorithm>
#include <array>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/hash/md5.h"
#include "bson/number.h"
#include "command/diagnostic.h"
#include "engine/read/read.h"
#include "engine/read/without_table.h"
#include "request/fields.h"

namespace quire::command {
namespace {

std::string Hex(bson::Md5* md5) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (uint8_t byte : md5->Finish()) {
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

// Calls `visit` with every document of a query.
template <typename F>
Status ForEachDocument(Invocation& i, const std::string& ns, const request::FindRequest& find,
                       F visit) {
  ASSIGN_OR_RETURN(std::shared_ptr<run::Cursor> cursor, engine::Find(i.operation, ns, find));
  exec::Row row;
  while (true) {
    RETURN_IF_ERROR(i.op().CheckInterrupt());
    ASSIGN_OR_RETURN(bool more, cursor->source->Next(i.op(), &row));
    if (!more) {
      return Status::Ok();
    }
    RETURN_IF_ERROR(visit(row.document));
  }
}

// The documents in the order of _id; a capped collection's in their own.
Result<std::string> CollectionHash(Invocation& i, const std::string& name, bool capped,
                                   bool indexed) {
  bson::Builder by_id;
  by_id.Append("_id", 1);
  bson::Document order = by_id.Finish();
  request::FindRequest find;
  find.allow_disk_use = true;
  if (!capped) {
    find.sort = order.view();
    if (indexed) {
      find.hint = bson::Value(order.view());
    }
  }
  bson::Md5 md5;
  const std::string ns = std::string(i.database()) + "." + name;
  RETURN_IF_ERROR(ForEachDocument(i, ns, find, [&](bson::View document) {
    md5.Add(document.bytes());
    return Status::Ok();
  }));
  return Hex(&md5);
}

// The collections asked for; an empty list is all of them.
Result<std::vector<std::string_view>> ReadCollections(bson::View body) {
  std::vector<std::string_view> out;
  bson::Value list = body["collections"];
  if (!list.is_array()) {
    return out;
  }
  for (const bson::Element& e : list.AsArray()) {
    if (e.type() != bson::Type::kString) {
      return Status(kBadValue, "collections entries have to be strings");
    }
    out.push_back(e.value().AsString());
  }
  return out;
}

struct Hashed {
  std::string name;
  store::Uuid uuid{};
  bool capped = false;
  bool indexed = true;
  std::string hash;
};

// What the database has that is hashed, by name. Views are what system.views says of them.
std::vector<Hashed> HashedCollections(Invocation& i) {
  constexpr std::string_view kViews = "system.views";
  std::vector<Hashed> out;
  bool has_views = false;
  for (const store::CollectionPtr& info : i.engine.catalog().snapshot()->InDatabase(i.database())) {
    if (info->is_view()) {
      has_views = has_views || !info->is_oplog;
    } else if (!info->name.starts_with("system.profile")) {
      out.push_back({info->name, info->uuid, info->capped, true, ""});
    }
  }
  if (has_views) {
    out.push_back({std::string(kViews), engine::SystemViewsUuid(i.database()), false, false, ""});
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  }
  return out;
}

Status RunDbHash(Invocation& i) {
  auto started = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(std::vector<std::string_view> wanted, ReadCollections(i.body()));
  std::vector<Hashed> hashes = HashedCollections(i);
  if (!wanted.empty()) {
    std::erase_if(hashes, [&](const Hashed& hashed) {
      return std::find(wanted.begin(), wanted.end(), hashed.name) == wanted.end();
    });
  }
  bson::Md5 all;
  for (Hashed& hashed : hashes) {
    ASSIGN_OR_RETURN(hashed.hash, CollectionHash(i, hashed.name, hashed.capped, hashed.indexed));
    all.Add(hashed.name);
    all.Add(hashed.hash);
  }
  i.reply().Append("host", ReachedAs(i)).BeginDocument("collections");
  for (const Hashed& hashed : hashes) {
    i.reply().Append(hashed.name, hashed.hash);
  }
  i.reply().End().BeginArray("capped");
  for (const Hashed& hashed : hashes) {
    if (hashed.capped) {
      i.reply().Push(hashed.name);
    }
  }
  i.reply().End().BeginDocument("uuids");
  for (const Hashed& hashed : hashes) {
    i.reply().Append(
        hashed.name,
        bson::Value::Binary({reinterpret_cast<const char*>(hashed.uuid.data()), hashed.uuid.size()},
                            4));
  }
  auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - started);
  i.reply().End().Append("md5", Hex(&all)).Append("timeMillis", static_cast<int32_t>(took.count()));
  return Status::Ok();
}

// The chunks of a file are not looked for without an index on them.
Status CheckChunksIndex(Invocation& i, const std::string& ns) {
  ASSIGN_OR_RETURN(store::CollectionPtr chunks, i.operation.Find(ns));
  if (chunks == nullptr || chunks->is_view()) {
    return Status::Ok();
  }
  const bool there =
      std::any_of(chunks->indexes.begin(), chunks->indexes.end(), [](const auto& index) {
        return index->key_pattern.view().front().name() == "files_id" && !index->hidden;
      });
  return there ? Status::Ok()
               : Status(kNoQueryExecutionPlans, "No index of " + ns +
                                                    " leads to the chunks of a "
                                                    "file: it needs one on { files_id: 1, n: 1 }");
}

// The collection that has the file's chunks.
Result<std::string> ChunksOf(Invocation& i) {
  bson::Value root = i.body()["root"];
  if (!root.missing() && !root.is_string()) {
    return Status(kInvalidNamespace, "'root' must be of type String");
  }
  const bool given = !root.missing() && !root.AsString().empty();
  return std::string(i.database()) + "." + (given ? std::string(root.AsString()) : "fs") +
         ".chunks";
}

Status StateFileMd5(Invocation& i, auth::Needs* needs) {
  ASSIGN_OR_RETURN(std::string chunks, ChunksOf(i));
  needs->Add(Action::find, auth::OfNamespace(chunks));
  return Status::Ok();
}

Status RunFileMd5(Invocation& i) {
  ASSIGN_OR_RETURN(std::string ns, ChunksOf(i));
  bson::Builder filter;
  filter.Append("files_id", i.body().front().value());
  bson::Document query = filter.Finish();
  bson::Builder by_number;
  by_number.Append("files_id", 1).Append("n", 1);
  bson::Document order = by_number.Finish();
  request::FindRequest find;
  find.filter = query.view();
  find.sort = order.view();
  find.allow_disk_use = true;
  bson::Md5 md5;
  int32_t chunks = 0;
  RETURN_IF_ERROR(CheckChunksIndex(i, ns));
  RETURN_IF_ERROR(ForEachDocument(i, ns, find, [&](bson::View chunk) {
    bson::Value number = chunk["n"];
    if (!number.is_number() || bson::ClampedInt64(number) != chunks) {
      return Status(10040, "chunks out of order");
    }
    bson::Value data = chunk["data"];
    if (data.type() != bson::Type::kBinary) {
      return Status(50848, "the data of a chunk must be binary");
    }
    md5.Add(data.AsBinary());
    ++chunks;
    return Status::Ok();
  }));
  i.reply().Append("numChunks", chunks).Append("md5", Hex(&md5));
  return Status::Ok();
}

}  // namespace

std::span<const Row> DataHashRows() {
  using request::kRead;
  static constexpr Row kRows[] = {
      {{"dbHash", "dbhash", kRead | request::kOnEveryMember | request::kToShards,
        "hashes of a database's collections"},
       RunDbHash,
       OnDatabase(Action::dbHash)},
      {{"filemd5", "", kRead | request::kByKey, "the MD5 of a GridFS file"},
       RunFileMd5,
       Stated(StateFileMd5)},
  };
  return kRows;
}

}  // namespace quire::command
