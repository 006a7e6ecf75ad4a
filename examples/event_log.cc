// SPDX-License-Identifier: Apache-2.0
//
// A log of web requests: lines of a server's access log imported once, searched by host in pages,
// and counted by day and page.
#include "quire/patterns/event_log.h"

#include <iostream>
#include <sstream>

#include "quire/quire.h"

using quire::bson::Date;

int main() {
  auto client = quire::OpenInMemory();
  if (!client.ok()) {
    std::cerr << client.status().ToString() << "\n";
    return 1;
  }
  // Lines are dated in the past: keep them for longer than that.
  quire::patterns::EventLog log(*client, "logs", {.horizon = std::chrono::hours(24 * 365 * 100)});
  std::istringstream lines(
      "127.0.0.1 - - [10/Oct/2000:13:55:36 +0000] \"GET /index.html HTTP/1.0\" 200 2326\n"
      "127.0.0.1 - ann [10/Oct/2000:13:57:00 +0000] \"GET /about.html HTTP/1.0\" 200 512\n"
      "10.0.0.7 - - [11/Oct/2000:08:00:00 +0000] \"GET /index.html HTTP/1.0\" 304 -\n"
      "not a line of a log\n");
  auto report = log.Import("web1:access.log", &lines, {});
  if (!report.ok()) {
    std::cerr << report.status().ToString() << "\n";
    return 1;
  }
  std::cout << report->inserted << " events, " << report->rejected.size() << " bad lines\n";

  const Date from = *Date::FromIso("2000-10-10");
  const Date to = from + std::chrono::hours(48);
  quire::patterns::PageRequest next{.limit = 1};
  do {
    auto page = log.ByHost("127.0.0.1", from, to, next);
    if (!page.ok()) {
      std::cerr << page.status().ToString() << "\n";
      return 1;
    }
    for (const quire::bson::Document& event : page->documents) {
      std::cout << event["time"].AsDate().ToIso() << " " << event["path"].AsString() << "\n";
    }
    next.after = page->next;
  } while (!next.after.empty());

  auto hits = log.CountByDayAndPath(from, to);
  if (!hits.ok()) {
    std::cerr << hits.status().ToString() << "\n";
    return 1;
  }
  for (const auto& row : *hits) {
    std::cout << row.path << " on " << row.month << "/" << row.day << ": " << row.hits << "\n";
  }
  return 0;
}
