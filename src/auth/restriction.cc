// SPDX-License-Identifier: Apache-2.0
#include "auth/restriction.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/error_codes.h"
#include "base/try.h"

namespace quire::auth {
namespace {

constexpr int kBitsFour = 32;
constexpr int kBitsSix = 128;

Status WrongType(std::string_view field, const bson::Element& e, std::string_view expected) {
  return {kTypeMismatch, "BSON field 'address restriction." + std::string(field) +
                             "' is the wrong type '" + std::string(bson::TypeName(e.type())) +
                             "', expected type '" + std::string(expected) + "'"};
}

Result<std::vector<AddressRange>> ParseRanges(const bson::Element& field) {
  if (field.type() != bson::Type::kArray) {
    return WrongType(field.name(), field, "array");
  }
  std::vector<AddressRange> ranges;
  for (const bson::Element& e : field.value().AsArray()) {
    if (e.type() != bson::Type::kString) {
      return WrongType(std::string(field.name()) + "." + std::string(e.name()), e, "string");
    }
    ASSIGN_OR_RETURN(AddressRange range, AddressRange::Parse(e.value().AsString()));
    ranges.push_back(std::move(range));
  }
  if (ranges.empty()) {
    return Status(kCollectionIsEmpty,
                  "'" + std::string(field.name()) + "' must name at least one address");
  }
  return ranges;
}

Result<Restriction> ParseOne(bson::View document) {
  Restriction out;
  for (const bson::Element& e : document) {
    std::vector<AddressRange>* side = e.name() == "clientSource"    ? &out.client_source
                                      : e.name() == "serverAddress" ? &out.server_address
                                                                    : nullptr;
    if (side == nullptr || !side->empty()) {
      return Status(side == nullptr ? kIDLUnknownField : kIDLDuplicateField,
                    "BSON field 'address restriction." + std::string(e.name()) + "' is " +
                        (side == nullptr ? "an unknown field." : "a duplicate field"));
    }
    ASSIGN_OR_RETURN(*side, ParseRanges(e));
  }
  if (out.client_source.empty() && out.server_address.empty()) {
    return Status(kCollectionIsEmpty,
                  "At least one of 'clientSource' and/or 'serverAddress' must be set");
  }
  return out;
}

bool OneContains(const std::vector<AddressRange>& ranges, std::string_view endpoint) {
  if (ranges.empty()) {
    return true;
  }
  std::optional<Address> address = Address::OfEndpoint(endpoint);
  return address && std::any_of(ranges.begin(), ranges.end(), [&](const AddressRange& range) {
           return range.Contains(*address);
         });
}

void AppendRanges(std::string_view name, const std::vector<AddressRange>& ranges,
                  bson::Builder* out) {
  if (ranges.empty()) {
    return;
  }
  out->BeginArray(name);
  for (const AddressRange& range : ranges) {
    out->Push(range.text());
  }
  out->End();
}

}  // namespace

std::optional<Address> Address::Parse(const std::string& text) {
  constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  Address out;
  if (text.size() != strlen(text.c_str())) {
    return std::nullopt;
  }
  if (inet_pton(AF_INET, text.c_str(), out.bytes.data()) == 1) {
    return out;
  }
  if (inet_pton(AF_INET6, text.c_str(), out.bytes.data()) != 1) {
    return std::nullopt;
  }
  out.six = !std::equal(kMapped.begin(), kMapped.end(), out.bytes.begin());
  if (!out.six) {
    std::copy(out.bytes.begin() + kMapped.size(), out.bytes.end(), out.bytes.begin());
    std::fill(out.bytes.begin() + 4, out.bytes.end(), uint8_t{0});
  }
  return out;
}

std::optional<Address> Address::OfEndpoint(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return Parse(std::string(host));
}

Result<AddressRange> AddressRange::Parse(std::string_view text) {
  AddressRange out;
  out.text_ = text;
  size_t slash = text.find('/');
  std::optional<Address> first = Address::Parse(std::string(text.substr(0, slash)));
  if (!first) {
    return Status(kUnsupportedFormat, "Invalid IP address in CIDR string '" + out.text_ + "'");
  }
  out.first_ = *first;
  // "::ffff:192.0.2.1" is of version 4 by now; a length would count from the front of what it was.
  const bool mapped = !first->six && text.substr(0, slash).find(':') != std::string_view::npos;
  const int most = first->six || mapped ? kBitsSix : kBitsFour;
  out.bits_ = most;
  if (slash != std::string_view::npos) {
    std::string_view digits = text.substr(slash + 1);
    const bool plain = !digits.empty() && digits.size() <= 3 &&
                       digits.find_first_not_of("0123456789") == std::string_view::npos;
    out.bits_ = plain ? std::stoi(std::string(digits)) : most + 1;
  }
  if (mapped) {
    out.bits_ -= kBitsSix - kBitsFour;
  }
  if (out.bits_ < 0 || out.bits_ > (first->six ? kBitsSix : kBitsFour)) {
    return Status(kUnsupportedFormat, "Invalid length in CIDR string '" + out.text_ + "'");
  }
  return out;
}

bool AddressRange::Contains(const Address& address) const {
  if (address.six != first_.six) {
    return false;
  }
  const auto whole = static_cast<size_t>(bits_ / 8);
  if (!std::equal(first_.bytes.begin(), first_.bytes.begin() + whole, address.bytes.begin())) {
    return false;
  }
  const int rest = bits_ % 8;
  return rest == 0 || ((first_.bytes[whole] ^ address.bytes[whole]) >> (8 - rest)) == 0;
}

Result<Restrictions> Restrictions::Parse(bson::View array) {
  Restrictions out;
  for (const bson::Element& e : array) {
    if (e.type() != bson::Type::kDocument) {
      return Status(kTypeMismatch,
                    "'authenticationRestrictions' must be an array of documents, but one is of "
                    "type " +
                        std::string(bson::TypeName(e.type())));
    }
    ASSIGN_OR_RETURN(Restriction one, ParseOne(e.value().AsDocument()));
    out.any_.push_back(std::move(one));
  }
  return out;
}

Result<Restrictions> Restrictions::Stored(bson::View document) {
  bson::Value list = document["authenticationRestrictions"];
  if (list.missing()) {
    return Restrictions();
  }
  if (!list.is_array()) {
    return Status(kUnsupportedFormat, "authenticationRestrictions are not an array");
  }
  return Parse(list.AsArray());
}

bool Restrictions::Met(std::string_view client, std::string_view server) const {
  return any_.empty() || std::any_of(any_.begin(), any_.end(), [&](const Restriction& one) {
           return OneContains(one.client_source, client) && OneContains(one.server_address, server);
         });
}

void Restrictions::AppendTo(bson::Builder* array) const {
  for (const Restriction& one : any_) {
    array->PushDocument();
    AppendRanges("clientSource", one.client_source, array);
    AppendRanges("serverAddress", one.server_address, array);
    array->End();
  }
}

}  // namespace quire::auth
