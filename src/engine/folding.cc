// SPDX-License-Identifier: Apache-2.0
#include "engine/folding.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/try.h"
#include "store/records/conversion.h"
#include "store/records/fold.h"

namespace quire::engine {

Result<std::unique_ptr<Folding>> Folding::Open(store::Catalog* catalog) {
  ASSIGN_OR_RETURN(const bool needed, store::NeedsConversion(catalog->store()));
  if (needed) {
    log::Info("STORAGE", "The store has format 3: its documents are brought into groups");
  }
  return std::unique_ptr<Folding>(new Folding(catalog, !needed));
}

void Folding::Run(const std::function<bool()>& stop) {
  auto run = [&]() -> Status {
    if (!converted_) {
      ASSIGN_OR_RETURN(converted_, Convert(stop));
    }
    for (const store::CollectionPtr& info : catalog_.snapshot()->All()) {
      if (!info->is_view()) {
        RETURN_IF_ERROR(store::FoldNoted(catalog_.store(), catalog_.log(), *info, stop));
      }
    }
    return Status::Ok();
  };
  const Status ran = run();
  if (!ran.ok() && !std::exchange(failed_, true)) {
    log::Warning("STORAGE", "Documents could not be brought into groups; it is tried again",
                 {{"error", ran.ToString()}});
  }
  failed_ = failed_ && !ran.ok();
}

void Folding::Report(const store::CollectionInfo& info, store::RecordId done) {
  constexpr auto kInterval = std::chrono::seconds(10);
  const auto now = std::chrono::steady_clock::now();
  if (now - reported_ >= kInterval) {
    reported_ = now;
    const int64_t last = std::max<int64_t>(info.state->next_record_id, 1);
    log::Info("STORAGE", "Bringing documents of format 3 into groups",
              {{"ns", info.ns()}, {"percent", std::to_string(100 * std::min(done, last) / last)}});
  }
}

Result<bool> Folding::Convert(const std::function<bool()>& stop) {
  for (const store::CollectionPtr& info : catalog_.snapshot()->All()) {
    if (info->is_view() || info->ns() < ns_) {
      continue;
    }
    if (info->ns() != ns_) {
      ns_ = info->ns();
      done_ = 0;
    }
    auto moved = [&](store::RecordId done) {
      done_ = done;
      Report(*info, done);
      return !stop();
    };
    ASSIGN_OR_RETURN(const bool all,
                     store::FoldAll(catalog_.store(), catalog_.log(), *info, done_, moved));
    if (!all) {
      return false;
    }
  }
  RETURN_IF_ERROR(store::EndConversion(catalog_.store()));
  log::Info("STORAGE", "All documents of format 3 are in groups");
  return true;
}

}  // namespace quire::engine
