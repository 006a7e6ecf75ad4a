// SPDX-License-Identifier: Apache-2.0
#include "kv/rocks/versioned/group_commit.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace quire::kv {

rocksdb::WriteBatch JoinedBatch(const std::vector<rocksdb::WriteBatch*>& batches) {
  constexpr size_t kSequenceSize = 8;
  constexpr size_t kHeaderSize = kSequenceSize + sizeof(uint32_t);
  size_t size = kHeaderSize;
  for (const rocksdb::WriteBatch* batch : batches) {
    size += batch->GetDataSize() - kHeaderSize;
  }
  std::string bytes;
  bytes.reserve(size);
  bytes.resize(kHeaderSize);
  uint32_t count = 0;
  for (const rocksdb::WriteBatch* batch : batches) {
    bytes.append(batch->Data(), kHeaderSize);
    count += batch->Count();
  }
  for (size_t i = 0; i < sizeof count; ++i) {
    bytes[kSequenceSize + i] = static_cast<char>(count >> (8 * i));
  }
  return rocksdb::WriteBatch(std::move(bytes));
}

void GroupCommit::Gather(MutexLock& lock) {
  // A disk that is slow for once must not make others wait as long.
  constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(2);
  complete_.wait_for(lock.native(), std::min(took_, kLongest),
                     [&]() QUIRE_REQUIRES(mutex_) { return next_->batches.size() >= expected_; });
}

rocksdb::Status GroupCommit::Commit(
    rocksdb::WriteBatch* batch, const std::function<rocksdb::Status(rocksdb::WriteBatch*)>& write) {
  using Clock = std::chrono::steady_clock;
  MutexLock lock(mutex_);
  const std::shared_ptr<Group> group = next_;
  group->batches.push_back(batch);
  if (group->batches.size() == expected_) {
    complete_.notify_one();
  }
  while (!group->done) {
    if (led_) {
      written_.wait(lock.native());
      continue;
    }
    led_ = true;
    Gather(lock);
    next_ = std::make_shared<Group>();
    lock.unlock();
    const Clock::time_point began = Clock::now();
    rocksdb::Status status;
    if (group->batches.size() == 1) {
      status = write(batch);
    } else {
      rocksdb::WriteBatch joined = JoinedBatch(group->batches);
      status = write(&joined);
    }
    const Clock::time_point end = Clock::now();
    lock.lock();
    took_ = end - began;
    expected_ = group->batches.size() + next_->batches.size();
    group->status = status;
    group->done = true;
    led_ = false;
    written_.notify_all();
  }
  return group->status;
}

}  // namespace quire::kv
