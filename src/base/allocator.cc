// SPDX-License-Identifier: Apache-2.0
#include "base/allocator.h"

#include <cstddef>

// jemalloc's own function, absent without it.
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old_value, size_t* old_size,
                                     void* new_value, size_t new_size);

namespace quire {

std::string_view AllocatorName() { return mallctl != nullptr ? "jemalloc" : "system"; }

}  // namespace quire
