// SPDX-License-Identifier: Apache-2.0
#include "import/record_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::apps {
namespace {

constexpr size_t kRead = 1 << 18;
// A quoted field that goes on for longer is taken for one that lacks its closing quote.
constexpr size_t kMaxQuoted = 1 << 20;
constexpr size_t kShownOfTooLong = 200;

}  // namespace

// False at the end of the file.
Result<bool> RecordReader::Fill() {
  if (ended_) {
    return false;
  }
  if (at_ > 0) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  const size_t old = buffer_.size();
  buffer_.resize(old + kRead);
  ssize_t got;
  do {
    got = read(fd_, buffer_.data() + old, kRead);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(old + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) {
    return Status(kOperationFailed, std::string("cannot read: ") + strerror(errno));
  }
  ended_ = got == 0;
  return got > 0;
}

size_t RecordReader::FindEnd() const {
  return separator_ == 0 ? buffer_.find('\n', at_) : FindQuotedEnd();
}

size_t RecordReader::FindQuotedEnd() const {
  const size_t first = buffer_.find('\n', at_);
  if (first == std::string::npos || memchr(buffer_.data() + at_, '"', first - at_) == nullptr) {
    return first;
  }
  bool quoted = false;
  bool fresh = true;  // at the start of a field
  for (size_t i = at_; i < buffer_.size(); ++i) {
    const char c = buffer_[i];
    if (c == '\n' && !quoted) {
      return i;
    }
    if (c == '"' && (quoted || fresh)) {
      quoted = !quoted;
    }
    // A doubled quote inside a field closes and opens it again.
    fresh = (c == separator_ && !quoted) || (c == '"' && !quoted && !fresh);
  }
  const bool hopeless = ended_ || buffer_.size() - at_ > kMaxQuoted;
  return hopeless ? first : std::string::npos;
}

void RecordReader::Take(size_t end, Record* record) {
  const bool newline = end < buffer_.size();
  record->text = std::string_view(buffer_).substr(at_, end - at_);
  record->offset = offset_;
  record->line = line_;
  record->whole_line = newline;
  record->too_long = false;
  line_ += std::count(record->text.begin(), record->text.end(), '\n') + 1;
  offset_ += static_cast<int64_t>(end - at_) + (newline ? 1 : 0);
  record->end = offset_;
  at_ = end + (newline ? 1 : 0);
  if (record->text.ends_with('\r')) {
    record->text.remove_suffix(1);
  }
}

// Drops the rest of the line at `at_`, of which the buffer holds kMaxRecord bytes.
Result<bool> RecordReader::TakeTooLong(Record* record) {
  std::string shown = buffer_.substr(at_, kShownOfTooLong);
  const int64_t offset = offset_;
  size_t end;
  while ((end = buffer_.find('\n', at_)) == std::string::npos) {
    offset_ += static_cast<int64_t>(buffer_.size() - at_);
    at_ = buffer_.size();
    ASSIGN_OR_RETURN(bool more, Fill());
    if (!more) {
      end = buffer_.size();
      break;
    }
  }
  Take(end, record);
  buffer_.insert(0, shown);  // what is before at_ is not read again
  at_ += shown.size();
  record->text = std::string_view(buffer_).substr(0, shown.size());
  record->offset = offset;
  record->too_long = true;
  return true;
}

Result<bool> RecordReader::Next(Record* record) {
  while (true) {
    const size_t end = FindEnd();
    if (end != std::string::npos) {
      Take(end, record);
      return true;
    }
    if (buffer_.size() - at_ > kMaxRecord) {
      return TakeTooLong(record);
    }
    ASSIGN_OR_RETURN(bool more, Fill());
    if (more) {
      continue;
    }
    if (at_ == buffer_.size()) {
      return false;
    }
    // The end of the file may settle an open quote.
    const size_t last = FindEnd();
    Take(last == std::string::npos ? buffer_.size() : last, record);
    return true;
  }
}

Status RecordReader::Skip(int64_t offset, int64_t line) {
  const int64_t held = offset_ + static_cast<int64_t>(buffer_.size() - at_);
  if (offset > held && lseek(fd_, offset, SEEK_SET) == offset) {
    buffer_.clear();
    at_ = 0;
    offset_ = offset;
  }
  while (offset_ < offset) {
    const auto here =
        std::min<int64_t>(static_cast<int64_t>(buffer_.size() - at_), offset - offset_);
    at_ += static_cast<size_t>(here);
    offset_ += here;
    if (offset_ == offset) {
      break;
    }
    ASSIGN_OR_RETURN(bool more, Fill());
    if (!more) {
      return {kBadValue, "the input is shorter than where the import stopped"};
    }
  }
  line_ = line;
  return Status::Ok();
}

}  // namespace quire::apps
