// SPDX-License-Identifier: Apache-2.0
//
// What jemalloc, the allocator of the tool `quire`, is set to. It reads this variable at its start.
// Programs that embed the library keep their own allocator.
extern "C" {

// A thread of its own gives free memory back to the system, also when nothing happens any more.
extern const char* const malloc_conf;  // NOLINT(readability-identifier-naming): jemalloc's name
const char* const malloc_conf =        // NOLINT(readability-identifier-naming)
    "background_thread:true,max_background_threads:1,narenas:4";
}
