// SPDX-License-Identifier: Apache-2.0
//
// What the writers know about the data: the states each thing may be in. An acknowledged write
// leaves one; a write whose answer never came leaves the one before and the one after.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace quire::crash {

constexpr int64_t kAbsent = -1;

// The documents of one writer. Every write of a document gives it a new version, from which all its
// fields follow, so a document half written would not match any version.
class DocumentModel {
 public:
  // Versions a document may have now; kAbsent stands for none.
  using Versions = std::vector<int64_t>;

  int64_t NewVersion() { return ++last_version_; }

  // A write is sent: the document may have `version` from now on.
  void Sent(const std::string& id, int64_t version);
  // It was acknowledged: the document has it. Or refused: it has not.
  void Acknowledged(const std::string& id, int64_t version);
  void Refused(const std::string& id, int64_t version);

  // The new documents of one ordered batch, or of one transaction, whose answer never came: the
  // first few of them may be there, or all or none. Forgotten by Settle.
  void UnknownInOrder(std::vector<std::string> ids) { in_order_.push_back(std::move(ids)); }
  void UnknownTogether(std::vector<std::string> ids) { together_.push_back(std::move(ids)); }

  // Compares with what the server has (id -> version); a description of each difference.
  std::vector<std::string> Check(const std::map<std::string, int64_t>& found) const;
  // Takes what was found as the truth.
  void Settle(const std::map<std::string, int64_t>& found);

  // Documents known to exist.
  std::vector<std::string> Present() const;

 private:
  std::map<std::string, Versions> documents_;
  std::vector<std::vector<std::string>> in_order_;
  std::vector<std::vector<std::string>> together_;
  int64_t last_version_ = 0;
};

// The whole catalog as one state: collections with their documents' ids, and the index names.
template <typename State>
class StateModel {
 public:
  const State& known() const { return possible_.front(); }
  void Sent(State state) { possible_.push_back(std::move(state)); }
  void Acknowledged() { possible_.erase(possible_.begin(), possible_.end() - 1); }
  void Refused() { possible_.pop_back(); }
  // Whether `found` is a state this may be in; it is the known one from then on.
  bool Settle(State found) {
    for (const State& state : possible_) {
      if (state == found) {
        possible_ = {std::move(found)};
        return true;
      }
    }
    return false;
  }
  const std::vector<State>& possible() const { return possible_; }

 private:
  std::vector<State> possible_ = {State{}};
};

using IndexModel = StateModel<std::set<std::string>>;
using CatalogModel = StateModel<std::map<std::string, std::set<int64_t>>>;

}  // namespace quire::crash
