// SPDX-License-Identifier: Apache-2.0
//
// Files larger than a document, in chunks: GridFS as the drivers have it. What they store reads
// here and the other way round.
//
//   patterns::GridFs files(client, "app");
//   auto id = files.Upload("photo.jpg", picture);
//   auto tail = files.Download(id->value(), {.start = 1990});
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/patterns/error.h"
#include "quire/patterns/page.h"
#include "quire/patterns/store.h"

namespace quire::patterns {

struct GridFsOptions {
  std::string bucket = "fs";
  int32_t chunk_size = 255 * 1024;
  Concerns concerns = {};
  Seams seams = {};
};

struct GridFsFile {
  bson::OwnedValue id;
  int64_t length = 0;
  int32_t chunk_size = 0;
  bson::Date uploaded;
  std::string filename;
  bson::Document metadata;
};

struct UploadOptions {
  // Missing: a new ObjectId. One of the caller's choice is not used again while its file is being
  // removed.
  bson::OwnedValue id{};
  bson::Document metadata{};
  int32_t chunk_size = 0;  // 0: the bucket's
};

// Bytes [start, end) of a file; what lies past its end is left out.
struct ByteRange {
  int64_t start = 0;
  int64_t end = INT64_MAX;
};

// A file on its way in: chunks are stored as they fill, the file appears with Finish. Used by one
// thread. What is neither finished nor aborted leaves chunks that no file owns.
class GridFsUpload {
 public:
  // Error: DuplicateKey (the id is in use).
  Status Write(std::string_view bytes);
  // Errors: DuplicateKey; ChunkIsMissing (someone removed them meanwhile; the file does not
  // appear).
  Result<GridFsFile> Finish();
  Status Abort();

 private:
  friend class GridFs;
  GridFsUpload(Store store, const GridFsOptions& options, std::string filename,
               UploadOptions upload);
  Status Flush();

  Store store_;
  std::string bucket_;
  std::string filename_;
  UploadOptions options_;
  std::string pending_;
  int64_t length_ = 0;
  int32_t next_ = 0;
};

// A file on its way out. Used by one thread.
class GridFsDownload {
 public:
  const GridFsFile& file() const { return file_; }
  // The next bytes; none at the end. Errors: ChunkIsMissing, ChunkIsWrongSize, ExtraChunk.
  Result<std::string> Read();

 private:
  friend class GridFs;
  GridFsDownload(Store store, std::string chunks, GridFsFile file, const ByteRange& range);
  Result<std::string> Check(const bson::Document& chunk) const;
  Status CheckEnd() const;

  Store store_;
  std::string chunks_;
  GridFsFile file_;
  int64_t at_;
  int64_t end_;
};

// Documents: <bucket>.files {_id, length, chunkSize, uploadDate, filename, metadata} and
// <bucket>.chunks {_id, files_id, n, data}. Safe for concurrent use.
class GridFs {
 public:
  GridFs(const Client& client, std::string_view database, GridFsOptions options = {});

  // Of this bucket (their names live as long as this object); the first upload makes them too when
  // there is no file yet.
  std::vector<IndexSpec> Indexes() const;
  std::vector<ShardKeySpec> ShardKeys() const;
  Status CreateIndexes() const { return store_.CreateIndexes(Indexes()); }
  Result<std::vector<std::string>> MissingIndexes() const {
    return store_.MissingIndexes(Indexes());
  }

  Result<GridFsUpload> OpenUpload(std::string_view filename, UploadOptions options = {}) const;
  // All at once: its _id.
  Result<bson::OwnedValue> Upload(std::string_view filename, std::string_view bytes,
                                  UploadOptions options = {}) const;

  // Error: FileNotFound.
  Result<GridFsFile> Get(const bson::Value& id) const;
  Result<GridFsDownload> OpenDownload(const bson::Value& id, const ByteRange& range = {}) const;
  Result<std::string> Download(const bson::Value& id, const ByteRange& range = {}) const;
  // Of the files with that name the oldest (0), the next (1)... or the newest (-1), the one before
  // (-2)... Errors: FileNotFound, RevisionNotFound.
  Result<GridFsFile> GetByName(std::string_view filename, int32_t revision = -1) const;
  Result<std::string> DownloadByName(std::string_view filename, int32_t revision = -1) const;

  // The file goes before its chunks. Error: FileNotFound.
  Status Delete(const bson::Value& id) const;
  Status Rename(const bson::Value& id, std::string_view filename) const;
  // By _id, in pages. Error: BadCursor.
  Result<std::vector<GridFsFile>> Find(const bson::Document& filter, const PageRequest& page,
                                       std::string* next = nullptr) const;
  // Removes every file, some hundred at a time, each before its chunks. The collections and their
  // indexes stay, empty: whole files that are stored meanwhile may stay too, never parts of them.
  // Chunks that a crash leaves are SweepChunks' to remove.
  Status Drop() const;

  // Removes chunks that no file owns and that were stored before `before`.
  Result<JobReport> SweepChunks(bson::Date before) const;

 private:
  const std::string& files() const { return files_; }
  const std::string& chunks() const { return chunks_; }

  GridFsOptions options_;
  std::string files_;
  std::string chunks_;
  Store store_;
};

}  // namespace quire::patterns
