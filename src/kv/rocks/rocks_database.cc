// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_database.h"

#include <chrono>

#include "base/error_codes.h"
#include "base/try.h"
#include "kv/rocks/rocks_config.h"
#include "kv/rocks/rocks_status.h"

namespace quire::kv {

Result<std::unique_ptr<RocksDatabase>> RocksDatabase::Open(const RocksOptions& options) {
  std::unique_ptr<RocksDatabase> database(new RocksDatabase);
  RETURN_IF_ERROR(database->Start(options));
  return database;
}

Status RocksDatabase::Start(const RocksOptions& options) {
  ephemeral_ = options.ephemeral;
  if (ephemeral_) {
    memory_env_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    data_folder_ = "/quire/data";
    load_folder_ = "/quire/load";
    for (const char* folder : {"/quire", "/quire/data", "/quire/load"}) {
      RETURN_IF_ERROR(FromRocks(memory_env_->CreateDirIfMissing(folder)));
    }
  } else {
    ASSIGN_OR_RETURN(folder_, DataFolder::Open(options.path));
    data_folder_ = folder_.data();
    load_folder_ = folder_.load();
  }
  RocksConfig config = MakeRocksConfig(options.cache_bytes, memory_env_.get());
  options_ = config.options;
  cache_ = config.cache;
  rocksdb::DB* db = nullptr;
  Status opened = FromRocks(rocksdb::DB::Open(options_, data_folder_, &db));
  db_.reset(db);
  return opened.WithPrefix("Cannot open the data folder " + options.path + ": ");
}

RocksDatabase::~RocksDatabase() {
  if (db_ && !ephemeral_) {
    (void)Sync();  // an error here is that of a disk gone bad: nobody is left to hear of it
  }
}

Status RocksDatabase::Write(rocksdb::WriteBatch* batch, Durability durability) {
  rocksdb::WriteOptions how;
  how.disableWAL = ephemeral_;
  how.sync = durability == Durability::kDisk && !ephemeral_;
  how.memtable_insert_hint_per_batch = true;  // batches are sorted
  rocksdb::Status status = db_->Write(how, batch);
  if (!status.ok() && TryResume()) {
    status = db_->Write(how, batch);
  }
  return FromRocks(status);
}

bool RocksDatabase::TryResume() {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  int64_t now =
      std::chrono::duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
  int64_t next = next_resume_.load();
  if (now < next || !next_resume_.compare_exchange_strong(next, now + 1000)) {
    return false;
  }
  return db_->Resume().ok();
}

Status RocksDatabase::Sync() {
  // A synced empty write, not FlushWAL: that one aborts the process after a failed log write.
  rocksdb::WriteBatch nothing;
  return ephemeral_ ? Status::Ok() : Write(&nothing, Durability::kDisk);
}

std::string RocksDatabase::NewLoadFile() {
  return load_folder_ + "/" + std::to_string(load_files_.fetch_add(1)) + ".sst";
}

}  // namespace quire::kv
