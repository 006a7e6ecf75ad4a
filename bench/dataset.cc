// SPDX-License-Identifier: Apache-2.0
#include "dataset.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace quire::bench {
namespace {

constexpr double kTheta = 0.99;

// A well spread number for each n, the same on every run.
uint64_t Scramble(uint64_t n) {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
  n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
  return n ^ (n >> 31);
}

constexpr const char* kAgents[] = {
    "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/119.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
};

}  // namespace

Bson FromJson(const std::string& json) {
  bson_error_t error;
  Bson document(bson_new_from_json(reinterpret_cast<const uint8_t*>(json.data()),
                                   static_cast<ssize_t>(json.size()), &error));
  if (!document) {
    fprintf(stderr, "%s: %s\n", json.c_str(), error.message);
    abort();
  }
  return document;
}

std::string HostName(int host) { return "web-" + std::to_string(1000 + host) + ".example.net"; }

std::string PathName(int path) {
  return "/catalog/section/" + std::to_string(path) + "/index.html";
}

Bson MakeEvent(int64_t n) {
  const uint64_t random = Scramble(static_cast<uint64_t>(n));
  const std::string host = HostName(static_cast<int>(random % kHosts));
  const std::string path = PathName(static_cast<int>((random >> 16) % kPaths));
  const std::string referer =
      "https://www.example.com" + PathName(static_cast<int>(random >> 32) & 127);
  Bson event(bson_new());
  bson_t* d = event.get();
  BSON_APPEND_UTF8(d, "host", host.c_str());
  BSON_APPEND_DATE_TIME(d, "time", kFirstEventMs + n * kEventStepMs);
  BSON_APPEND_UTF8(d, "path", path.c_str());
  BSON_APPEND_UTF8(d, "method", random % 10 == 0 ? "POST" : "GET");
  BSON_APPEND_INT32(d, "status", random % 50 == 0 ? 500 : 200);
  BSON_APPEND_INT64(d, "bytes", static_cast<int64_t>((random >> 8) % 100'000));
  BSON_APPEND_DOUBLE(d, "seconds", static_cast<double>((random >> 24) % 10'000) / 1000);
  BSON_APPEND_UTF8(d, "user", ("user-" + std::to_string((random >> 40) % 20'000)).c_str());
  BSON_APPEND_UTF8(d, "agent", kAgents[random % 3]);
  BSON_APPEND_UTF8(d, "referer", referer.c_str());
  bson_t request;
  BSON_APPEND_DOCUMENT_BEGIN(d, "request", &request);
  BSON_APPEND_UTF8(&request, "protocol", "HTTP/1.1");
  BSON_APPEND_BOOL(&request, "secure", true);
  BSON_APPEND_INT32(&request, "port", 443);
  bson_append_document_end(d, &request);
  return event;
}

std::string YcsbKey(int64_t n) {
  return "user" + std::to_string(Scramble(static_cast<uint64_t>(n)));
}

std::string YcsbValue(std::mt19937_64& random) {
  std::string value(100, ' ');
  for (char& c : value) {
    c = static_cast<char>(' ' + random() % 95);
  }
  return value;
}

Bson MakeYcsbRecord(int64_t n) {
  std::mt19937_64 random(static_cast<uint64_t>(n));
  Bson record(bson_new());
  BSON_APPEND_UTF8(record.get(), "_id", YcsbKey(n).c_str());
  for (int field = 0; field < 10; ++field) {
    BSON_APPEND_UTF8(record.get(), ("field" + std::to_string(field)).c_str(),
                     YcsbValue(random).c_str());
  }
  return record;
}

Zipfian::Zipfian(int64_t items) : items_(items), zeta_(0), alpha_(1 / (1 - kTheta)) {
  for (int64_t i = 1; i <= items; ++i) {
    zeta_ += 1 / std::pow(static_cast<double>(i), kTheta);
  }
  const double zeta2 = 1 + std::pow(0.5, kTheta);
  eta_ = (1 - std::pow(2.0 / static_cast<double>(items), 1 - kTheta)) / (1 - zeta2 / zeta_);
}

int64_t Zipfian::NextRank(std::mt19937_64& random) const {
  const double u = std::uniform_real_distribution<double>()(random);
  const double uz = u * zeta_;
  if (uz < 1) {
    return 0;
  }
  if (uz < 1 + std::pow(0.5, kTheta)) {
    return 1;
  }
  return static_cast<int64_t>(static_cast<double>(items_) * std::pow(eta_ * u - eta_ + 1, alpha_));
}

int64_t Zipfian::Next(std::mt19937_64& random) const {
  return static_cast<int64_t>(Scramble(static_cast<uint64_t>(NextRank(random))) %
                              static_cast<uint64_t>(items_));
}

}  // namespace quire::bench
