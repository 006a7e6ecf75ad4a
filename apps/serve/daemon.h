// SPDX-License-Identifier: Apache-2.0
//
// The process around the server: background, pid file, limits, signals.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quire/status.h"

namespace quire::apps {

// Continues in a child process in the background. The parent waits for the child's Ready (or its
// end) and exits; only the child returns from Fork.
class Background {
 public:
  // `log`: the file to look into when the child fails. Error: the system refused.
  Status Fork(const std::string& log);
  // Lets the parent exit with success, and leaves its standard error. Nothing to do when not
  // forked.
  void Ready();

 private:
  int pipe_ = -1;
};

// A file with the process id, removed at the end.
class PidFile {
 public:
  PidFile() = default;
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;
  ~PidFile();
  // Error: FileNotOpen.
  Status Write(const std::string& path);

 private:
  std::string path_;
};

// The open files the system allows this process, and who may have them: connections are refused
// before storage has to do without.
struct OpenFiles {
  int storage = 0;
  int connections = 0;  // as many as wanted, or as there are
};
// Raises the limit to what the system allows. Error: it is too low for a server.
Result<OpenFiles> ShareOpenFiles(int64_t wanted_connections);
OpenFiles ShareOf(int64_t open_files, int64_t wanted_connections);

// Replaces the process by a new one of the same program, process id and arguments. Returns the exit
// code when that fails.
int StartAgain(const std::vector<std::string>& argv);
// Whether this process has come about so. True once.
bool IsStartedAgain();

// From now on new files are the owner's alone.
void KeepFilesPrivate();

// Blocks the signals WaitForEnd waits for; to be called before any thread starts.
void BlockSignals();
// Returns the number of the signal that asks to end; calls `rotate` at SIGUSR1 and SIGHUP.
int WaitForEnd(const std::function<Status()>& rotate);

}  // namespace quire::apps
