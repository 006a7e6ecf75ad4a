// SPDX-License-Identifier: Apache-2.0
#include "store/build/notes.h"

#include <cstring>
#include <string>

namespace quire::store {

namespace {

std::string NoteKey(const IndexBuild& build, uint64_t n) {
  std::string key = TablePrefix(build.notes->id);
  for (int shift = 56; shift >= 0; shift -= 8) {
    key.push_back(static_cast<char>(n >> shift));
  }
  return key;
}

}  // namespace

Status PutNote(Transaction& txn, const IndexInfo& index, const Note& note) {
  std::string key = NoteKey(*index.build, index.build->next_note.fetch_add(1));
  std::string stored(1, note.there ? '+' : '-');
  auto size = static_cast<uint32_t>(note.key.size());
  stored.append(reinterpret_cast<const char*>(&size), sizeof size);
  stored.append(note.key).append(note.value);
  txn.Keep(index.build->notes);
  return txn.kv().Put(key, stored);
}

kv::Range NotesSoFar(const IndexBuild& build) {
  return {NoteKey(build, 0), NoteKey(build, build.next_note)};
}

Note ReadNote(std::string_view stored) {
  uint32_t size = 0;
  memcpy(&size, stored.data() + 1, sizeof size);
  return {stored[0] == '+', stored.substr(5, size), stored.substr(5 + size)};
}

}  // namespace quire::store
