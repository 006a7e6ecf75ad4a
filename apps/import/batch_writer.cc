// SPDX-License-Identifier: Apache-2.0
#include "import/batch_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "base/error_codes.h"
#include "base/try.h"
#include "patterns/doc.h"
#include "quire/doc.h"
#include "quire/patterns/store.h"

namespace quire::apps {
namespace {

using patterns::At;
using patterns::IntegerAt;

constexpr std::string_view kStates = "quire_imports";
constexpr int kAttempts = 5;
constexpr auto kFirstPause = std::chrono::milliseconds(200);

std::string StateId(const std::string& source, const std::string& collection) {
  return source + " > " + collection;
}

Status FileError(const std::string& what, const std::string& path) {
  return {kFileStreamFailed, what + " '" + path + "': " + strerror(errno)};
}

// The connection failed: what was sent may or may not have been done.
bool IsLost(const Status& status) {
  return status.code() == kHostUnreachable || status.code() == kHostNotFound ||
         status.code() == kNetworkTimeout || status.code() == kSocketException ||
         status.code() == kInterruptedAtShutdown || status.code() == kShutdownInProgress ||
         status.code() == kNotWritablePrimary || status.code() == kPrimarySteppedDown;
}

std::string KeyOf(const bson::Value& id) {
  std::string key(1, static_cast<char>(id.type()));
  id.AppendTo(&key);
  return key;
}

// On one line, its newlines escaped.
std::string OneLine(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

Result<std::optional<ImportState>> ReadImportState(Database database, const std::string& source,
                                                   const std::string& collection) {
  const bson::Document filter = Doc("_id", StateId(source, collection));
  ASSIGN_OR_RETURN(std::optional<bson::Document> found,
                   database.GetCollection(kStates).FindOne(filter));
  if (!found) {
    return std::optional<ImportState>();
  }
  ImportState state;
  state.offset = IntegerAt(*found, "offset");
  state.line = IntegerAt(*found, "line");
  state.rejected_bytes = IntegerAt(*found, "rejected_bytes");
  state.head_bytes = IntegerAt(*found, "head_bytes");
  state.head = patterns::TextAt(*found, "head");
  return std::optional<ImportState>(state);
}

BatchWriter::BatchWriter(const Database& database, Options options)
    : database_(database),
      collection_(database.GetCollection(options.collection)),
      options_(std::move(options)) {}

BatchWriter::~BatchWriter() {
  if (rejected_ != nullptr) {
    fclose(rejected_);
  }
}

Status BatchWriter::Begin() {
  const std::string& path = options_.rejected_path;
  if (options_.state.rejected_bytes > 0) {
    if (truncate(path.c_str(), options_.state.rejected_bytes) != 0) {
      return FileError("cannot go on with", path);
    }
  } else if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return FileError("cannot remove the old", path);
  }
  return Status::Ok();
}

Status BatchWriter::Write(ImportBatch batch) {
  const auto records = static_cast<int64_t>(batch.records());
  if (!batch.documents.empty()) {
    RETURN_IF_ERROR(Insert(&batch));
  }
  RETURN_IF_ERROR(SetAside(&batch));
  RETURN_IF_ERROR(KeepState(batch));
  counts_.records += records;
  return Status::Ok();
}

Status BatchWriter::Insert(ImportBatch* batch) {
  auto pause = kFirstPause;
  for (int attempt = 1;; ++attempt, pause *= 2) {
    Result<InsertResult> result = collection_.InsertMany(batch->documents, {.ordered = false});
    if (result.ok()) {
      counts_.inserted += static_cast<int64_t>(batch->documents.size());
      return Status::Ok();
    }
    const Status& status = result.status();
    const bool one_by_one =
        !status.extra().empty() && bson::View(status.extra().data())["writeErrors"].is_array();
    if (one_by_one) {
      int64_t failed = 0;
      RETURN_IF_ERROR(TakeErrors(bson::View(status.extra().data()), batch, &failed));
      counts_.inserted += static_cast<int64_t>(batch->documents.size()) - failed;
      return Status::Ok();
    }
    if (!IsLost(status) || attempt == kAttempts) {
      return status;
    }
    std::this_thread::sleep_for(pause);
  }
}

Status BatchWriter::TakeErrors(bson::View reply, ImportBatch* batch, int64_t* failed) {
  std::vector<size_t> duplicates;
  for (const bson::Element& element : reply["writeErrors"].AsArray()) {
    bson::View error = element.value().AsDocument();
    const auto index = static_cast<size_t>(IntegerAt(error, "index"));
    if (index >= batch->documents.size()) {
      continue;
    }
    ++*failed;
    const bool of_id =
        IntegerAt(error, "code") == kDuplicateKey && !At(error, "keyPattern._id").missing();
    if (of_id && batch->made_ids[index]) {
      ++counts_.duplicates;
    } else if (of_id) {
      duplicates.push_back(index);
    } else {
      batch->rejected.push_back({batch->lines[index],
                                 std::string(patterns::TextAt(error, "errmsg")),
                                 batch->texts[index]});
    }
  }
  return duplicates.empty() ? Status::Ok() : JudgeDuplicates(duplicates, batch);
}

// A document that is stored as it is here was imported before; another one of the same _id is in
// the way.
Status BatchWriter::JudgeDuplicates(const std::vector<size_t>& indexes, ImportBatch* batch) {
  bson::Builder ids;
  ids.BeginDocument("_id").BeginArray("$in");
  for (size_t index : indexes) {
    ids.Push(batch->documents[index]["_id"]);
  }
  ids.End().End();
  const bson::Document filter = ids.Finish();
  ASSIGN_OR_RETURN(Cursor cursor, collection_.Find(filter));
  std::map<std::string, std::string> stored;
  while (cursor.Next()) {
    stored[KeyOf(cursor.current()["_id"])] = cursor.current().bytes();
  }
  RETURN_IF_ERROR(cursor.status());
  for (size_t index : indexes) {
    const bson::Document& document = batch->documents[index];
    auto found = stored.find(KeyOf(document["_id"]));
    if (found != stored.end() && found->second == document.bytes()) {
      ++counts_.duplicates;
    } else {
      batch->rejected.push_back({batch->lines[index], "DuplicateKey: another document has this _id",
                                 batch->texts[index]});
    }
  }
  return Status::Ok();
}

Status BatchWriter::SetAside(ImportBatch* batch) {
  if (batch->rejected.empty()) {
    return Status::Ok();
  }
  const std::string& path = options_.rejected_path;
  if (rejected_ == nullptr) {
    rejected_ = fopen(path.c_str(), "a");
    if (rejected_ == nullptr) {
      return FileError("cannot write", path);
    }
  }
  std::sort(batch->rejected.begin(), batch->rejected.end(),
            [](const auto& a, const auto& b) { return a.line < b.line; });
  for (const RejectedRecord& record : batch->rejected) {
    fprintf(rejected_, "%lld\t%s\t", static_cast<long long>(record.line),
            OneLine(record.reason).c_str());
    fwrite(record.text.data(), 1, record.text.size(), rejected_);
    fputc('\n', rejected_);
  }
  if (fflush(rejected_) != 0) {
    return FileError("cannot write", path);
  }
  fseek(rejected_, 0, SEEK_END);
  options_.state.rejected_bytes = ftell(rejected_);
  counts_.rejected += static_cast<int64_t>(batch->rejected.size());
  return Status::Ok();
}

Status BatchWriter::KeepState(const ImportBatch& batch) {
  if (options_.source.empty()) {
    return Status::Ok();
  }
  ImportState& state = options_.state;
  state.offset = batch.end;
  state.line = batch.next_line;
  const bson::Document fields =
      Doc("source", options_.source, "collection", options_.collection, "offset", state.offset,
          "line", state.line, "rejected_bytes", state.rejected_bytes, "head_bytes",
          state.head_bytes, "head", state.head);
  const bson::Document filter = Doc("_id", StateId(options_.source, options_.collection));
  const bson::Document update = Doc("$set", fields, "$currentDate", Doc("at", true));
  auto pause = kFirstPause;
  for (int attempt = 1;; ++attempt, pause *= 2) {
    auto result = database_.GetCollection(kStates).UpdateOne(filter, update, {.upsert = true});
    if (result.ok() || !IsLost(result.status()) || attempt == kAttempts) {
      return result.ok() ? Status::Ok() : result.status();
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace quire::apps
