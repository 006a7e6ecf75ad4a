// SPDX-License-Identifier: Apache-2.0
#include "import/importer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/hash/md5.h"

namespace quire::apps {
namespace {

constexpr size_t kMaxBatchBytes = 8 << 20;
constexpr int64_t kHeadBytes = 4096;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ > STDERR_FILENO) {
      close(fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

bool IsStdin(const std::string& path) { return path.empty() || path == "-"; }

Status CannotOpen(const std::string& path, int error) {
  return {kFileOpenFailed, "cannot open '" + path + "': " + strerror(error)};
}

std::string Hash(std::string_view a, std::string_view b = {}) {
  bson::Md5 md5;
  md5.Add(a);
  md5.Add(b);
  const std::array<uint8_t, 16> hash = md5.Finish();
  return std::string(hash.begin(), hash.end());
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

// The first bytes of a file, hashed; nothing for what cannot be read twice.
std::optional<std::string> HeadOf(int fd, int64_t bytes) {
  std::string head(static_cast<size_t>(bytes), '\0');
  if (pread(fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) {
    return std::nullopt;
  }
  return Hex(Hash(head));
}

class Importer {
 public:
  Importer(const Database& database, const ImportSettings& settings, ImportSummary* summary)
      : database_(database), settings_(settings), summary_(summary) {}

  Status Run();

 private:
  Status FindStart(int fd, int64_t size);
  Status ReadHeader();
  Status ReadAll();
  void Take(const Record& record);
  bson::Document WithId(const bson::Document& document, const Record& record, bool* made);
  Status Send();
  Status AwaitSent();

  Database database_;
  const ImportSettings& settings_;
  ImportSummary* summary_;
  ImportState state_;
  std::optional<RecordReader> reader_;
  std::optional<RecordParser> parser_;
  std::optional<BatchWriter> writer_;
  std::optional<Progress> progress_;
  std::string source_hash_;
  ImportBatch batch_;
  std::future<Status> sent_;
  int64_t records_ = 0;
};

Status Importer::Run() {
  const bool is_stdin = IsStdin(settings_.path);
  Descriptor file(is_stdin ? STDIN_FILENO : open(settings_.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (file.get() < 0 || fstat(file.get(), &about) != 0) {
    return CannotOpen(settings_.path, errno);
  }
  const int64_t size = S_ISREG(about.st_mode) ? about.st_size : 0;
  RETURN_IF_ERROR(FindStart(file.get(), size));
  const Format& format = *settings_.format;
  reader_.emplace(file.get(), format.quotes ? format.separator : '\0');
  ASSIGN_OR_RETURN(parser_, RecordParser::Make(&format, settings_.parsing));
  writer_.emplace(database_, BatchWriter::Options{settings_.collection, settings_.source,
                                                  settings_.rejected_path, state_});
  RETURN_IF_ERROR(writer_->Begin());
  progress_.emplace("import", size, settings_.quiet);
  source_hash_ = Hash(settings_.source);
  RETURN_IF_ERROR(ReadHeader());
  if (state_.offset > 0) {
    RETURN_IF_ERROR(reader_->Skip(state_.offset, state_.line));
  }
  Status read = ReadAll();
  Status sent = AwaitSent();
  summary_->counts = writer_->counts();
  return read.ok() ? sent : read;
}

// Where an earlier run stopped, when it is to be gone on with; and what the input begins with.
Status Importer::FindStart(int fd, int64_t size) {
  if (settings_.resume) {
    ASSIGN_OR_RETURN(std::optional<ImportState> found,
                     ReadImportState(database_, settings_.source, settings_.collection));
    if (found) {
      state_ = *found;
      if (state_.head_bytes > 0 && HeadOf(fd, state_.head_bytes) != state_.head) {
        return {kBadValue, "'" + settings_.path +
                               "' is not the file the import began with: import it without "
                               "--resume, or with another --source"};
      }
    }
  }
  if (state_.head_bytes == 0 && size > 0) {
    const int64_t bytes = std::min(size, kHeadBytes);
    if (std::optional<std::string> head = HeadOf(fd, bytes)) {
      state_.head_bytes = bytes;
      state_.head = *head;
    }
  }
  summary_->resumed_at = state_.offset;
  summary_->offset = state_.offset;
  return Status::Ok();
}

std::string_view WithoutMark(const Record& record) {
  const bool mark = record.offset == 0 && record.text.starts_with(kByteOrderMark);
  return mark ? record.text.substr(kByteOrderMark.size()) : record.text;
}

Status Importer::ReadHeader() {
  if (!parser_->wants_header()) {
    return Status::Ok();
  }
  Record record;
  ASSIGN_OR_RETURN(bool any, reader_->Next(&record));
  if (!any) {
    return {kBadValue, "the input is empty: it has no header"};
  }
  Status status = parser_->TakeHeader(WithoutMark(record));
  if (!status.ok()) {
    return {kBadValue, "line 1, the header: " + status.message()};
  }
  batch_.end = summary_->offset = std::max(summary_->offset, record.end);
  batch_.next_line = 2;
  return Status::Ok();
}

Status Importer::ReadAll() {
  Record record;
  while (true) {
    ASSIGN_OR_RETURN(bool any, reader_->Next(&record));
    if (!any || (settings_.growing && !record.whole_line)) {
      break;
    }
    if (!record.text.empty()) {
      Take(record);
    }
    batch_.end = record.end;
    batch_.next_line = record.line + 1 + std::count(record.text.begin(), record.text.end(), '\n');
    summary_->bytes += record.end - record.offset;
    progress_->Show(record.end, records_, record.end);
    if (batch_.records() >= static_cast<size_t>(settings_.batch) ||
        batch_.bytes >= kMaxBatchBytes) {
      RETURN_IF_ERROR(Send());
    }
  }
  return batch_.end > state_.offset ? Send() : Status::Ok();
}

void Importer::Take(const Record& record) {
  ++records_;
  batch_.bytes += record.text.size();
  if (record.too_long) {
    batch_.rejected.push_back({record.line, "longer than 16 MB", std::string(record.text)});
    return;
  }
  Result<bson::Document> document = parser_->Parse(WithoutMark(record));
  if (!document.ok()) {
    batch_.rejected.push_back({record.line, document.status().message(), std::string(record.text)});
    return;
  }
  bool made = false;
  batch_.documents.push_back(WithId(*document, record, &made));
  batch_.made_ids.push_back(made);
  batch_.lines.push_back(record.line);
  batch_.texts.emplace_back(record.text);
}

// Its _id in front. One that is made up says where the record stands: 6 bytes of the source's hash,
// 5 of the offset, 5 of the text's hash. So ids grow along the file, and a record that is read
// again has its id again.
bson::Document Importer::WithId(const bson::Document& document, const Record& record, bool* made) {
  bson::Value id = document["_id"];
  *made = id.missing();
  bson::Builder out;
  if (!*made) {
    out.Append("_id", id);
  } else if (settings_.source.empty()) {
    out.Append("_id", bson::ObjectId::Generate());
  } else {
    std::string bytes = source_hash_.substr(0, 6);
    for (int shift = 32; shift >= 0; shift -= 8) {
      bytes += static_cast<char>(record.offset >> shift);
    }
    bytes += Hash(record.text).substr(0, 5);
    out.Append("_id", bson::Value::Binary(std::string_view(bytes), 0));
  }
  for (const bson::Element& element : document.view()) {
    if (element.name() != "_id") {
      out.Append(element);
    }
  }
  return out.Finish();
}

Status Importer::Send() {
  RETURN_IF_ERROR(AwaitSent());
  ImportBatch next;
  next.end = batch_.end;
  next.next_line = batch_.next_line;
  state_.offset = batch_.end;
  sent_ = std::async(std::launch::async, [this, batch = std::move(batch_)]() mutable {
    const int64_t end = batch.end;
    Status status = writer_->Write(std::move(batch));
    if (status.ok()) {
      summary_->offset = end;
    }
    return status;
  });
  batch_ = std::move(next);
  return Status::Ok();
}

Status Importer::AwaitSent() { return sent_.valid() ? sent_.get() : Status::Ok(); }

}  // namespace

Status CheckInput(const std::string& path) {
  struct stat about {};
  if (IsStdin(path)) {
    return Status::Ok();
  }
  if (stat(path.c_str(), &about) != 0 || access(path.c_str(), R_OK) != 0) {
    return CannotOpen(path, errno);
  }
  return S_ISDIR(about.st_mode) ? CannotOpen(path, EISDIR) : Status::Ok();
}

Status RunImport(const Database& database, const ImportSettings& settings, ImportSummary* summary) {
  const auto start = std::chrono::steady_clock::now();
  Status status = Importer(database, settings, summary).Run();
  summary->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return status;
}

}  // namespace quire::apps
