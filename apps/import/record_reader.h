// SPDX-License-Identifier: Apache-2.0
//
// A file cut into records: lines, or CSV records whose quoted fields may hold newlines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quire/status.h"

namespace quire::apps {

struct Record {
  std::string_view text;   // without its end of line; valid until the next call of Next
  int64_t offset = 0;      // of its first byte
  int64_t end = 0;         // of the byte after its end of line
  int64_t line = 0;        // of its first line, from 1
  bool whole_line = true;  // it ended in a newline
  bool too_long = false;   // `text` is only its beginning
};

class RecordReader {
 public:
  static constexpr size_t kMaxRecord = 16 << 20;

  // Reads `fd` from where it stands, which is offset 0. `separator` 0: records are lines;
  // otherwise a newline within a field that begins with a quote belongs to the field. A quote
  // without its end makes its line a record alone.
  RecordReader(int fd, char separator) : fd_(fd), separator_(separator) {}

  // False at the end. Error: the read's.
  Result<bool> Next(Record* record);
  // Goes on at `offset`, which is the start of line number `line`. REQUIRES: not before what was
  // read. Error: the file is shorter.
  Status Skip(int64_t offset, int64_t line);

 private:
  Result<bool> Fill();
  // Where the record at `at_` ends (its newline), npos when the buffer does not hold it whole.
  size_t FindEnd() const;
  size_t FindQuotedEnd() const;
  Result<bool> TakeTooLong(Record* record);
  void Take(size_t end, Record* record);

  const int fd_;
  const char separator_;
  std::string buffer_;
  size_t at_ = 0;       // of the next record, in buffer_
  int64_t offset_ = 0;  // of buffer_[at_], in the file
  int64_t line_ = 1;
  bool ended_ = false;
};

}  // namespace quire::apps
