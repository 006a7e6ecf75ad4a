// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>

namespace quire::crash {
namespace {

int64_t VersionOf(const std::map<std::string, int64_t>& found, const std::string& id) {
  auto it = found.find(id);
  return it == found.end() ? kAbsent : it->second;
}

std::string Show(int64_t version) {
  return version == kAbsent ? "absent" : "version " + std::to_string(version);
}

}  // namespace

void DocumentModel::Sent(const std::string& id, int64_t version) {
  auto [it, added] = documents_.try_emplace(id, Versions{kAbsent});
  it->second.push_back(version);
}

void DocumentModel::Acknowledged(const std::string& id, int64_t version) {
  documents_[id] = {version};
}

void DocumentModel::Refused(const std::string& id, int64_t version) {
  Versions& versions = documents_[id];
  versions.erase(std::remove(versions.begin(), versions.end(), version), versions.end());
}

std::vector<std::string> DocumentModel::Check(const std::map<std::string, int64_t>& found) const {
  std::vector<std::string> problems;
  for (const auto& [id, versions] : documents_) {
    const int64_t version = VersionOf(found, id);
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) {
      std::string expected;
      for (int64_t v : versions) {
        expected += (expected.empty() ? "" : " or ") + Show(v);
      }
      problems.push_back(id + " is " + Show(version) + ", expected " + expected);
    }
  }
  for (const auto& [id, version] : found) {
    if (!documents_.contains(id)) {
      problems.push_back(id + " was never written");
    }
  }
  for (const std::vector<std::string>& ids : in_order_) {
    bool ended = false;
    for (const std::string& id : ids) {
      const bool there = found.contains(id);
      if (there && ended) {
        problems.push_back(id + " is there without those before it in its ordered batch");
      }
      ended = ended || !there;
    }
  }
  for (const std::vector<std::string>& ids : together_) {
    for (const std::string& id : ids) {
      if (found.contains(id) != found.contains(ids.front())) {
        problems.push_back(id + " and " + ids.front() + " of one transaction are not both there");
      }
    }
  }
  return problems;
}

void DocumentModel::Settle(const std::map<std::string, int64_t>& found) {
  documents_.clear();
  in_order_.clear();
  together_.clear();
  for (const auto& [id, version] : found) {
    documents_[id] = {version};
  }
}

std::vector<std::string> DocumentModel::Present() const {
  std::vector<std::string> ids;
  for (const auto& [id, versions] : documents_) {
    if (versions.size() == 1 && versions.front() != kAbsent) {
      ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace quire::crash
