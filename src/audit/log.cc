// SPDX-License-Identifier: Apache-2.0
#include "audit/log.h"

#include <fcntl.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "audit/event.h"
#include "base/error_codes.h"
#include "base/log.h"
#include "base/try.h"

namespace quire::audit {
namespace {

constexpr size_t kMostWaiting = size_t{1} << 20;

std::string ErrorText(int error) { return std::generic_category().message(error); }

bool StartsName(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

bool GoesOnName(char c) {
  return StartsName(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

// Copies the string that begins at `at` in double quotes; gives where it ends.
size_t CopyString(std::string_view text, size_t at, std::string* out) {
  const char quote = text[at];
  *out += '"';
  for (++at; at < text.size() && text[at] != quote; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      *out += text[at + 1] == '\'' ? "" : "\\";
      *out += text[++at];
    } else {
      *out += text[at] == '"' ? "\\\"" : std::string(1, text[at]);
    }
  }
  *out += '"';
  return std::min(at + 1, text.size());
}

std::string StrictJson(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"' || text[at] == '\'') {
      at = CopyString(text, at, &out);
    } else if (StartsName(text[at])) {
      size_t end = at;
      while (end < text.size() && GoesOnName(text[end])) {
        ++end;
      }
      std::string word(text.substr(at, end - at));
      bool literal = word == "true" || word == "false" || word == "null";
      out += literal ? word : '"' + word + '"';
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace

Result<bson::Document> ParseFilter(std::string_view text) {
  if (text.empty()) {
    return bson::Document();
  }
  auto parsed = bson::Document::FromJson(StrictJson(text));
  if (!parsed.ok()) {
    return Status(kFailedToParse, "auditFilter: " + parsed.status().message());
  }
  return parsed;
}

Log::Log(Options options) : options_(std::move(options)) {}

Log::~Log() {
  if (file_ >= 0 && options_.destination == Options::Destination::kFile) {
    GiveBack();
    close(file_);
  }
}

Result<std::unique_ptr<Log>> Log::Open(Options options) {
  std::unique_ptr<Log> log(new Log(std::move(options)));
  auto parsed = expr::match::Filter::Parse(log->options_.filter.view(), &log->context_);
  if (!parsed.ok()) {
    return Status(parsed.status().code(), "auditFilter: " + parsed.status().message());
  }
  log->filter_ = *std::move(parsed);
  RETURN_IF_ERROR(log->Begin());
  return log;
}

Status Log::Begin() {
  MutexLock lock(mutex_);
  if (options_.destination == Options::Destination::kFile) {
    return OpenFile();
  }
  if (options_.destination == Options::Destination::kConsole) {
    file_ = STDOUT_FILENO;
  }
  return Status::Ok();
}

Status Log::OpenFile() {
  int file = open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return {kFileNotOpen,
            "Failed to open the audit log " + options_.path + ": " + ErrorText(errno)};
  }
  if (file_ >= 0) {
    GiveBack();
    close(file_);
  }
  file_ = file;
  reserved_ = 0;
  return Status::Ok();
}

void Log::Write(bson::View event) {
  auto matches = filter_->Matches(event);
  if (matches.ok() && !*matches) {
    return;
  }
  MutexLock lock(mutex_);
  Put(event);
  bool failed_before = error_ != 0;
  bool written = Flush();
  if (!written && !failed_before) {
    log::Error("ACCESS", "The audit log cannot be written",
               {{"path", options_.path}, {"error", ErrorText(error_)}});
  } else if (written && failed_before) {
    log::Warning("ACCESS", "The audit log can be written again",
                 {{"path", options_.path}, {"eventsLost", lost_}});
  }
  if (written && lost_ > 0) {
    bson::Document param = bson::Builder().Append("events", std::exchange(lost_, 0)).Finish();
    bson::Document told = Event("auditLost", {}, param.view(), 0);
    Put(told.view());
    Flush();
  }
}

void Log::Put(bson::View event) {
  std::string line = bson::ToJson(event);
  if (options_.destination == Options::Destination::kSyslog) {
    syslog(LOG_USER | LOG_INFO, "%s", line.c_str());
  } else if (!waiting_.empty() && waiting_.size() + line.size() > kMostWaiting) {
    ++lost_;
  } else {
    waiting_ += line;
    waiting_ += '\n';
  }
}

bool Log::Flush() {
  size_t done = 0;
  error_ = 0;
  while (done < waiting_.size()) {
    ssize_t n = write(file_, waiting_.data() + done, waiting_.size() - done);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      error_ = n < 0 ? errno : ENOSPC;
      break;
    }
    done += static_cast<size_t>(n);
  }
  waiting_.erase(0, done);
  return waiting_.empty();
}

Status Log::Check(size_t bytes) {
  MutexLock lock(mutex_);
  int error = waiting_.empty() || Flush() ? Reserve(bytes) : error_;
  return error == 0
             ? Status::Ok()
             : Status(kFileStreamFailed, "The audit log cannot be written: " + ErrorText(error));
}

int Log::Reserve(size_t bytes) {
  constexpr int64_t kAhead = 1 << 20;
  constexpr int64_t kLeast = 64 << 10;
  if (options_.destination != Options::Destination::kFile) {
    return 0;
  }
  const int64_t end = lseek(file_, 0, SEEK_END);
  const int64_t wanted = end + kLeast + static_cast<int64_t>(bytes);
  if (end < 0 || wanted <= reserved_) {
    return 0;
  }
  const int64_t ahead = std::max(wanted, end + kAhead);
  if (fallocate(file_, FALLOC_FL_KEEP_SIZE, end, ahead - end) != 0) {
    // What is no file, or lies where none can be laid out ahead, is written as it comes.
    const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO;
    return full ? errno : 0;
  }
  reserved_ = ahead;
  return 0;
}

void Log::GiveBack() {
  const off_t end = reserved_ > 0 ? lseek(file_, 0, SEEK_END) : -1;
  if (end >= 0) {
    (void)!ftruncate(file_, end);
  }
}

Status Log::Rotate(std::string* old) {
  MutexLock lock(mutex_);
  if (options_.destination != Options::Destination::kFile) {
    return Status::Ok();
  }
  *old = log::NameAside(options_.path);
  if (rename(options_.path.c_str(), old->c_str()) != 0 && errno != ENOENT) {
    return {kFileStreamFailed,
            "Failed to rename the audit log " + options_.path + ": " + ErrorText(errno)};
  }
  return OpenFile();
}

}  // namespace quire::audit
