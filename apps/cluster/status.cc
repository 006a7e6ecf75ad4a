// SPDX-License-Identifier: Apache-2.0
#include "cluster/status.h"

#include <algorithm>
#include <map>

#include "cluster/members.h"
#include "quire/doc.h"

namespace quire::apps {

std::vector<ProcessReport> Report(ClusterLayout& layout) {
  std::vector<ProcessReport> reports;
  std::map<std::string, int64_t> written;  // by process
  std::map<std::string, int64_t> newest;   // by set: the primary's
  for (const Process& process : layout.processes) {
    ProcessReport report;
    report.name = process.name;
    report.host = process.host;
    const ProcessState state = StateOf(process);
    report.pid = state == ProcessState::kEnded ? 0 : process.pid;
    if (state != ProcessState::kRunning) {
      report.role = state == ProcessState::kEnded ? "down" : "paused";
    } else if (IsStore(process)) {
      report.role = "etcd";
    } else if (auto member = AskMember(process.host, std::chrono::seconds(2))) {
      report.role = member->role;
      if (member->settled) {
        written[process.name] = member->written_seconds;
        if (member->role == "primary") {
          newest[process.set] = member->written_seconds;
        }
      }
    } else {
      report.role = "silent";
    }
    reports.push_back(std::move(report));
  }
  for (ProcessReport& report : reports) {
    const auto own = written.find(report.name);
    const auto primary = newest.find(layout.Find(report.name)->set);
    if (own != written.end() && primary != newest.end()) {
      report.lag_seconds = std::max<int64_t>(0, primary->second - own->second);
    }
  }
  return reports;
}

std::string ToTable(const std::vector<ProcessReport>& reports) {
  auto line = [](const std::string& name, const std::string& role, const std::string& host,
                 const std::string& pid, const std::string& lag) {
    char text[160];
    snprintf(text, sizeof text, "%-6s %-11s %-22s %8s %6s\n", name.c_str(), role.c_str(),
             host.c_str(), pid.c_str(), lag.c_str());
    return std::string(text);
  };
  std::string table = line("NAME", "ROLE", "HOST", "PID", "LAG");
  for (const ProcessReport& report : reports) {
    table += line(report.name, report.role, report.host,
                  report.pid == 0 ? "-" : std::to_string(report.pid),
                  report.lag_seconds < 0 ? "-" : std::to_string(report.lag_seconds) + " s");
  }
  return table;
}

bson::Document ToDocument(const std::vector<ProcessReport>& reports, const std::string& uri) {
  std::vector<bson::Document> processes;
  for (const ProcessReport& report : reports) {
    bson::Builder out;
    out.Append("name", report.name).Append("role", report.role).Append("host", report.host);
    if (report.pid == 0) {
      out.AppendNull("pid");
    } else {
      Put(&out, "pid", static_cast<int32_t>(report.pid));
    }
    if (report.lag_seconds >= 0) {
      Put(&out, "lag", static_cast<int32_t>(report.lag_seconds));
    }
    processes.push_back(out.Finish());
  }
  return Doc("processes", ListOf(processes), "uri", uri);
}

}  // namespace quire::apps
