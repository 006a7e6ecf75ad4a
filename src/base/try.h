// SPDX-License-Identifier: Apache-2.0
//
// The two error macros of the code base; there are no others.
#pragma once

#include "quire/status.h"

#define QUIRE_CONCAT_INNER(a, b) a##b
#define QUIRE_CONCAT(a, b) QUIRE_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expr` (a Status) is an error.
#define RETURN_IF_ERROR(expr)                                                   \
  do {                                                                          \
    if (::quire::Status try_status_ = (expr); !try_status_.ok()) [[unlikely]] { \
      return try_status_;                                                       \
    }                                                                           \
  } while (false)

// ASSIGN_OR_RETURN(auto x, F()): x takes the value of the Result, or the function returns its
// error.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_INNER(QUIRE_CONCAT(try_result_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                           \
  if (!result.ok()) [[unlikely]] {                \
    return std::move(result).status();            \
  }                                               \
  lhs = *std::move(result)
