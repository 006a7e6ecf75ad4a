// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <cstddef>

namespace quire {

// While it lives the system refuses every new thread: its stack would be larger than memory.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t larger_than_memory;
    pthread_attr_init(&larger_than_memory);
    pthread_attr_setstacksize(&larger_than_memory, size_t{1} << 47);
    pthread_setattr_default_np(&larger_than_memory);
    pthread_attr_destroy(&larger_than_memory);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace quire
