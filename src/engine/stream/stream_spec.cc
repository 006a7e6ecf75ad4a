// SPDX-License-Identifier: Apache-2.0
//
// Parsing the argument of $changeStream.
#include "base/error_codes.h"
#include "base/try.h"
#include "engine/stream/change_stream.h"
#include "request/fields.h"

namespace quire::engine {

namespace {

struct Options {
  bool all_changes = false;
  std::optional<bson::View> resume_after;
  std::optional<bson::View> start_after;
  std::optional<bson::Timestamp> start_time;
};

Status WrongType(const bson::Element& e, std::string_view expected) {
  return {kTypeMismatch, "BSON field '$changeStream." + std::string(e.name()) +
                             "' is the wrong type '" + std::string(bson::TypeName(e.type())) +
                             "', expected type '" + std::string(expected) + "'"};
}

Status ReadBool(const bson::Element& e, bool* out) {
  if (e.type() != bson::Type::kBool) {
    return WrongType(e, "bool");
  }
  *out = e.value().AsBool();
  return Status::Ok();
}

template <typename E>
struct EnumRow {
  std::string_view name;
  E value;
};

template <typename E, size_t N>
Status ReadEnum(const bson::Element& e, const EnumRow<E> (&rows)[N], E* out) {
  if (!e.value().is_string()) {
    return WrongType(e, "string");
  }
  for (const EnumRow<E>& row : rows) {
    if (row.name == e.value().AsString()) {
      *out = row.value;
      return Status::Ok();
    }
  }
  return {kBadValue, "Enumeration value '" + std::string(e.value().AsString()) + "' for field '" +
                         std::string(e.name()) + "' is not a valid value."};
}

Status ReadToken(const bson::Element& e, std::optional<bson::View>* out) {
  if (e.type() != bson::Type::kDocument) {
    return WrongType(e, "object");
  }
  *out = e.value().AsDocument();
  return ReadResumeToken(**out).status();
}

constexpr EnumRow<StreamSpec::FullDocument> kFullDocument[] = {
    {"default", StreamSpec::FullDocument::kDefault},
    {"updateLookup", StreamSpec::FullDocument::kUpdateLookup},
    {"whenAvailable", StreamSpec::FullDocument::kWhenAvailable},
    {"required", StreamSpec::FullDocument::kRequired},
};
constexpr EnumRow<StreamSpec::BeforeChange> kBeforeChange[] = {
    {"off", StreamSpec::BeforeChange::kOff},
    {"whenAvailable", StreamSpec::BeforeChange::kWhenAvailable},
    {"required", StreamSpec::BeforeChange::kRequired},
};

Status ReadOption(const bson::Element& e, StreamSpec* spec, Options* options) {
  std::string_view name = e.name();
  if (name == "allChangesForCluster") {
    return ReadBool(e, &options->all_changes);
  }
  if (name == "showExpandedEvents") {
    return ReadBool(e, &spec->expanded_events);
  }
  if (name == "showSystemEvents") {
    return ReadBool(e, &spec->system_events);
  }
  if (name == StreamSpec::kMerged) {
    return ReadBool(e, &spec->merged);
  }
  bool null = e.type() == bson::Type::kNull;
  if (name == "fullDocument") {
    return null ? Status::Ok() : ReadEnum(e, kFullDocument, &spec->full_document);
  }
  if (name == "fullDocumentBeforeChange") {
    return null ? Status::Ok() : ReadEnum(e, kBeforeChange, &spec->before_change);
  }
  if (name == "resumeAfter") {
    return null ? Status::Ok() : ReadToken(e, &options->resume_after);
  }
  if (name == "startAfter") {
    return null ? Status::Ok() : ReadToken(e, &options->start_after);
  }
  if (name == "startAtOperationTime") {
    if (null) {
      return Status::Ok();
    }
    if (e.type() != bson::Type::kTimestamp) {
      return WrongType(e, "timestamp");
    }
    options->start_time = e.value().AsTimestamp();
    return Status::Ok();
  }
  return request::UnknownField("$changeStream", name);
}

Status CheckPlace(const pipeline::Namespace& ns, const Options& options, StreamSpec* spec) {
  bool internal = ns.database == "admin" || ns.database == "config" || ns.database == "local";
  if (options.all_changes) {
    if (ns.database != "admin" || !ns.collection.empty()) {
      return {kInvalidOptions,
              "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' "
              "database, and with no collection name; found " +
                  ns.database + (ns.collection.empty() ? "" : "." + ns.collection)};
    }
    spec->scope = StreamSpec::Scope::kCluster;
    return Status::Ok();
  }
  if (internal) {
    return {kInvalidNamespace,
            "$changeStream may not be opened on the internal " + ns.database + " database"};
  }
  if (ns.collection.starts_with("system.") && !spec->system_events) {
    return {kInvalidNamespace, "$changeStream may not be opened on the internal " + ns.database +
                                   "." + ns.collection + " collection"};
  }
  spec->scope =
      ns.collection.empty() ? StreamSpec::Scope::kDatabase : StreamSpec::Scope::kCollection;
  return Status::Ok();
}

Status SetStart(const Options& options, bson::Timestamp now, StreamSpec* spec) {
  if (options.resume_after && options.start_after) {
    return {50865, "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage"};
  }
  if ((options.resume_after || options.start_after) && options.start_time) {
    return {40674, "Only one type of resume option is allowed, but multiple were found."};
  }
  if (options.resume_after || options.start_after) {
    bson::View token = options.resume_after ? *options.resume_after : *options.start_after;
    ASSIGN_OR_RETURN(spec->start, ReadResumeToken(token));
    if (options.resume_after && spec->start.invalidate) {
      return {kInvalidResumeToken,
              "Attempting to resume a change stream using 'resumeAfter' is not allowed from an "
              "invalidate notification."};
    }
    spec->start_token = bson::Document(token);
    return Status::Ok();
  }
  // Without a start the stream begins after everything there is.
  spec->start.time =
      options.start_time ? *options.start_time : store::UnpackTime(store::PackTime(now) + 1);
  spec->start_token = MakeResumeToken(spec->start, {}, bson::View());
  return Status::Ok();
}

}  // namespace

Result<StreamSpec> StreamSpec::Parse(const pipeline::Namespace& ns, bson::View spec,
                                     bson::Timestamp now) {
  StreamSpec parsed;
  parsed.database = ns.database;
  parsed.collection = ns.collection;
  Options options;
  for (const bson::Element& e : spec) {
    RETURN_IF_ERROR(ReadOption(e, &parsed, &options));
  }
  RETURN_IF_ERROR(CheckPlace(ns, options, &parsed));
  RETURN_IF_ERROR(SetStart(options, now, &parsed));
  return parsed;
}

}  // namespace quire::engine
