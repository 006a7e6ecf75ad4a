// SPDX-License-Identifier: Apache-2.0
//
// PCRE2 bounds the work from one place of the text on, not that of all places, and cannot be
// interrupted. So a short text is first searched with a low bound, and what exceeds that, and every
// long text, with a second form of the pattern that calls us between its parts.
#include <algorithm>

#include "base/current_op.h"
#include "base/try.h"
#include "expr/pcre_internal.h"

namespace quire::expr {

namespace {

// Of texts of up to so many bytes: all their pairs of places are visited in well under a second.
constexpr size_t kShortText = 8192;
// Steps of a search through a short text, over all places it may begin at.
constexpr size_t kQuickSteps = 5'000'000;
// Steps from one place on, calls of ours from all together, and memory of the interpreter.
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint64_t kMostCalls = 50'000'000;
constexpr uint64_t kMostCallsPerByte = 64;
constexpr uint32_t kHeapKiB = 100 << 10;

// What a watched match tells and is told.
struct Watch {
  OpContext* op;
  uint64_t most_calls;
  uint64_t calls = 0;
  Status stopped;
};

int OnCall(pcre2_callout_block*, void* data) {
  auto* watch = static_cast<Watch*>(data);
  if ((++watch->calls & 63) != 0) {
    return 0;
  }
  if (watch->op != nullptr) {
    watch->stopped = watch->op->CheckInterrupt();
    if (!watch->stopped.ok()) {
      return PCRE2_ERROR_CALLOUT;
    }
  }
  return watch->calls > watch->most_calls ? PCRE2_ERROR_MATCHLIMIT : 0;
}

PcreCode CompileCode(std::string_view pattern, uint32_t flags, std::string* error) {
  int number = 0;
  PCRE2_SIZE offset = 0;
  PcreCode code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), flags,
                              &number, &offset, nullptr));
  if (code == nullptr) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(number, text, sizeof text);
    *error = reinterpret_cast<char*>(text);
    return nullptr;
  }
  // A failure leaves the interpreter, which is as right and slower.
  (void)pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

int Run(const pcre2_code* code, std::string_view text, size_t from, uint32_t flags,
        pcre2_match_data* data, pcre2_match_context* context) {
  auto match = [&](uint32_t extra) {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       flags | extra, data, context);
  };
  int found = match(0);
  return found == PCRE2_ERROR_JIT_STACKLIMIT ? match(PCRE2_NO_JIT) : found;
}

pcre2_match_context* ThreadContext() {
  thread_local PcreMatchContext context = [] {
    PcreMatchContext made(pcre2_match_context_create(nullptr));
    pcre2_set_heap_limit(made.get(), kHeapKiB);
    return made;
  }();
  return context.get();
}

bool MetLimit(int code) {
  return code == PCRE2_ERROR_MATCHLIMIT || code == PCRE2_ERROR_DEPTHLIMIT ||
         code == PCRE2_ERROR_HEAPLIMIT || code == PCRE2_ERROR_JIT_STACKLIMIT;
}

}  // namespace

std::unique_ptr<const PcrePattern> PcrePattern::Compile(std::string_view pattern, uint32_t flags,
                                                        std::string* error) {
  constexpr size_t kLongest = 16384;  // bytes, MongoDB's limit
  if (pattern.size() > kLongest) {
    *error = "pattern string is longer than the limit set by the application";
    return nullptr;
  }
  PcreCode code = CompileCode(pattern, flags, error);
  if (code == nullptr) {
    return nullptr;
  }
  return std::unique_ptr<const PcrePattern>(new PcrePattern(pattern, flags, std::move(code)));
}

const pcre2_code* PcrePattern::Watched() const {
  std::call_once(once_, [this] {
    std::string error;
    watched_ = CompileCode(pattern_, flags_ | PCRE2_AUTO_CALLOUT, &error);
    // A pattern too large to have calls everywhere has one where it begins. Verbs stand at the
    // beginning of all, so one that begins with them has none.
    if (watched_ == nullptr && !pattern_.starts_with("(*")) {
      std::string whole = "(?C1)(?:" + pattern_ + "\\E\n)";
      if ((flags_ & PCRE2_EXTENDED) == 0) {
        whole.erase(whole.size() - 2, 1);
      }
      watched_ = CompileCode(whole, flags_, &error);
    }
  });
  return watched_.get();
}

Result<int> PcrePattern::Match(std::string_view text, size_t from, pcre2_match_data* data) const {
  uint32_t flags = from > 0 ? PCRE2_NO_UTF_CHECK : 0;
  if (text.size() <= kShortText) {
    pcre2_match_context* context = ThreadContext();
    pcre2_set_callout(context, nullptr, nullptr);
    pcre2_set_match_limit(context, static_cast<uint32_t>(std::min(
                                       kQuickSteps / 1000, kQuickSteps / (text.size() + 1))));
    int found = Run(code_.get(), text, from, flags, data, context);
    if (!MetLimit(found)) {
      return found;
    }
    flags = PCRE2_NO_UTF_CHECK;
  }
  return MatchWatched(text, from, flags, data);
}

Result<int> PcrePattern::MatchWatched(std::string_view text, size_t from, uint32_t flags,
                                      pcre2_match_data* data) const {
  const pcre2_code* watched = Watched();
  if (watched == nullptr) {
    return PCRE2_ERROR_MATCHLIMIT;
  }
  Watch watch{CurrentOp(), kMostCalls + kMostCallsPerByte * text.size(), 0, {}};
  pcre2_match_context* context = ThreadContext();
  pcre2_set_callout(context, OnCall, &watch);
  pcre2_set_match_limit(context, kMatchLimit);
  int found = Run(watched, text, from, flags, data, context);
  pcre2_set_callout(context, nullptr, nullptr);
  RETURN_IF_ERROR(watch.stopped);
  return found;
}

Status PcreFailure(int code, std::string_view op) {
  return {51156, "Error occurred while executing the regular expression in " + std::string(op) +
                     ". Result code: " + std::to_string(code)};
}

}  // namespace quire::expr
