// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/gridfs.h"

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/keyset.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;

GridFsFile FileOf(const Document& document) {
  GridFsFile file;
  file.id = bson::OwnedValue(document["_id"]);
  file.length = IntegerAt(document, "length");
  file.chunk_size = static_cast<int32_t>(IntegerAt(document, "chunkSize"));
  if (document["uploadDate"].type() == bson::Type::kDate) {
    file.uploaded = document["uploadDate"].AsDate();
  }
  file.filename = TextAt(document, "filename");
  if (bson::Value metadata = document["metadata"]; metadata.is_document()) {
    file.metadata = Document(metadata.AsDocument());
  }
  return file;
}

int64_t ChunksOf(int64_t length, int64_t chunk_size) {
  return (length + chunk_size - 1) / chunk_size;
}

// The least ObjectId of that time.
bson::ObjectId IdAt(bson::Date time) {
  bson::ObjectId id;
  const auto seconds = static_cast<uint32_t>(std::max<int64_t>(time.millis / 1000, 0));
  for (int i = 0; i < 4; ++i) {
    id.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(seconds >> (24 - 8 * i));
  }
  return id;
}

Status NoFile(const bson::Value& id) { return MakeError(Error::kFileNotFound, bson::ToJson(id)); }

}  // namespace

GridFsUpload::GridFsUpload(Store store, const GridFsOptions& options, std::string filename,
                           UploadOptions upload)
    : store_(std::move(store)),
      bucket_(options.bucket),
      filename_(std::move(filename)),
      options_(std::move(upload)) {
  if (options_.chunk_size <= 0) {
    options_.chunk_size = options.chunk_size;
  }
  if (options_.id.missing()) {
    options_.id = bson::OwnedValue(bson::Value(store_.seams().ids->Next()));
  }
}

Status GridFsUpload::Write(std::string_view bytes) {
  const auto size = static_cast<size_t>(options_.chunk_size);
  while (!bytes.empty()) {
    const size_t taken = std::min(size - pending_.size(), bytes.size());
    pending_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (pending_.size() == size) {
      RETURN_IF_ERROR(Flush());
    }
  }
  return Status::Ok();
}

Status GridFsUpload::Flush() {
  const bson::Value data = bson::Value::Binary(pending_, 0);
  RETURN_IF_ERROR(store_.Insert(
      bucket_ + ".chunks",
      Doc("_id", store_.seams().ids->Next(), "files_id", options_.id, "n", next_, "data", data)));
  length_ += static_cast<int64_t>(pending_.size());
  next_ += 1;
  pending_.clear();
  return store_.seams().After("gridfs.upload", next_);
}

Result<GridFsFile> GridFsUpload::Finish() {
  if (!pending_.empty()) {
    RETURN_IF_ERROR(Flush());
  }
  bson::Builder file;
  file.Append("_id", options_.id.value()).Append("length", length_);
  file.Append("chunkSize", options_.chunk_size).Append("uploadDate", store_.Now());
  file.Append("filename", filename_);
  if (!options_.metadata.empty()) {
    file.Append("metadata", options_.metadata);
  }
  const Document document = file.Finish();
  Status inserted = store_.Insert(bucket_ + ".files", document);
  if (IsDuplicateKey(inserted) && next_ > 0) {  // of an empty file: no chunk of it refused ours
    RETURN_IF_ERROR(Abort());
  }
  RETURN_IF_ERROR(inserted);
  RETURN_IF_ERROR(store_.seams().After("gridfs.finish.c1"));
  // An upload that was paused for very long may have lost chunks that nothing owned till now.
  ASSIGN_OR_RETURN(int64_t stored, store_.Count(bucket_ + ".chunks", Doc("files_id", options_.id)));
  if (stored != next_) {
    RETURN_IF_ERROR(store_.DeleteOne(bucket_ + ".files", Doc("_id", options_.id)).status());
    RETURN_IF_ERROR(Abort());
    return MakeError(Error::kChunkIsMissing, "the upload took too long");
  }
  return FileOf(document);
}

Status GridFsUpload::Abort() {
  pending_.clear();
  RETURN_IF_ERROR(store_.DeleteMany(bucket_ + ".chunks", Doc("files_id", options_.id)).status());
  return store_.seams().After("gridfs.abort.c1");
}

GridFsDownload::GridFsDownload(Store store, std::string chunks, GridFsFile file,
                               const ByteRange& range)
    : store_(std::move(store)),
      chunks_(std::move(chunks)),
      file_(std::move(file)),
      at_(std::clamp<int64_t>(range.start, 0, file_.length)),
      end_(std::clamp(range.end, at_, file_.length)) {}

// One chunk, cut to the range.
Result<std::string> GridFsDownload::Read() {
  if (at_ == end_) {
    return std::string();
  }
  if (file_.chunk_size <= 0) {
    return MakeError(Error::kChunkIsWrongSize, "the file has no chunk size");
  }
  const int64_t n = at_ / file_.chunk_size;
  ASSIGN_OR_RETURN(auto chunk, store_.FindOne(chunks_, Doc("files_id", file_.id, "n", n)));
  if (!chunk) {
    return MakeError(Error::kChunkIsMissing, std::to_string(n));
  }
  ASSIGN_OR_RETURN(std::string data, Check(*chunk));
  const int64_t first = n * file_.chunk_size;
  const int64_t last = std::min(first + static_cast<int64_t>(data.size()), end_);
  data = data.substr(static_cast<size_t>(at_ - first), static_cast<size_t>(last - at_));
  at_ = last;
  if (at_ == file_.length) {
    RETURN_IF_ERROR(CheckEnd());
  }
  return data;
}

Result<std::string> GridFsDownload::Check(const Document& chunk) const {
  const int64_t n = IntegerAt(chunk, "n");
  const int64_t size = std::min<int64_t>(file_.chunk_size, file_.length - n * file_.chunk_size);
  bson::Value data = chunk["data"];
  if (data.type() != bson::Type::kBinary || static_cast<int64_t>(data.AsBinary().size()) != size) {
    return MakeError(Error::kChunkIsWrongSize, std::to_string(n));
  }
  return std::string(data.AsBinary());
}

Status GridFsDownload::CheckEnd() const {
  const int64_t count = ChunksOf(file_.length, file_.chunk_size);
  ASSIGN_OR_RETURN(auto extra,
                   store_.FindOne(chunks_, Doc("files_id", file_.id, "n", Doc("$gte", count)),
                                  {.projection = Doc("n", 1)}));
  return extra ? MakeError(Error::kExtraChunk, std::to_string(IntegerAt(*extra, "n")))
               : Status::Ok();
}

GridFs::GridFs(const Client& client, std::string_view database, GridFsOptions options)
    : options_(std::move(options)),
      files_(options_.bucket + ".files"),
      chunks_(options_.bucket + ".chunks"),
      store_(client, database, options_.seams, options_.concerns) {}

std::vector<IndexSpec> GridFs::Indexes() const {
  return {{files(), R"({"filename": 1, "uploadDate": 1})"},
          {chunks(), R"({"files_id": 1, "n": 1})", true}};
}

std::vector<ShardKeySpec> GridFs::ShardKeys() const {
  return {{chunks(), R"({"files_id": 1, "n": 1})"}};
}

Result<GridFsUpload> GridFs::OpenUpload(std::string_view filename, UploadOptions options) const {
  ASSIGN_OR_RETURN(auto any, store_.FindOne(files(), Doc(), {.projection = Doc("_id", 1)}));
  if (!any) {
    RETURN_IF_ERROR(CreateIndexes());
  }
  return GridFsUpload(store_, options_, std::string(filename), std::move(options));
}

Result<bson::OwnedValue> GridFs::Upload(std::string_view filename, std::string_view bytes,
                                        UploadOptions options) const {
  ASSIGN_OR_RETURN(GridFsUpload upload, OpenUpload(filename, std::move(options)));
  RETURN_IF_ERROR(upload.Write(bytes));
  ASSIGN_OR_RETURN(GridFsFile file, upload.Finish());
  return file.id;
}

Result<GridFsFile> GridFs::Get(const bson::Value& id) const {
  ASSIGN_OR_RETURN(auto file, store_.FindOne(files(), Doc("_id", id)));
  return file ? Result<GridFsFile>(FileOf(*file)) : NoFile(id);
}

Result<GridFsDownload> GridFs::OpenDownload(const bson::Value& id, const ByteRange& range) const {
  ASSIGN_OR_RETURN(GridFsFile file, Get(id));
  return GridFsDownload(store_, chunks(), std::move(file), range);
}

Result<std::string> GridFs::Download(const bson::Value& id, const ByteRange& range) const {
  ASSIGN_OR_RETURN(GridFsDownload download, OpenDownload(id, range));
  std::string all;
  for (;;) {
    ASSIGN_OR_RETURN(std::string piece, download.Read());
    if (piece.empty()) {
      return all;
    }
    all += piece;
  }
}

Result<GridFsFile> GridFs::GetByName(std::string_view filename, int32_t revision) const {
  const int32_t direction = revision < 0 ? -1 : 1;
  const int64_t skip = revision < 0 ? -(int64_t{revision} + 1) : revision;
  ASSIGN_OR_RETURN(auto found,
                   store_.FindOne(files(), Doc("filename", filename),
                                  {.sort = Doc("uploadDate", direction), .skip = skip}));
  if (found) {
    return FileOf(*found);
  }
  ASSIGN_OR_RETURN(auto any, store_.FindOne(files(), Doc("filename", filename)));
  return MakeError(any ? Error::kRevisionNotFound : Error::kFileNotFound, filename);
}

Result<std::string> GridFs::DownloadByName(std::string_view filename, int32_t revision) const {
  ASSIGN_OR_RETURN(GridFsFile file, GetByName(filename, revision));
  return Download(file.id.value());
}

Status GridFs::Delete(const bson::Value& id) const {
  ASSIGN_OR_RETURN(int64_t deleted, store_.DeleteOne(files(), Doc("_id", id)));
  RETURN_IF_ERROR(store_.seams().After("gridfs.delete.c1"));
  RETURN_IF_ERROR(store_.DeleteMany(chunks(), Doc("files_id", id)).status());
  RETURN_IF_ERROR(store_.seams().After("gridfs.delete.c2"));
  return deleted == 1 ? Status::Ok() : NoFile(id);
}

Status GridFs::Rename(const bson::Value& id, std::string_view filename) const {
  ASSIGN_OR_RETURN(int64_t renamed, store_.UpdateOne(files(), Doc("_id", id),
                                                     Doc("$set", Doc("filename", filename))));
  RETURN_IF_ERROR(store_.seams().After("gridfs.rename.c1"));
  return renamed == 1 ? Status::Ok() : NoFile(id);
}

Result<std::vector<GridFsFile>> GridFs::Find(const Document& filter, const PageRequest& page,
                                             std::string* next) const {
  ASSIGN_OR_RETURN(Page found, FindPage(store_, files(), filter, Doc("_id", 1), page));
  std::vector<GridFsFile> result;
  for (const Document& file : found.documents) {
    result.push_back(FileOf(file));
  }
  if (next != nullptr) {
    *next = found.next;
  }
  return result;
}

// Every write names the files it is about: one that comes late does not touch those stored since,
// as the drop of a collection would.
Status GridFs::Drop() const {
  int step = 0;
  return WalkBatches(
      store_, files(), Doc("_id", 1), [&](const std::vector<Document>& batch) -> Status {
        std::vector<bson::Value> ids;
        for (const Document& file : batch) {
          ids.push_back(file["_id"]);
        }
        const Document these = Doc("$in", ListOf(ids));
        RETURN_IF_ERROR(store_.DeleteMany(files(), Doc("_id", these)).status());
        RETURN_IF_ERROR(store_.seams().After("gridfs.drop", ++step));
        RETURN_IF_ERROR(store_.DeleteMany(chunks(), Doc("files_id", these)).status());
        return store_.seams().After("gridfs.drop", ++step);
      });
}

Result<JobReport> GridFs::SweepChunks(bson::Date before) const {
  const Document owner =
      Doc("from", files(), "localField", "_id", "foreignField", "_id", "as", "owner");
  ASSIGN_OR_RETURN(
      auto orphans,
      store_.Aggregate(chunks(),
                       {Doc("$sort", Doc("files_id", 1)), Doc("$group", Doc("_id", "$files_id")),
                        Doc("$lookup", owner), Doc("$match", Doc("owner", Doc("$size", 0)))}));
  JobReport report;
  for (const Document& orphan : orphans) {
    report.examined += 1;
    ASSIGN_OR_RETURN(int64_t deleted,
                     store_.DeleteMany(chunks(), Doc("files_id", orphan["_id"], "_id",
                                                     Doc("$lt", IdAt(before)))));
    (deleted > 0 ? report.changed : report.skipped) += 1;
    RETURN_IF_ERROR(store_.seams().After("gridfs.sweep_chunks", static_cast<int>(report.examined)));
  }
  return report;
}

}  // namespace quire::patterns
