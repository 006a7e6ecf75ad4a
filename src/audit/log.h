// SPDX-License-Identifier: Apache-2.0
//
// Where audit events go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "expr/match/match.h"
#include "quire/bson.h"
#include "quire/status.h"

namespace quire::audit {

struct Options {
  enum class Destination : unsigned char { kFile, kConsole, kSyslog };
  Destination destination = Destination::kFile;
  std::string path;       // of the file
  bson::Document filter;  // events that do not match it are left out; {} keeps all
};

// A filter as people write it: JSON in which names need no quotes and strings may have single ones.
// "" is {}. Error: FailedToParse.
Result<bson::Document> ParseFilter(std::string_view text);

// An open audit log. Safe for concurrent use.
//
// An event is with the operating system when Write returns, and Check has laid out room for it
// before what it tells of was done. One that cannot be written (the disk is full) waits in memory
// until a later one gets through, and is written before it; Check tells of it. The first megabyte
// waits; what comes after is counted and, once writing works again, told of by an event
// "auditLost".
class Log {
 public:
  // Error: FileNotOpen, and what parsing the filter gives.
  static Result<std::unique_ptr<Log>> Open(Options options);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void Write(bson::View event);
  // Before something is done that will be told of in up to `bytes`: tries again to write what
  // waits, and sees to room in the file. Error: FileStreamFailed as long as either fails.
  Status Check(size_t bytes = 0);
  // Sets the file aside under a name with the time and begins a new one; *old is that name. Nothing
  // to do elsewhere. Error: FileStreamFailed, FileNotOpen.
  Status Rotate(std::string* old);

  const Options& options() const { return options_; }

 private:
  explicit Log(Options options);
  Status Begin();
  Status OpenFile() QUIRE_REQUIRES(mutex_);
  void Put(bson::View event) QUIRE_REQUIRES(mutex_);
  bool Flush() QUIRE_REQUIRES(mutex_);               // false when something still waits
  int Reserve(size_t bytes) QUIRE_REQUIRES(mutex_);  // the error of the system, or 0
  void GiveBack() QUIRE_REQUIRES(mutex_);            // the room that was not used

  const Options options_;
  expr::Context context_;
  std::unique_ptr<expr::match::Filter> filter_;
  Mutex mutex_;
  int file_ QUIRE_GUARDED_BY(mutex_) = -1;
  std::string waiting_ QUIRE_GUARDED_BY(mutex_);
  int64_t lost_ QUIRE_GUARDED_BY(mutex_) = 0;
  int error_ QUIRE_GUARDED_BY(mutex_) = 0;         // of the last write; 0 when it succeeded
  int64_t reserved_ QUIRE_GUARDED_BY(mutex_) = 0;  // where the room laid out ahead ends
};

}  // namespace quire::audit
