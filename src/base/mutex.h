// SPDX-License-Identifier: Apache-2.0
//
// A mutex that clang's thread safety analysis understands, and the annotations for what it guards.
// A member that says QUIRE_GUARDED_BY(mutex_) is touched only while mutex_ is locked, a function
// that says QUIRE_REQUIRES(mutex_) is called only then: `./dev tidy` and every build with clang
// refuse code that does otherwise. Other compilers see nothing of it.
#pragma once

#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define QUIRE_THREAD_SAFETY(x) __attribute__((x))
#else
#define QUIRE_THREAD_SAFETY(x)
#endif

#define QUIRE_GUARDED_BY(mutex) QUIRE_THREAD_SAFETY(guarded_by(mutex))
// Of a function or a lambda: behind its parameters.
#define QUIRE_REQUIRES(...) QUIRE_THREAD_SAFETY(requires_capability(__VA_ARGS__))
// For what the analysis cannot follow; the reason stands beside it.
#define QUIRE_UNCHECKED QUIRE_THREAD_SAFETY(no_thread_safety_analysis)

namespace quire {

// A std::mutex. Locked by MutexLock.
class QUIRE_THREAD_SAFETY(capability("mutex")) Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Holds a mutex from its construction to its end, but for the time between unlock and lock.
class QUIRE_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) QUIRE_THREAD_SAFETY(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~MutexLock() QUIRE_THREAD_SAFETY(release_capability()) {}
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() QUIRE_THREAD_SAFETY(acquire_capability()) { lock_.lock(); }
  void unlock() QUIRE_THREAD_SAFETY(release_capability()) { lock_.unlock(); }

  // For std::condition_variable's wait functions, which return with the mutex locked again.
  std::unique_lock<std::mutex>& native() { return lock_; }

 private:
  std::unique_lock<std::mutex> lock_;
};

// A std::shared_mutex. Locked by ReaderLock and WriterLock.
class QUIRE_THREAD_SAFETY(capability("mutex")) SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

 private:
  friend class ReaderLock;
  friend class WriterLock;
  std::shared_mutex mutex_;
};

class QUIRE_THREAD_SAFETY(scoped_lockable) ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) QUIRE_THREAD_SAFETY(acquire_shared_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~ReaderLock() QUIRE_THREAD_SAFETY(release_capability()) {}
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

class QUIRE_THREAD_SAFETY(scoped_lockable) WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) QUIRE_THREAD_SAFETY(acquire_capability(mutex))
      : lock_(mutex.mutex_) {}
  ~WriterLock() QUIRE_THREAD_SAFETY(release_capability()) {}
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::unique_lock<std::shared_mutex> lock_;
};

}  // namespace quire
