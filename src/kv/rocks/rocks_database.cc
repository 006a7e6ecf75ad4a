// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/rocks_database.h"

#include <rocksdb/transaction_log.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/version.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/error_codes.h"
#include "base/log.h"
#include "base/machine_memory.h"
#include "base/try.h"
#include "kv/rocks/cache_size.h"
#include "kv/rocks/passing_errors.h"
#include "kv/rocks/rocks_config.h"
#include "kv/rocks/rocks_status.h"
#include "kv/rocks/versioned/crc32c.h"
#include "kv/rocks/versioned/log_file_system.h"
#include "kv/rocks/versioned/rocks_version.h"

#if defined(__SANITIZE_THREAD__)
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

namespace quire::kv {
namespace {

// RocksDB lets one thread write the batches of others and hands them over by atomics that
// ThreadSanitizer cannot see: the library is not instrumented, its memcpy calls are.
class UnseenByThreadSanitizer {
#if defined(__SANITIZE_THREAD__)
 public:
  UnseenByThreadSanitizer() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~UnseenByThreadSanitizer() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  UnseenByThreadSanitizer(const UnseenByThreadSanitizer&) = delete;
  UnseenByThreadSanitizer& operator=(const UnseenByThreadSanitizer&) = delete;
#endif
};

}  // namespace

Result<std::unique_ptr<RocksDatabase>> RocksDatabase::Open(const RocksOptions& options) {
  std::unique_ptr<RocksDatabase> database(new RocksDatabase);
  RETURN_IF_ERROR(database->Start(options));
  return database;
}

Status RocksDatabase::Start(const RocksOptions& options) {
  RETURN_IF_ERROR(ChooseParts(options.plain));
  ephemeral_ = options.ephemeral;
  fits_caches_ = options.cache_bytes == 0;
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
  RocksConfig config = MakeRocksConfig(options.cache_bytes, memory_env_.get(), plain_);
  options_ = config.options;
  if (!ephemeral_) {
    rocksdb::Env* disk = options.env != nullptr ? options.env : rocksdb::Env::Default();
    if (!plain_) {
      log_files_ =
          std::make_shared<LogFileSystem>(std::make_shared<PassingErrors>(disk->GetFileSystem()));
      log_env_ = rocksdb::NewCompositeEnv(log_files_);
    }
    options_.env = plain_ ? disk : log_env_.get();
  }
  if (options.max_open_files > 0) {
    options_.max_open_files = options.max_open_files;
  }
  cache_ = config.cache;
  values_ = std::make_unique<ValueCache>(config.value_cache_bytes);
  Status opened = OpenSections(options);
  if (opened.ok() && !ephemeral_) {
    budget_.Watch(db_.get(), data_folder_);
    opened = folder_.MarkFilled();
  }
  return opened.WithPrefix("Cannot open the data folder " + options.path + ": ");
}

Status RocksDatabase::ChooseParts(bool plain) {
  const std::string running = rocksdb::GetRocksVersionAsString(false);
  ASSIGN_OR_RETURN(const bool fit, OwnPartsFit(kBuiltWithRocks, running));
  plain_ = plain || !fit;
  UseOwnChecksums(!plain_);
  if (!fit) {
    log::Warning("STORAGE", "Plain storage: this version of RocksDB is not the one known best",
                 {{"version", running}});
  }
  if (!ChecksumsAreRight()) {
    return Status(kInternalError, "CRC-32C is computed wrongly on this machine");
  }
  return Status::Ok();
}

Status RocksDatabase::OpenSections(const RocksOptions& options) {
  const std::vector<Section> whole{{.name = "", .begin = ""}};
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  std::vector<std::string> begins;
  for (const Section& section : options.sections.empty() ? whole : options.sections) {
    families.emplace_back(section.name, SectionOptions(options_, section.use));
    begins.push_back(section.begin);
  }
  families.back().name = rocksdb::kDefaultColumnFamilyName;  // which costs least
  rocksdb::DB* db = nullptr;
  std::vector<Sections::Handle> handles;
  RETURN_IF_ERROR(FromRocks(rocksdb::DB::Open(options_, data_folder_, families, &handles, &db)));
  db_.reset(db);
  sections_ = Sections(db, std::move(begins), std::move(handles));
  return Status::Ok();
}

RocksDatabase::~RocksDatabase() {
  if (db_ && !ephemeral_) {
    (void)Sync();  // an error here is that of a disk gone bad: nobody is left to hear of it
  }
}

template <typename Action>
rocksdb::Status RocksDatabase::Guarded(Action write) {
  if (log_.load(std::memory_order_acquire) != Log::kWhole && !Repair()) {
    return Refusal();
  }
  writers_.Enter();
  rocksdb::Status status;
  if (log_.load(std::memory_order_acquire) == Log::kWhole) {
    [[maybe_unused]] UnseenByThreadSanitizer unseen;
    status = write();
    if (status.IsIOError() || status.IsIncomplete() || status.IsCorruption()) {
      Break(status);
    }
  } else {
    status = Refusal();
  }
  writers_.Leave();
  return status;
}

void RocksDatabase::Break(const rocksdb::Status& error) {
  const bool space = error.IsNoSpace() || error.IsIncomplete();
  MutexLock lock(error_mutex_);
  if (log_.load() == Log::kWhole) {
    error_ = error;
    broken_log_ = LogNumber();
    repair_pause_ = kFirstPause;
    log::Error("STORAGE", "A write failed; no others are taken until storage has recovered",
               {{"error", error.ToString()}});
  }
  log_.store(space ? Log::kWithoutSpace : Log::kFailed, std::memory_order_release);
}

rocksdb::Status RocksDatabase::Refusal() {
  if (log_.load() != Log::kFailed) {
    return rocksdb::Status::NoSpace("The log waits for space");
  }
  MutexLock lock(error_mutex_);
  return error_;
}

void RocksDatabase::FitCaches() {
  const uint64_t present = cache_->GetCapacity() + values_->capacity();
  const uint64_t wanted = CacheBytesFor(ReadMachineMemory(), cache_->GetUsage() + values_->bytes());
  if (IsWorthChanging(present, wanted)) {
    const CacheSizes sizes(wanted);
    values_->SetCapacity(sizes.values);
    cache_->SetCapacity(sizes.blocks);
    options_.write_buffer_manager->SetBufferSize(sizes.buffers);
  }
}

Status RocksDatabase::Health() {
  if (fits_caches_) {
    FitCaches();
  }
  if (log_.load(std::memory_order_acquire) != Log::kWhole) {
    (void)Repair();
  }
  return log_.load() == Log::kFailed ? FromRocks(Refusal()) : Status::Ok();
}

Status RocksDatabase::Write(rocksdb::WriteBatch* batch, Durability durability, Purpose purpose) {
  RETURN_IF_ERROR(budget_.Admit(batch->GetDataSize(), purpose));
  rocksdb::WriteOptions how;
  how.disableWAL = ephemeral_;
  how.sync = durability == Durability::kDisk && !ephemeral_;
  auto write = [&](rocksdb::WriteBatch* whole) {
    return Guarded([&] { return db_->Write(how, whole); });
  };
  constexpr size_t kJoined = 64 << 10;  // copying more costs as much as the sync that is saved
  const bool joins = how.sync && !plain_ && batch->GetDataSize() <= kJoined;
  return FromRocks(joins ? synced_commits_.Commit(batch, write) : write(batch));
}

Status RocksDatabase::Ingest(const std::vector<rocksdb::IngestExternalFileArg>& files) {
  return FromRocks(Guarded([&] { return db_->IngestExternalFiles(files); }));
}

Status RocksDatabase::Compact(const rocksdb::CompactRangeOptions& how, const Range& range) {
  const rocksdb::Slice begin = range.begin;
  const rocksdb::Slice end = range.end;
  // The flush that comes first, guarded; the long rest must not keep a repair waiting.
  RETURN_IF_ERROR(FromRocks(Guarded([&] { return db_->Flush({}, sections_.all()); })));
  for (Sections::Handle section : sections_.Touching(range)) {
    RETURN_IF_ERROR(FromRocks(db_->CompactRange(
        how, section, range.begin.empty() ? nullptr : &begin, range.end.empty() ? nullptr : &end)));
  }
  return Status::Ok();
}

bool RocksDatabase::Repair() {
  using std::chrono::milliseconds;
  using std::chrono::steady_clock;
  int64_t now =
      std::chrono::duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
  int64_t next = next_repair_.load();
  if (now < next || !next_repair_.compare_exchange_strong(next, now + repair_pause_.load()) ||
      !budget_.Admit(0, Purpose::kKeep).ok()) {
    return false;
  }
  writers_.Close();
  bool repaired = log_.load() == Log::kWhole;
  if (!repaired) {
    const rocksdb::Status status = ReplaceLog();
    NoteRepair(status);
    repaired = status.ok();
  }
  if (repaired) {
    log_.store(Log::kWhole, std::memory_order_release);
  }
  writers_.Open();
  return repaired;
}

void RocksDatabase::NoteRepair(const rocksdb::Status& status) {
  MutexLock lock(error_mutex_);
  if (status.ok()) {
    gave_up_ = false;
    log::Info("STORAGE", "Storage has recovered; writes are taken again");
    return;
  }
  if (log_.load() == Log::kFailed) {
    repair_pause_ = std::min(2 * repair_pause_.load(), kLongestPause);
  }
  const bool hopeless = status.severity() > rocksdb::Status::Severity::kHardError;
  if (hopeless && !std::exchange(gave_up_, true)) {
    log::Error("STORAGE", "Storage cannot recover by itself; writes need a new start of the server",
               {{"error", status.ToString()}});
  }
}

// RocksDB 7.8 leaves its error state by a flush, and starts a new log with it only when there is
// something to flush; a later write to the old log would end the process. So the log's number is
// compared, and if need be something is put into the write buffer, past the log, and flushed.
rocksdb::Status RocksDatabase::ReplaceLog() {
  rocksdb::Status status = db_->Resume();
  if (status.ok() && LogNumber() == broken_log_) {
    rocksdb::WriteOptions past_log;
    past_log.disableWAL = true;
    constexpr std::string_view kNoKey("\0", 1);
    status = db_->Delete(past_log, sections_.Of(kNoKey), {kNoKey.data(), kNoKey.size()});
    if (status.ok()) {
      status = db_->Resume();
    }
  }
  if (status.ok() && LogNumber() == broken_log_) {  // there was no error state to leave
    status = db_->Flush({}, sections_.all());
  }
  if (status.ok() && LogNumber() == broken_log_) {
    return rocksdb::Status::IOError("the log was not replaced");
  }
  return status;
}

uint64_t RocksDatabase::LogNumber() const {
  std::unique_ptr<rocksdb::LogFile> log;
  return db_->GetCurrentWalFile(&log).ok() ? log->LogNumber() : 0;
}

Status RocksDatabase::Sync() {
  if (ephemeral_) {
    return Status::Ok();
  }
  // A synced empty write, not FlushWAL: that one aborts the process after a failed log write. It
  // takes no space worth asking for, so what is in the log can be synced on a full disk, too.
  rocksdb::WriteBatch nothing;
  rocksdb::WriteOptions how;
  how.sync = true;
  return FromRocks(Guarded([&] { return db_->Write(how, &nothing); }));
}

// RocksDB's own way, SyncWAL, notes the logs' sizes in a way that may keep the folder from being
// opened again before version 7.10.
Status RocksDatabase::SyncBehind() {
  if (ephemeral_ || log_files_ == nullptr) {
    return Sync();
  }
  return FromRocks(Guarded([&]() -> rocksdb::Status { return log_files_->SyncLogs(); }));
}

Status RocksDatabase::Checkpoint(const std::string& folder) {
  if (ephemeral_) {
    return {kIllegalOperation, "A store in memory has no files to copy"};
  }
  RETURN_IF_ERROR(DataFolder::Prepare(folder));
  rocksdb::Checkpoint* made = nullptr;
  const rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  // A copy that fails says nothing of the log.
  return FromRocks(status.ok() ? checkpoint->CreateCheckpoint(DataFolder::DataIn(folder)) : status);
}

std::string RocksDatabase::NewLoadFile() {
  return load_folder_ + "/" + std::to_string(load_files_.fetch_add(1)) + ".sst";
}

}  // namespace quire::kv
