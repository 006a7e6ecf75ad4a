// SPDX-License-Identifier: Apache-2.0
#include "audit/log.h"

#include <fcntl.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
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

// A name that is free: the path, the time, and a number when that is taken.
std::string NameAside(const std::string& path) {
  time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char suffix[32];
  strftime(suffix, sizeof suffix, ".%Y-%m-%dT%H-%M-%S", &parts);
  std::string target = path + suffix;
  for (int n = 1; access(target.c_str(), F_OK) == 0; ++n) {
    target = path + suffix + "-" + std::to_string(n);
  }
  return target;
}

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
    close(file_);
  }
  file_ = file;
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

Status Log::Check() {
  MutexLock lock(mutex_);
  if (waiting_.empty() || Flush()) {
    return Status::Ok();
  }
  return {kFileStreamFailed, "The audit log cannot be written: " + ErrorText(error_)};
}

Status Log::Rotate(std::string* old) {
  MutexLock lock(mutex_);
  if (options_.destination != Options::Destination::kFile) {
    return Status::Ok();
  }
  *old = NameAside(options_.path);
  if (rename(options_.path.c_str(), old->c_str()) != 0 && errno != ENOENT) {
    return {kFileStreamFailed,
            "Failed to rename the audit log " + options_.path + ": " + ErrorText(errno)};
  }
  return OpenFile();
}

}  // namespace quire::audit
