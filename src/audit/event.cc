// SPDX-License-Identifier: Apache-2.0
#include "audit/event.h"

#include <array>
#include <chrono>
#include <cstring>
#include <random>

#include "bson/json/text_forms.h"

namespace quire::audit {
namespace {

void AppendNames(std::string_view field, std::string_view name,
                 const std::vector<std::pair<std::string, std::string>>& all, bson::Builder* out) {
  out->BeginArray(field);
  for (const auto& [what, database] : all) {
    out->PushDocument().Append(name, what).Append("db", database).End();
  }
  out->End();
}

// Sixteen bytes that stand for a connection of this process and no other.
std::string ConnectionId(int64_t connection) {
  static const std::array<uint32_t, 4> kProcess = [] {
    std::random_device random;
    return std::array<uint32_t, 4>{random(), random(), random(), random()};
  }();
  std::string id(16, '\0');
  std::memcpy(id.data(), kProcess.data(), 16);
  for (size_t i = 0; i < 8; ++i) {
    id[15 - i] = static_cast<char>(id[15 - i] ^ static_cast<char>(connection >> (8 * i)));
  }
  id[6] = static_cast<char>((id[6] & 0x0f) | 0x40);
  id[8] = static_cast<char>((id[8] & 0x3f) | 0x80);
  return id;
}

}  // namespace

void AppendEndpoint(std::string_view field, std::string_view address, bson::Builder* out) {
  out->BeginDocument(field);
  size_t colon = address.rfind(':');
  if (address.empty()) {
    out->Append("isSystemUser", true);
  } else if (address.find('/') != std::string_view::npos || colon == std::string_view::npos) {
    out->Append("unix", address);
  } else {
    std::string_view ip = address.substr(0, colon);
    if (ip.starts_with('[') && ip.ends_with(']')) {
      ip = ip.substr(1, ip.size() - 2);
    }
    int32_t port = 0;
    for (char c : address.substr(colon + 1)) {
      port = c >= '0' && c <= '9' && port < 100'000 ? port * 10 + (c - '0') : port;
    }
    out->Append("ip", ip).Append("port", port);
  }
  out->End();
}

bson::Document Event(std::string_view type, const Who& who, bson::View param, int result) {
  auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  bson::Builder out;
  out.Append("atype", type).Append("ts", bson::Date{now.count()});
  out.BeginDocument("uuid")
      .Append("$binary", bson::ToBase64(ConnectionId(who.connection)))
      .Append("$type", "04")
      .End();
  AppendEndpoint("local", who.local, &out);
  AppendEndpoint("remote", who.remote, &out);
  AppendNames("users", "user", who.users, &out);
  AppendNames("roles", "role", who.roles, &out);
  return out.Append("param", param).Append("result", static_cast<int32_t>(result)).Finish();
}

}  // namespace quire::audit
