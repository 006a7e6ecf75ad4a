// SPDX-License-Identifier: Apache-2.0
//
// `quire cluster status`: what each process of a cluster is doing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/layout.h"
#include "quire/bson.h"

namespace quire::apps {

struct ProcessReport {
  std::string name;
  std::string role;  // "primary", "secondary", "router", "etcd", "down", "paused", "silent", ...
  std::string host;
  int64_t pid = 0;           // 0: not running
  int64_t lag_seconds = -1;  // behind the primary; -1: nobody knows
};

std::vector<ProcessReport> Report(ClusterLayout& layout);

std::string ToTable(const std::vector<ProcessReport>& reports);
// {processes: [{name, role, host, pid, lag}], uri}
bson::Document ToDocument(const std::vector<ProcessReport>& reports, const std::string& uri);

}  // namespace quire::apps
