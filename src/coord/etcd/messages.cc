// SPDX-License-Identifier: Apache-2.0
#include "coord/etcd/messages.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/json/text_forms.h"
#include "quire/bson.h"

namespace quire::coord::etcd {

namespace {

Status Malformed(std::string_view what) {
  return {kOperationFailed, "The coordination store answered what etcd does not: " +
                                std::string(what.substr(0, 200))};
}

// A number is a text, or left out when it is zero.
template <typename Number>
std::optional<Number> ReadNumber(const bson::Value& value) {
  Number number = 0;
  if (value.missing()) {
    return number;
  }
  if (!value.is_string()) {
    return std::nullopt;
  }
  const std::string_view text = value.AsString();
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

std::optional<std::string> ReadBytes(const bson::Value& value) {
  if (value.missing()) {
    return std::string();
  }
  return value.is_string() ? bson::FromBase64(value.AsString()) : std::nullopt;
}

std::optional<Position> ReadPosition(bson::View body) {
  const bson::Value header = body["header"];
  if (!header.is_document()) {
    return std::nullopt;
  }
  auto cluster = ReadNumber<uint64_t>(header.AsDocument()["cluster_id"]);
  auto revision = ReadNumber<Revision>(header.AsDocument()["revision"]);
  if (!cluster || !revision) {
    return std::nullopt;
  }
  return Position{*cluster, *revision};
}

// Appends the entries of a range response.
bool ReadEntries(bson::View range, std::vector<Entry>* entries) {
  const bson::Value list = range["kvs"];
  if (list.missing()) {
    return true;
  }
  if (!list.is_array()) {
    return false;
  }
  for (const bson::Element& element : list.AsArray()) {
    if (!element.value().is_document()) {
      return false;
    }
    const bson::View kv = element.value().AsDocument();
    auto key = ReadBytes(kv["key"]);
    auto value = ReadBytes(kv["value"]);
    auto created = ReadNumber<Revision>(kv["create_revision"]);
    auto modified = ReadNumber<Revision>(kv["mod_revision"]);
    if (!key || !value || !created || !modified) {
      return false;
    }
    entries->push_back({std::move(*key), std::move(*value), *created, *modified});
  }
  return true;
}

void AppendRead(std::string_view key, bson::Builder* list) {
  list->PushDocument()
      .BeginDocument("request_range")
      .Append("key", bson::ToBase64(key))
      .End()
      .End();
}

}  // namespace

std::string TransactBody(const Transaction& transaction) {
  std::set<std::string_view> shown(transaction.reads.begin(), transaction.reads.end());
  bson::Builder body;
  body.BeginArray("compare");
  for (const Compare& compare : transaction.compares) {
    shown.insert(compare.key);
    body.PushDocument()
        .Append("target", "MOD")
        .Append("result", "EQUAL")
        .Append("key", bson::ToBase64(compare.key))
        .Append("mod_revision", std::to_string(compare.modified))
        .End();
  }
  body.End().BeginArray("success");
  for (const Write& write : transaction.writes) {
    body.PushDocument();
    if (write.kind == Write::Kind::kPut) {
      body.BeginDocument("request_put")
          .Append("key", bson::ToBase64(write.key))
          .Append("value", bson::ToBase64(write.value));
    } else {
      body.BeginDocument("request_delete_range").Append("key", bson::ToBase64(write.key));
    }
    body.End().End();
  }
  for (std::string_view key : shown) {
    AppendRead(key, &body);
  }
  body.End().BeginArray("failure");
  for (std::string_view key : shown) {
    AppendRead(key, &body);
  }
  body.End();
  const bson::Document document = body.Finish();
  return bson::ToJson(document.view());
}

Result<Answer> ReadAnswer(std::string_view body) {
  ASSIGN_OR_RETURN(const bson::Document document, bson::Document::FromJson(body));
  Answer answer;
  auto position = ReadPosition(document.view());
  const bson::Value responses = document["responses"];
  if (!position || !responses.is_array()) {
    return Malformed(body);
  }
  answer.position = *position;
  const bson::Value succeeded = document["succeeded"];
  answer.done = succeeded.type() == bson::Type::kBool && succeeded.AsBool();
  for (const bson::Element& element : responses.AsArray()) {
    if (!element.value().is_document()) {
      return Malformed(body);
    }
    const bson::Value range = element.value().AsDocument()["response_range"];
    if (range.is_document() && !ReadEntries(range.AsDocument(), &answer.entries)) {
      return Malformed(body);
    }
  }
  return answer;
}

std::string ListBody(const Range& range) {
  // The key just above `after` is `after` with a NUL.
  const std::string from = range.after.empty() || range.after < range.prefix
                               ? range.prefix
                               : range.after + std::string(1, '\0');
  const std::string end = EndOfPrefix(range.prefix);
  bson::Builder body;
  body.Append("key", bson::ToBase64(from.empty() ? std::string_view("\0", 1) : from))
      .Append("range_end", bson::ToBase64(end.empty() ? std::string_view("\0", 1) : end))
      .Append("limit", std::to_string(range.most))
      .Append("revision", std::to_string(range.at))
      .Append("min_mod_revision", std::to_string(range.modified_since));
  const bson::Document document = body.Finish();
  return bson::ToJson(document.view());
}

Result<Listing> ReadListing(const Range& range, std::string_view body) {
  ASSIGN_OR_RETURN(const bson::Document document, bson::Document::FromJson(body));
  Listing listing;
  auto position = ReadPosition(document.view());
  if (!position || !ReadEntries(document.view(), &listing.entries)) {
    return Malformed(body);
  }
  listing.position = *position;
  if (range.at != 0) {
    listing.position.revision = range.at;
  }
  const bson::Value more = document["more"];
  listing.more = more.type() == bson::Type::kBool && more.AsBool();
  return listing;
}

std::string WatchBody(std::string_view prefix) {
  const std::string end = EndOfPrefix(prefix);
  bson::Builder body;
  body.BeginDocument("create_request")
      .Append("key", bson::ToBase64(prefix.empty() ? std::string_view("\0", 1) : prefix))
      .Append("range_end", bson::ToBase64(end.empty() ? std::string_view("\0", 1) : end))
      .End();
  const bson::Document document = body.Finish();
  return bson::ToJson(document.view());
}

std::string LoginBody(const std::string& user, const std::string& password) {
  bson::Builder body;
  body.Append("name", user).Append("password", password);
  const bson::Document document = body.Finish();
  return bson::ToJson(document.view());
}

Result<std::string> ReadToken(std::string_view body) {
  ASSIGN_OR_RETURN(const bson::Document document, bson::Document::FromJson(body));
  const bson::Value token = document["token"];
  if (!token.is_string()) {
    return Status(kOperationFailed, "The coordination store's login has no token");
  }
  return std::string(token.AsString());
}

Status ReadError(long http_status, std::string_view body) {
  // gRPC's numbers.
  enum : int64_t {
    kInvalidArgument = 3,
    kDeadlineExceeded = 4,
    kPermissionDenied = 7,
    kOutOfRange = 11,
    kUnavailable = 14,
    kUnauthenticated = 16,
  };
  std::string text = "HTTP " + std::to_string(http_status);
  int64_t number = 0;
  if (Result<bson::Document> document = bson::Document::FromJson(body); document.ok()) {
    const bson::Value error = (*document)["error"];
    const bson::Value code = (*document)["code"];
    text = error.is_string() ? std::string(error.AsString()) : text;
    number = code.type() == bson::Type::kInt32 ? code.AsInt32() : 0;
  } else if (!body.empty()) {
    text += ": " + std::string(body.substr(0, body.find('\n')));  // its gateway says some in words
  }
  const std::string message = "The coordination store says: " + text;
  // Where logins are needed, etcd calls a request without one an invalid argument.
  if (text.find("user name is empty") != std::string::npos) {
    return {kUnauthorized, message};
  }
  switch (number) {
    case kInvalidArgument:
      return {kBadValue, message};
    case kDeadlineExceeded:
      return {kNetworkTimeout, message};
    case kPermissionDenied:
      return {kUnauthorized, message};
    case kOutOfRange:
      return {kSnapshotTooOld, message};
    case kUnavailable:
      return {kHostUnreachable, message};
    case kUnauthenticated:
      return {kAuthenticationFailed, message};
    default:
      return {kOperationFailed, message};
  }
}

}  // namespace quire::coord::etcd
