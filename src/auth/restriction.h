// SPDX-License-Identifier: Apache-2.0
//
// From where and to where a user may log in: authenticationRestrictions of users and roles.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/bson.h"
#include "quire/status.h"

namespace quire::auth {

// An internet address. One of version 4 in the clothes of version 6 is one of version 4.
struct Address {
  bool six = false;
  std::array<uint8_t, 16> bytes{};  // the first 4 of version 4

  // "192.0.2.1", "2001:db8::1".
  static std::optional<Address> Parse(const std::string& text);
  // With a port: "192.0.2.1:27017", "[2001:db8::1]:27017". Nothing for anything else, such as the
  // path of a unix socket.
  static std::optional<Address> OfEndpoint(std::string_view text);
};

// An address, or all that begin like one: "192.0.2.0/24".
class AddressRange {
 public:
  // Error: UnsupportedFormat.
  static Result<AddressRange> Parse(std::string_view text);
  bool Contains(const Address& address) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  Address first_;
  int bits_ = 0;
};

// One document of a list; an empty side restricts nothing.
struct Restriction {
  std::vector<AddressRange> client_source;
  std::vector<AddressRange> server_address;
};

// A user's or a role's list: one of its documents has to be met, unless there is none.
class Restrictions {
 public:
  // [{clientSource: [range, ...], serverAddress: [...]}, ...]. Error: TypeMismatch,
  // CollectionIsEmpty, UnsupportedFormat, or the number of an unknown or repeated field.
  static Result<Restrictions> Parse(bson::View array);
  // The field authenticationRestrictions of a stored user or role.
  static Result<Restrictions> Stored(bson::View document);

  // `client` and `server` are both ends of the connection, with their ports.
  bool Met(std::string_view client, std::string_view server) const;
  bool empty() const { return any_.empty(); }
  // As an array, which has been begun.
  void AppendTo(bson::Builder* array) const;

 private:
  std::vector<Restriction> any_;
};

}  // namespace quire::auth
