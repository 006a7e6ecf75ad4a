// SPDX-License-Identifier: Apache-2.0
#include "exec/sort/sorter.h"

#include <algorithm>
#include <cstring>

#include "base/error_codes.h"
#include "base/interruptible_sort.h"
#include "base/try.h"

namespace quire::exec {

namespace {

// The fixed part of a packed row; the document, the index key and the score's details follow.
struct Header {
  double text_score;
  double geo_distance;
  double score;
  int64_t record_id;
  uint32_t document_size;
  uint32_t index_key_size;
  uint32_t score_details_size;
  bool has_text_score;
  bool has_geo_distance;
  bool has_record_id;
  bool has_score;
  bool fetched;
};

std::string_view BytesOf(const bson::Value& document) {
  return document.is_document() ? document.AsDocument().bytes() : std::string_view();
}

uint64_t PrefixOf(std::string_view key) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i) {
    prefix = (prefix << 8) | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0);
  }
  return prefix;
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Status DiskError() { return {kOutOfDiskSpace, "cannot use a temporary file for sorting"}; }

}  // namespace

bool Sorter::Entry::operator<(const Entry& other) const {
  if (prefix != other.prefix) {
    return prefix < other.prefix;
  }
  int order = key().compare(other.key());
  return order != 0 ? order < 0 : sequence < other.sequence;
}

// A sorted run in a file without a name.
class Sorter::Run {
 public:
  static Result<std::unique_ptr<Run>> Create() {
    auto run = std::make_unique<Run>();
    run->file_.reset(std::tmpfile());
    if (run->file_ == nullptr) {
      return DiskError();
    }
    return run;
  }

  Status Write(const Entry& entry) {
    uint32_t size = static_cast<uint32_t>(entry.bytes.size());
    bool ok = Put(&entry.sequence, sizeof entry.sequence) &&
              Put(&entry.key_size, sizeof entry.key_size) && Put(&size, sizeof size) &&
              Put(entry.bytes.data(), size);
    return ok ? Status::Ok() : DiskError();
  }

  Status Rewind() {
    std::rewind(file_.get());
    return Read();
  }

  // The next entry into head(); done() at the end.
  Status Read() {
    uint32_t size = 0;
    if (std::fread(&head_.sequence, sizeof head_.sequence, 1, file_.get()) != 1) {
      done_ = true;
      return std::feof(file_.get()) != 0 ? Status::Ok() : DiskError();
    }
    if (std::fread(&head_.key_size, sizeof head_.key_size, 1, file_.get()) != 1 ||
        std::fread(&size, sizeof size, 1, file_.get()) != 1) {
      return DiskError();
    }
    head_.bytes.resize(size);
    if (std::fread(head_.bytes.data(), 1, size, file_.get()) != size) {
      return DiskError();
    }
    head_.prefix = PrefixOf(head_.key());
    return Status::Ok();
  }

  Entry& head() { return head_; }
  bool done() const { return done_; }
  uint64_t bytes() const { return bytes_; }

 private:
  bool Put(const void* data, size_t size) {
    bytes_ += size;
    return std::fwrite(data, 1, size, file_.get()) == size;
  }

  std::unique_ptr<std::FILE, FileCloser> file_;
  Entry head_;
  bool done_ = false;
  uint64_t bytes_ = 0;
};

Sorter::Sorter(SorterOptions options) : options_(options) {}
Sorter::~Sorter() = default;

Sorter::Entry Sorter::Pack(std::string_view key, const Row& row, uint64_t sequence) {
  const expr::Metadata& meta = row.meta;
  std::string_view index_key = BytesOf(meta.index_key);
  std::string_view score_details = BytesOf(meta.score_details);
  Header header{};
  header.text_score = meta.text_score;
  header.geo_distance = meta.geo_distance;
  header.score = meta.score;
  header.record_id = meta.record_id;
  header.document_size = row.document.size();
  header.index_key_size = static_cast<uint32_t>(index_key.size());
  header.score_details_size = static_cast<uint32_t>(score_details.size());
  header.has_text_score = meta.has_text_score;
  header.has_geo_distance = meta.has_geo_distance;
  header.has_record_id = meta.has_record_id;
  header.has_score = meta.has_score;
  header.fetched = row.fetched;

  Entry entry;
  entry.prefix = PrefixOf(key);
  entry.sequence = sequence;
  entry.key_size = static_cast<uint32_t>(key.size());
  entry.bytes.reserve(key.size() + sizeof header + header.document_size + index_key.size() +
                      score_details.size());
  entry.bytes.append(key);
  entry.bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  entry.bytes.append(row.document.bytes());
  entry.bytes.append(index_key);
  entry.bytes.append(score_details);
  return entry;
}

void Sorter::Unpack(const Entry& entry, Row* row) {
  Header header;
  const char* at = entry.bytes.data() + entry.key_size;
  memcpy(&header, at, sizeof header);
  at += sizeof header;
  row->meta = expr::Metadata();
  row->meta.text_score = header.text_score;
  row->meta.has_text_score = header.has_text_score;
  row->meta.geo_distance = header.geo_distance;
  row->meta.has_geo_distance = header.has_geo_distance;
  row->meta.score = header.score;
  row->meta.has_score = header.has_score;
  row->meta.record_id = header.record_id;
  row->meta.has_record_id = header.has_record_id;
  row->fetched = header.fetched;
  row->document = bson::View(at);
  row->sort_key = entry.key();
  if (header.index_key_size > 0) {
    row->meta.index_key = bson::Value(bson::View(at + header.document_size));
  }
  if (header.score_details_size > 0) {
    row->meta.score_details =
        bson::Value(bson::View(at + header.document_size + header.index_key_size));
  }
}

Status Sorter::Add(std::string_view key, const Row& row) {
  sorted_bytes_ += row.document.size();
  bool top = options_.limit > 0 && entries_.size() >= options_.limit;
  if (top && key >= entries_.front().key()) {
    return Status::Ok();  // after everything wanted, and later than its equals
  }
  Entry entry = Pack(key, row, sequence_++);
  memory_ += entry.memory();
  if (options_.limit > 0) {
    AddTop(std::move(entry));
  } else {
    entries_.push_back(std::move(entry));
  }
  peak_memory_ = std::max(peak_memory_, memory_);
  charge_.Set(memory_);
  return memory_ > options_.memory_limit ? Spill() : Status::Ok();
}

void Sorter::AddTop(Entry entry) {
  entries_.push_back(std::move(entry));
  std::push_heap(entries_.begin(), entries_.end());
  if (entries_.size() > options_.limit) {
    std::pop_heap(entries_.begin(), entries_.end());
    memory_ -= entries_.back().memory();
    entries_.pop_back();
  }
}

Status Sorter::Spill() {
  if (!options_.allow_disk) {
    return {kQueryExceededMemoryLimitNoDiskUseAllowed,
            "Executor error during find command :: caused by :: Sort exceeded memory limit of " +
                std::to_string(options_.memory_limit) +
                " bytes, but did not opt in to external sorting."};
  }
  RETURN_IF_ERROR(InterruptibleSort(entries_.begin(), entries_.end()));
  ASSIGN_OR_RETURN(auto run, Run::Create());
  for (const Entry& entry : entries_) {
    RETURN_IF_ERROR(CheckCurrentOp());
    RETURN_IF_ERROR(run->Write(entry));
  }
  ++spills_;
  spilled_bytes_ += run->bytes();
  runs_.push_back(std::move(run));
  entries_.clear();
  memory_ = 0;
  charge_.Set(0);
  return Status::Ok();
}

Status Sorter::Finish() {
  if (!runs_.empty() && !entries_.empty()) {
    RETURN_IF_ERROR(Spill());
  }
  RETURN_IF_ERROR(InterruptibleSort(entries_.begin(), entries_.end()));
  for (auto& run : runs_) {
    RETURN_IF_ERROR(run->Rewind());
  }
  return Status::Ok();
}

bool Sorter::AtEnd() const {
  return given_ == (options_.limit > 0 ? std::min(options_.limit, sequence_) : sequence_);
}

Result<bool> Sorter::Next(Row* row) {
  if (options_.limit > 0 && given_ >= options_.limit) {
    return false;
  }
  if (runs_.empty()) {
    if (next_ > 0) {
      entries_[next_ - 1].bytes = std::string();  // given out before: free it early
    }
    if (next_ == entries_.size()) {
      return false;
    }
    ++given_;
    Unpack(entries_[next_++], row);
    return true;
  }
  Run* least = nullptr;
  for (auto& run : runs_) {
    if (!run->done() && (least == nullptr || run->head() < least->head())) {
      least = run.get();
    }
  }
  if (least == nullptr) {
    return false;
  }
  std::swap(current_, least->head());
  RETURN_IF_ERROR(least->Read());
  ++given_;
  Unpack(current_, row);
  return true;
}

}  // namespace quire::exec
