// SPDX-License-Identifier: Apache-2.0
//
// Files in a folder, imported line by line: each line once, whoever crashes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/line_id.h"
#include "patterns/perf/sums.h"
#include "patterns/perf/work.h"
#include "quire/patterns/log_lines.h"

namespace quire::patterns {

namespace {

namespace fs = std::filesystem;

using bson::Document;

constexpr int64_t kPrefixBytes = 4096;
constexpr size_t kMaxLineBytes = 64 << 10;
constexpr int32_t kKeptErrors = 100;
constexpr int kMaxSameNames = 100'000;

std::string ReadPrefix(const std::string& path, int64_t length) {
  std::string prefix(static_cast<size_t>(length), '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(prefix.data(), length);
  prefix.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return prefix;
}

std::string FileId(const std::string& path, std::string_view prefix) {
  return HashId(path + '\0' + std::string(prefix));
}

// The next line without its end, cut when it is too long; how many bytes it took. 0: the file ends.
int64_t ReadLine(std::istream* file, std::string* line) {
  line->clear();
  int64_t bytes = 0;
  for (int c = file->get(); c != std::istream::traits_type::eof(); c = file->get()) {
    ++bytes;
    if (c == '\n') {
      break;
    }
    if (line->size() <= kMaxLineBytes) {
      line->push_back(static_cast<char>(c));
    }
  }
  if (line->ends_with('\r')) {
    line->pop_back();
  }
  return bytes;
}

// An empty file of that name in the folder, or of "name.1.csv", "name.2.csv"... when an earlier one
// has it; an empty path when none can be made. Who moves a file there overwrites nothing else.
fs::path ReserveName(const fs::path& folder, const fs::path& name) {
  for (int i = 0; i < kMaxSameNames; ++i) {
    const std::string number = i == 0 ? "" : "." + std::to_string(i);
    fs::path path = folder / (name.stem().string() + number + name.extension().string());
    const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made >= 0) {
      close(made);
      return path;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return {};
}

void WriteErrors(const fs::path& path, const Document& file) {
  std::ofstream report(path);
  report << IntegerAt(file, "rejected") << " of " << IntegerAt(file, "lines")
         << " lines rejected\n";
  for (const bson::Element& element : file["errors"].AsArray()) {
    bson::View error = element.value().AsDocument();
    report << "line " << IntegerAt(error, "line") << ": " << TextAt(error, "reason") << "\n";
  }
}

}  // namespace

// The same file under its path: what it began with when it was first seen is still there. It may
// have grown since, or come again.
Result<Document> Perf::Work::Register(const std::string& path, int64_t size) const {
  ASSIGN_OR_RETURN(auto known, store_.Find(kPerfFiles, Doc("path", path)));
  const std::string prefix = ReadPrefix(path, std::min(size, kPrefixBytes));
  if (static_cast<int64_t>(prefix.size()) < std::min(size, kPrefixBytes)) {
    return MakeError(Error::kNotFound, path);  // another has just moved it
  }
  const Document* same = nullptr;
  for (const Document& one : known) {
    const auto length = static_cast<size_t>(IntegerAt(one, "prefix"));
    if (length <= prefix.size() &&
        one["_id"].AsBinary() == FileId(path, std::string_view(prefix).substr(0, length)) &&
        (same == nullptr || IntegerAt(*same, "prefix") < IntegerAt(one, "prefix"))) {
      same = &one;
    }
  }
  const std::string made = FileId(path, prefix);
  const bson::OwnedValue id(same != nullptr ? (*same)["_id"] : bson::Value::Binary(made, 0));
  if (same == nullptr) {
    const int64_t zero = 0;
    Status status = store_.Insert(
        kPerfFiles, Doc("_id", id, "path", path, "prefix", static_cast<int64_t>(prefix.size()),
                        "size", size, "size_at", store_.Now(), "state", "new", "offset", zero,
                        "line", zero, "lines", zero, "inserted", zero, "duplicates", zero,
                        "rejected", zero, "owner", "", "until", bson::Date{0}, "errors", List()));
    if (!IsDuplicateKey(status)) {
      RETURN_IF_ERROR(status);
    }
    RETURN_IF_ERROR(store_.seams().After("perf.import.c1"));
  }
  RETURN_IF_ERROR(store_
                      .UpdateOne(kPerfFiles, Doc("_id", id, "size", Doc("$ne", size)),
                                 Doc("$set", Doc("size", size, "size_at", store_.Now())))
                      .status());
  ASSIGN_OR_RETURN(auto found, store_.FindOne(kPerfFiles, Doc("_id", id)));
  return found ? Result<Document>(*std::move(found)) : MakeError(Error::kNotFound, path);
}

// Whether something was done with it.
Result<bool> Perf::Work::ScanFile(const std::string& path) const {
  std::error_code error;
  const auto size = static_cast<int64_t>(fs::file_size(path, error));
  if (error || size == 0) {
    return false;
  }
  Result<Document> known = Register(path, size);
  if (Is(known.status(), Error::kNotFound)) {
    return false;
  }
  ASSIGN_OR_RETURN(Document file, std::move(known));
  if (file["size_at"].AsDate().millis + options_.settle.count() > store_.Now().millis) {
    return false;
  }
  const std::string_view state = TextAt(file, "state");
  if ((state == "done" || state == "failed") && IntegerAt(file, "offset") >= size) {
    RETURN_IF_ERROR(Finish(path, file));
    return true;
  }
  const Document free_or_mine =
      Doc("_id", file["_id"], "state", state, "offset", file["offset"], "$or",
          List(Doc("until", Doc("$lt", store_.Now())), Doc("owner", options_.worker)));
  ASSIGN_OR_RETURN(
      auto claimed,
      store_.FindAndUpdate(kPerfFiles, free_or_mine,
                           Doc("$set", Doc("state", "running", "owner", options_.worker, "until",
                                           bson::Date{store_.Now().millis + options_.lease.count()},
                                           "claim", store_.seams().ids->Next()))));
  if (!claimed) {
    return false;
  }
  RETURN_IF_ERROR(store_.seams().After("perf.import.c2"));
  RETURN_IF_ERROR(ImportClaimed(path, *claimed));
  return true;
}

struct Perf::Work::LineBatch {
  std::vector<Document> samples;
  std::vector<Document> errors;
  int64_t offset = 0;  // behind its last line
  int64_t number = 0;  // of that line
  int64_t lines = 0;   // empty ones do not count
  bool last = false;   // the file ends here
};

// The sample of a line. Errors: BadColumnCount, BadTimestamp and others of the format.
Result<Document> Perf::Work::SampleOf(const std::string& line) const {
  if (line.size() > kMaxLineBytes) {
    return MakeError(Error::kBadColumnCount, "too long");
  }
  ASSIGN_OR_RETURN(Document sample, ParseMonitorCsvLine(line));
  const bson::Date time = sample["GeneratedOn"].AsDate();
  if (time >= kPerfEnd) {
    return MakeError(Error::kBadTimestamp, "after the year 9999");
  }
  if (Expired(DayOf(time))) {
    return MakeError(Error::kBadTimestamp, "older than the horizon");
  }
  return sample;
}

Perf::Work::LineBatch Perf::Work::ReadBatch(std::istream* stream, const Document& file) const {
  LineBatch batch;
  batch.offset = IntegerAt(file, "offset");
  batch.number = IntegerAt(file, "line");
  std::string line;
  while (batch.lines < static_cast<int64_t>(options_.batch_lines)) {
    const int64_t bytes = ReadLine(stream, &line);
    if (bytes == 0) {
      batch.last = true;
      break;
    }
    batch.offset += bytes;
    batch.number += 1;
    if (line.empty()) {
      continue;
    }
    batch.lines += 1;
    const Result<Document> sample = SampleOf(line);
    if (!sample.ok()) {
      batch.errors.push_back(Doc("line", batch.number, "reason", sample.status().message()));
      continue;
    }
    const std::string id =
        HashId(std::string(file["_id"].AsBinary()) + std::to_string(batch.number));
    batch.samples.push_back(Shaped(*sample, bson::Value::Binary(id, 0)));
  }
  return batch;
}

// Changes what is known of the file as long as nobody else has claimed it. Error: LeaseLost.
Result<Document> Perf::Work::Record(const std::string& path, const Document& file,
                                    const Document& update) const {
  ASSIGN_OR_RETURN(auto recorded, store_.FindAndUpdate(kPerfFiles,
                                                       Doc("_id", file["_id"], "claim",
                                                           file["claim"], "offset", file["offset"]),
                                                       update));
  return recorded ? Result<Document>(*std::move(recorded)) : MakeError(Error::kLeaseLost, path);
}

// Batch by batch: stored, then recorded with the offset it began at in the filter. One that was
// stored and not recorded is found to be there already.
Status Perf::Work::ImportClaimed(const std::string& path, const Document& claimed) const {
  Document file = claimed;
  std::ifstream stream(path, std::ios::binary);
  if (!stream.is_open()) {
    RETURN_IF_ERROR(store_
                        .UpdateOne(kPerfFiles, Doc("_id", file["_id"], "claim", file["claim"]),
                                   Doc("$set", Doc("state", "failed", "error", "cannot be read",
                                                   "owner", "", "until", bson::Date{0})))
                        .status());
    return MakeError(Error::kNotFound, path);
  }
  stream.seekg(IntegerAt(file, "offset"));
  for (bool more = true; more;) {
    const LineBatch batch = ReadBatch(&stream, file);
    more = !batch.last;
    ASSIGN_OR_RETURN(PerfInsertReport stored, StoreAll(batch.samples, Doc()));
    RETURN_IF_ERROR(store_.seams().After("perf.import.c3"));
    const Document update =
        Doc("$set",
            Doc("offset", batch.offset, "line", batch.number, "until",
                bson::Date{store_.Now().millis + options_.lease.count()}),
            "$inc",
            Doc("lines", batch.lines, "inserted", stored.inserted, "duplicates", stored.duplicates,
                "rejected", static_cast<int64_t>(batch.errors.size())),
            "$push", Doc("errors", Doc("$each", ListOf(batch.errors), "$slice", kKeptErrors)));
    ASSIGN_OR_RETURN(file, Record(path, file, update));
    RETURN_IF_ERROR(store_.seams().After("perf.import.c4"));
  }
  const auto rejected = static_cast<double>(IntegerAt(file, "rejected"));
  const auto all = static_cast<double>(IntegerAt(file, "lines"));
  const char* state = rejected > options_.max_rejected * all ? "failed" : "done";
  ASSIGN_OR_RETURN(
      const Document done,
      Record(path, file, Doc("$set", Doc("state", state, "owner", "", "until", bson::Date{0}))));
  RETURN_IF_ERROR(store_.seams().After("perf.import.c5"));
  return Finish(path, done);
}

// A file that cannot be moved stays, and is moved by a later scan.
Status Perf::Work::Finish(const std::string& path, const Document& file) const {
  const bool failed = TextAt(file, "state") == "failed";
  const fs::path from(path);
  const fs::path folder = from.parent_path() / (failed ? "failed" : "processed");
  std::error_code error;
  fs::create_directories(folder, error);
  if (const fs::path to = ReserveName(folder, from.filename()); !to.empty()) {
    const fs::path report = to.string() + ".err";
    if (failed) {
      WriteErrors(report, file);
    }
    fs::rename(from, to, error);
    if (error) {  // another was faster, or it cannot be moved
      fs::remove(to, error);
      fs::remove(report, error);
    }
  }
  return store_.seams().After("perf.import.c6");
}

Result<JobReport> Perf::Work::ScanFolder(const std::string& folder, std::string_view suffix) const {
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable) && name.ends_with(suffix)) {
      paths.push_back(entry->path().string());
    }
  }
  if (error) {
    return MakeError(Error::kNotFound, folder + ": " + error.message());
  }
  std::sort(paths.begin(), paths.end());
  JobReport report;
  for (const std::string& path : paths) {
    report.examined += 1;
    Result<bool> scanned = ScanFile(path);
    if (Is(scanned.status(), Error::kLeaseLost)) {
      scanned = false;
    }
    if (Is(scanned.status(), Error::kCrashed)) {
      return scanned.status();
    }
    (!scanned.ok() ? report.errors : *scanned ? report.changed : report.skipped) += 1;
  }
  return report;
}

}  // namespace quire::patterns
