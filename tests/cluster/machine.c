// SPDX-License-Identifier: Apache-2.0
//
// A process on a machine whose power fails and whose clock jumps. As a library (LD_PRELOAD):
//   QUIRE_SYNCED=FILE  notes how far each file was synced
//   QUIRE_CLOCK=FILE   eight bytes: by so many nanoseconds the wall clock is wrong
// As a program (-DCUT), `cut FOLDER FILE`: every file below FOLDER loses what was not synced.
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// An inode's number is used again: its birth tells the files apart.
struct Note {
  uint64_t inode;
  int64_t born_seconds;
  int64_t born_nanos;
  int64_t size;
};

static int Describe(int fd, const char* path, struct Note* note) {
  struct statx found;
  if (statx(fd, path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
            STATX_INO | STATX_TYPE | STATX_SIZE | STATX_BTIME, &found) != 0 ||
      !S_ISREG(found.stx_mode))
    return 0;
  note->inode = found.stx_ino;
  note->born_seconds = found.stx_btime.tv_sec;
  note->born_nanos = found.stx_btime.tv_nsec;
  note->size = (int64_t)found.stx_size;
  return 1;
}

#ifdef CUT

static struct Note* notes;
static size_t count;

static int CutOne(const char* path, const struct stat* unused, int type, struct FTW* place) {
  (void)unused;
  (void)place;
  struct Note now;
  if (type != FTW_F || !Describe(AT_FDCWD, path, &now)) return 0;
  int64_t synced = 0;
  for (size_t i = 0; i < count; ++i)
    if (memcmp(&notes[i], &now, offsetof(struct Note, size)) == 0) synced = notes[i].size;
  if (synced >= now.size) return 0;
  printf("%s: %lld of %lld bytes are left\n", path, (long long)synced, (long long)now.size);
  return truncate(path, synced);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  FILE* file = fopen(argv[2], "rb");
  struct Note note;
  while (file != NULL && fread(&note, sizeof note, 1, file) == 1) {
    notes = realloc(notes, (count + 1) * sizeof note);
    notes[count++] = note;
  }
  return nftw(argv[1], CutOne, 16, FTW_PHYS) == 0 ? 0 : 1;
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static const int64_t kSecond = 1000000000;

static int Synced(int fd, const char* name) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  const char* path = getenv("QUIRE_SYNCED");
  struct Note note;
  // What is written while it syncs may not be.
  const int known = path != NULL && Describe(fd, "", &note);
  const int result = real(fd);
  if (result == 0 && known) {
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || write(file, &note, sizeof note) != sizeof note) abort();
    close(file);
  }
  return result;
}

int fsync(int fd) { return Synced(fd, "fsync"); }
int fdatasync(int fd) { return Synced(fd, "fdatasync"); }

static int64_t Wrong(void) {
  static const volatile int64_t* shared;
  if (shared == NULL) {
    static const int64_t right = 0;
    const char* path = getenv("QUIRE_CLOCK");
    const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void* mapped =
        file < 0 ? MAP_FAILED : mmap(NULL, sizeof right, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    shared = mapped == MAP_FAILED ? &right : mapped;
  }
  return *shared;
}

static struct timespec Shifted(struct timespec time, int64_t by) {
  int64_t nanos = time.tv_nsec + by % kSecond;
  time.tv_sec += by / kSecond + (nanos >= kSecond) - (nanos < 0);
  time.tv_nsec = (nanos + kSecond) % kSecond;
  return time;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    *time = Shifted(*time, Wrong());
  return result;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

// Waits until a wall time; those by the monotonic clock have a function of their own.
int pthread_cond_timedwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                           const struct timespec* restrict until) {
  typedef int (*Function)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
  static Function real;
  if (real == NULL) real = (Function)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  const struct timespec shifted = Shifted(*until, -Wrong());
  return real(condition, mutex, &shifted);
}

#endif
