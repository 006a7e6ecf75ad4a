// SPDX-License-Identifier: Apache-2.0
#include "remote/remote.h"

#include <mongoc/mongoc.h>

#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/error_codes.h"
#include "base/mutex.h"
#include "bson/validate.h"
#include "request/reply.h"

namespace quire::remote {

namespace {

constexpr uint32_t kMaxConnections = 1000;
constexpr int32_t kWaitForConnectionMs = 30'000;
constexpr size_t kMaxBodyBytes = 16'000'000;

// One of the pool's clients with a session on it.
struct Lane {
  mongoc_client_t* client = nullptr;
  mongoc_client_session_t* session = nullptr;
  uint32_t server = 0;  // 0: not chosen yet
};

// A bson_t that ends with its scope.
struct Bson {
  Bson() { bson_init(&value); }
  ~Bson() { bson_destroy(&value); }
  Bson(const Bson&) = delete;
  Bson& operator=(const Bson&) = delete;
  bson_t value;
};

void AppendBytes(bson_t* out, std::string_view document) {
  bson_t fields;
  if (bson_init_static(&fields, reinterpret_cast<const uint8_t*>(document.data()),
                       document.size())) {
    bson_concat(out, &fields);
  }
}

bool DriverAdds(std::string_view field) {
  return field == "lsid" || field == "txnNumber" || field == "autocommit" ||
         field == "startTransaction" || field == "$db" || field == "$readPreference";
}

// The command without what the driver adds by itself; sequences become arrays of it.
bson::Document PlainCommand(const request::Request& request, bool drop_read_concern) {
  bson::Builder plain;
  for (const bson::Element& field : request.body) {
    if (!DriverAdds(field.name()) && !(drop_read_concern && field.name() == "readConcern")) {
      plain.Append(field);
    }
  }
  for (const request::Sequence& sequence : request.sequences) {
    plain.BeginArray(sequence.name);
    for (bson::View document : sequence.documents) {
      plain.Push(document);
    }
    plain.End();
  }
  return plain.Finish();
}

// Whether the documents of an insert are too many for its body, and all else it says can be said
// to the driver's bulk insert, which sends them beside the body. One that is too large for any
// collection is left to the server to refuse.
bool IsBulkInsert(const request::Request& request) {
  if (request.body.front().name() != "insert" || request.sequences.size() != 1) {
    return false;
  }
  size_t bytes = 0;
  bool too_large = false;
  for (bson::View document : request.sequences[0].documents) {
    bytes += document.bytes().size() + sizeof("100000") + 1;  // with its name in an array
    too_large = too_large || document.bytes().size() > bson::kMaxDocumentSize;
  }
  if (bytes <= kMaxBodyBytes || too_large) {
    return false;
  }
  for (const bson::Element& field : request.body) {
    const std::string_view name = field.name();
    if (name != "insert" && name != "ordered" && name != "writeConcern" && name != "comment" &&
        name != "readConcern" && !DriverAdds(name)) {
      return false;
    }
  }
  return true;
}

// What the driver says of a bulk insert, in the words of the insert command's reply. False: the
// server did not answer.
bool AsInsertReply(const bson_t& bulk, bool all_well, const bson_error_t& error, bson_t* reply) {
  const bson::View said(reinterpret_cast<const char*>(bson_get_data(&bulk)));
  const bson::Value errors = said["writeErrors"];
  const bson::Value unmet = said["writeConcernErrors"];
  const bool single = errors.is_array() && !errors.AsArray().empty();
  const bool unconfirmed = unmet.is_array() && !unmet.AsArray().empty();
  if (!all_well && !single && !unconfirmed && error.domain != MONGOC_ERROR_SERVER) {
    return false;
  }
  bson::Builder out;
  out.Append("n", static_cast<int32_t>(request::CountIn(said["nInserted"])));
  if (single) {
    out.Append("writeErrors", errors);
  }
  if (unconfirmed) {
    out.Append("writeConcernError", unmet.AsArray().front().value());
  }
  if (bson::Value labels = said["errorLabels"]; labels.is_array()) {
    out.Append("errorLabels", labels);
  }
  const bool refused = !all_well && !single && !unconfirmed;
  if (refused) {
    out.Append("code", static_cast<int32_t>(error.code));
    out.Append("errmsg", std::string_view(error.message));
  }
  out.Append("ok", refused ? 0.0 : 1.0);
  AppendBytes(reply, out.Finish().bytes());
  return true;
}

using ReadPrefs = std::unique_ptr<mongoc_read_prefs_t, decltype(&mongoc_read_prefs_destroy)>;

// What $readPreference says; null (the primary answers) when it says nothing.
ReadPrefs ReadPrefsOf(bson::View body) {
  static constexpr struct {
    std::string_view name;
    mongoc_read_mode_t mode;
  } kModes[] = {{"primaryPreferred", MONGOC_READ_PRIMARY_PREFERRED},
                {"secondary", MONGOC_READ_SECONDARY},
                {"secondaryPreferred", MONGOC_READ_SECONDARY_PREFERRED},
                {"nearest", MONGOC_READ_NEAREST}};
  ReadPrefs prefs(nullptr, &mongoc_read_prefs_destroy);
  bson::Value given = body["$readPreference"];
  bson::Value mode = given.is_document() ? given.AsDocument()["mode"] : bson::Value();
  for (const auto& row : kModes) {
    if (mode.is_string() && mode.AsString() == row.name) {
      prefs.reset(mongoc_read_prefs_new(row.mode));
      if (bson::Value seconds = given.AsDocument()["maxStalenessSeconds"]; seconds.is_number()) {
        mongoc_read_prefs_set_max_staleness_seconds(prefs.get(), request::CountIn(seconds));
      }
    }
  }
  return prefs;
}

// What of the address a command takes.
enum class Kind {
  kOther,  // nothing
  kRead,   // read concern and preference; the driver sends it again when the server goes away
  kWrite,  // write concern
};

bool WritesResult(const bson::Value& pipeline) {
  bool writes = false;
  if (pipeline.is_array()) {
    for (const bson::Element& stage : pipeline.AsArray()) {
      writes =
          writes || (stage.value().is_document() && (stage.value().AsDocument().Has("$out") ||
                                                     stage.value().AsDocument().Has("$merge")));
    }
  }
  return writes;
}

Kind KindOf(const request::Request& request) {
  const std::string_view name = request.body.front().name();
  if (request.body.Has("autocommit")) {
    return Kind::kOther;  // the transaction has concerns of its own
  }
  for (std::string_view write :
       {"insert", "update", "delete", "findAndModify", "bulkWrite", "create", "createIndexes",
        "drop", "dropDatabase", "dropIndexes", "collMod", "renameCollection"}) {
    if (name == write) {
      return Kind::kWrite;
    }
  }
  if (name == "find" || name == "count" || name == "distinct") {
    return Kind::kRead;
  }
  if (name == "aggregate") {
    return WritesResult(request.body["pipeline"]) ? Kind::kWrite : Kind::kRead;
  }
  return Kind::kOther;
}

// Whether the server that answered is not, or no longer, the one for it.
bool RoleChanged(const bson_t& reply) {
  const bson::View said(reinterpret_cast<const char*>(bson_get_data(&reply)));
  const bson::Value concern = said["writeConcernError"];
  for (const bson::Value& code :
       {said["code"], concern.is_document() ? concern.AsDocument()["code"] : bson::Value()}) {
    switch (code.is_number() ? request::CountIn(code) : 0) {
      case kNotWritablePrimary:
      case kNotPrimaryNoSecondaryOk:
      case kNotPrimaryOrSecondary:
      case kInterruptedDueToReplStateChange:
      case kPrimarySteppedDown:
      case kInterruptedAtShutdown:
      case kShutdownInProgress:
        return true;
      default:
        break;
    }
  }
  return false;
}

// The reply for a command that got none. A command of a transaction is labelled so that the whole
// is repeated, a commit so that it alone is.
void AppendUnreachable(const request::Request& request, const bson_error_t& error,
                       std::string* reply) {
  bson::Builder out(reply);
  out.Append("ok", 0.0).Append("code", kHostUnreachable).Append("codeName", "HostUnreachable");
  out.Append("errmsg", std::string_view(error.message));
  if (request.body.Has("autocommit")) {
    bool commits = request.body.front().name() == "commitTransaction";
    out.BeginArray("errorLabels");
    out.Push(commits ? "UnknownTransactionCommitResult" : "TransientTransactionError").End();
  }
  out.Close();
}

class Remote : public request::Handler {
 public:
  explicit Remote(mongoc_client_pool_t* pool) : pool_(pool) {}
  ~Remote() override {
    for (auto& [id, lane] : sessions_) {
      Leave(lane);
    }
    for (auto& [id, lane] : cursors_) {
      Leave(lane);
    }
    mongoc_client_pool_destroy(pool_);
  }

  request::Outcome Run(request::Client&, const request::Request& request,
                       std::string* reply) override {
    bson_error_t error{};
    if (request.body.front().name() == "endSessions") {
      EndSessions(request.body, reply);
      return {};
    }
    bson::Value lsid = request.body["lsid"];
    Lane lane = lsid.is_document() ? SessionLane(lsid.bytes(), &error) : CursorLane(request.body);
    if (lane.client == nullptr && !Enter(&lane, &error)) {
      AppendUnreachable(request, error, reply);
      return {};
    }
    if (lsid.is_document()) {
      lane.server = ServerOfCursor(request.body);
    }
    Bson answer;
    const bool heard = Send(&lane, request, &answer.value, &error);
    if (heard) {
      reply->append(reinterpret_cast<const char*>(bson_get_data(&answer.value)), answer.value.len);
    } else {
      lane.server = 0;
      AppendUnreachable(request, error, reply);
    }
    if (lsid.is_document()) {
      MutexLock lock(mutex_);
      sessions_[std::string(lsid.bytes())] = lane;
      NoteCursor(request.body, heard ? &answer.value : nullptr, lane.server);
    } else {
      KeepForCursor(lane, heard ? &answer.value : nullptr);
    }
    return {};
  }

  void Disconnected(request::Client&) override {}

 private:
  bool Enter(Lane* lane, bson_error_t* error) {
    lane->client = mongoc_client_pool_pop(pool_);
    if (lane->client == nullptr) {
      bson_set_error(error, 0, 0, "no connection of the pool became free");
      return false;
    }
    lane->session = mongoc_client_start_session(lane->client, nullptr, error);
    if (lane->session == nullptr) {
      Leave(*lane);
      return false;
    }
    return true;
  }

  void Leave(const Lane& lane) {
    if (lane.session != nullptr) {
      mongoc_client_session_destroy(lane.session);
    }
    mongoc_client_pool_push(pool_, lane.client);
  }

  Lane SessionLane(std::string_view id, bson_error_t* error) {
    {
      MutexLock lock(mutex_);
      if (auto found = sessions_.find(std::string(id)); found != sessions_.end()) {
        return found->second;
      }
    }
    Lane lane;
    return Enter(&lane, error) ? lane : Lane{};
  }

  // The id of the cursor that the command goes on with or ends; 0 for any other command.
  static int64_t CursorIn(bson::View body) {
    bson::Value id = body["getMore"];
    if (bson::Value killed = body["cursors"]; id.missing() && killed.is_array() &&
                                              body.front().name() == "killCursors" &&
                                              !killed.AsArray().empty()) {
      id = killed.AsArray().front().value();
    }
    return id.missing() ? 0 : request::CountIn(id);
  }

  // The lane of the cursor that the command goes on with or ends; none for any other command.
  Lane CursorLane(bson::View body) {
    const int64_t id = CursorIn(body);
    MutexLock lock(mutex_);
    auto found = cursors_.find(id);
    if (found == cursors_.end()) {
      return {};
    }
    Lane lane = found->second;
    cursors_.erase(found);
    return lane;
  }

  // Of the cursor that a command of a session goes on with or ends; 0 for any other command, for
  // which one is chosen.
  uint32_t ServerOfCursor(bson::View body) {
    MutexLock lock(mutex_);
    auto found = servers_.find(CursorIn(body));
    return found == servers_.end() ? 0 : found->second;
  }

  void NoteCursor(bson::View body, const bson_t* reply, uint32_t server) QUIRE_REQUIRES(mutex_) {
    servers_.erase(CursorIn(body));
    if (const int64_t id = CursorOf(reply); id != 0) {
      servers_[id] = server;
    }
  }

  // The id of the cursor in a reply; 0: none.
  static int64_t CursorOf(const bson_t* reply) {
    bson::View document(reply != nullptr ? reinterpret_cast<const char*>(bson_get_data(reply))
                                         : bson::View().data());
    bson::Value cursor = document["cursor"];
    return cursor.is_document() ? request::CountIn(cursor.AsDocument()["id"]) : 0;
  }

  void KeepForCursor(const Lane& lane, const bson_t* reply) {
    const int64_t id = CursorOf(reply);
    if (id == 0) {
      Leave(lane);
      return;
    }
    MutexLock lock(mutex_);
    cursors_.emplace(id, lane);
  }

  void EndSessions(bson::View body, std::string* reply) {
    for (const bson::Element& id : body["endSessions"].AsArray()) {
      MutexLock lock(mutex_);
      auto node = sessions_.extract(std::string(id.value().bytes()));
      lock.unlock();
      if (!node.empty()) {
        Leave(node.mapped());
      }
    }
    bson::Builder out(reply);
    out.Append("ok", 1.0);
    out.Close();
  }

  // True when the server answered, if only with an error.
  bool Send(Lane* lane, const request::Request& request, bson_t* reply, bson_error_t* error) {
    std::string_view name = request.body.front().name();
    if (name == "abortTransaction") {
      (void)mongoc_client_session_abort_transaction(lane->session, error);
      BSON_APPEND_DOUBLE(reply, "ok", 1.0);
      return true;
    }
    if (name == "commitTransaction" && !request.body.Has("writeConcern")) {
      bson_destroy(reply);
      (void)mongoc_client_session_commit_transaction(lane->session, reply, error);
      return bson_has_field(reply, "ok");
    }
    const bool starts = request.body.Has("startTransaction");
    if (starts && !StartTransaction(lane->session, request.body["readConcern"], error)) {
      return false;
    }
    bool heard = SendPlain(lane, request, starts, reply, error);
    if (heard && name == "commitTransaction") {  // sent as it is; the driver's state must follow
      bson_error_t ignored;
      (void)mongoc_client_session_abort_transaction(lane->session, &ignored);
    }
    return heard;
  }

  static bool StartTransaction(mongoc_client_session_t* session, const bson::Value& read_concern,
                               bson_error_t* error) {
    mongoc_transaction_opt_t* options = mongoc_transaction_opts_new();
    bson::Value level =
        read_concern.is_document() ? read_concern.AsDocument()["level"] : bson::Value();
    if (level.is_string()) {
      mongoc_read_concern_t* concern = mongoc_read_concern_new();
      mongoc_read_concern_set_level(concern, std::string(level.AsString()).c_str());
      mongoc_transaction_opts_set_read_concern(options, concern);
      mongoc_read_concern_destroy(concern);
    }
    bool started = mongoc_client_session_start_transaction(session, options, error);
    mongoc_transaction_opts_destroy(options);
    return started;
  }

  static bool SendPlain(Lane* lane, const request::Request& request, bool drop_read_concern,
                        bson_t* reply, bson_error_t* error) {
    const Kind kind = KindOf(request);
    const ReadPrefs given = ReadPrefsOf(request.body);
    const mongoc_read_prefs_t* prefs = given.get();
    if (kind == Kind::kRead && !request.body.Has("$readPreference")) {
      prefs = mongoc_uri_get_read_prefs_t(mongoc_client_get_uri(lane->client));
    }
    if (lane->server == 0) {
      mongoc_server_description_t* server =
          mongoc_client_select_server(lane->client, prefs == nullptr, prefs, error);
      if (server == nullptr) {
        return false;
      }
      lane->server = mongoc_server_description_id(server);
      mongoc_server_description_destroy(server);
    }
    if (IsBulkInsert(request)) {
      return SendBulkInsert(lane, request, reply, error);
    }
    Bson options;
    BSON_APPEND_INT32(&options.value, "serverId", static_cast<int32_t>(lane->server));
    if (!mongoc_client_session_append(lane->session, &options.value, error)) {
      return false;
    }
    bson::Document plain = PlainCommand(request, drop_read_concern);
    Bson command;
    AppendBytes(&command.value, plain.bytes());
    bson_destroy(reply);
    const std::string database(request.database);
    Call(*lane, kind, database.c_str(), command.value, prefs, &options.value, reply, error);
    if (RoleChanged(*reply)) {
      lane->server = 0;
    }
    return bson_has_field(reply, "ok");
  }

  // What says nothing of its concern gets the address's.
  static void Call(const Lane& lane, Kind kind, const char* database, const bson_t& command,
                   const mongoc_read_prefs_t* prefs, bson_t* options, bson_t* reply,
                   bson_error_t* error) {
    if (kind == Kind::kRead && !bson_has_field(&command, "readConcern")) {
      (void)mongoc_client_read_command_with_opts(lane.client, database, &command, prefs, options,
                                                 reply, error);
      return;
    }
    if (kind == Kind::kWrite && !bson_has_field(&command, "writeConcern")) {
      const std::unique_ptr<mongoc_write_concern_t, decltype(&mongoc_write_concern_destroy)>
          concern(mongoc_write_concern_copy(mongoc_client_get_write_concern(lane.client)),
                  &mongoc_write_concern_destroy);
      if (!mongoc_write_concern_is_default(concern.get())) {
        (void)mongoc_write_concern_append(concern.get(), options);
      }
    }
    (void)mongoc_client_command_with_opts(lane.client, database, &command, prefs, options, reply,
                                          error);
  }

  static bool SendBulkInsert(Lane* lane, const request::Request& request, bson_t* reply,
                             bson_error_t* error) {
    bson::Builder said;
    for (const bson::Element& field : request.body) {
      if (field.name() == "ordered" || field.name() == "writeConcern" ||
          field.name() == "comment") {
        said.Append(field);
      }
    }
    Bson options;
    AppendBytes(&options.value, said.Finish().bytes());
    const bson::Value concern = request.body["writeConcern"];
    const bson::Value w = concern.is_document() ? concern.AsDocument()["w"] : bson::Value();
    const bool acknowledged = !w.is_number() || request::CountIn(w) != 0;  // others have no session
    if (acknowledged && !mongoc_client_session_append(lane->session, &options.value, error)) {
      return false;
    }
    const std::unique_ptr<mongoc_collection_t, decltype(&mongoc_collection_destroy)> collection(
        mongoc_client_get_collection(lane->client, std::string(request.database).c_str(),
                                     std::string(request.body.front().value().AsString()).c_str()),
        &mongoc_collection_destroy);
    const std::unique_ptr<mongoc_bulk_operation_t, decltype(&mongoc_bulk_operation_destroy)> bulk(
        mongoc_collection_create_bulk_operation_with_opts(collection.get(), &options.value),
        &mongoc_bulk_operation_destroy);
    mongoc_bulk_operation_set_hint(bulk.get(), lane->server);
    Bson unchecked;
    BSON_APPEND_BOOL(&unchecked.value, "validate", false);
    for (bson::View document : request.sequences[0].documents) {
      bson_t fields;
      const std::string_view bytes = document.bytes();
      if (!bson_init_static(&fields, reinterpret_cast<const uint8_t*>(bytes.data()),
                            bytes.size()) ||
          !mongoc_bulk_operation_insert_with_opts(bulk.get(), &fields, &unchecked.value, error)) {
        return false;
      }
    }
    Bson answer;
    bson_destroy(&answer.value);
    const bool all_well = mongoc_bulk_operation_execute(bulk.get(), &answer.value, error) != 0;
    return AsInsertReply(answer.value, all_well, *error, reply);
  }

  mongoc_client_pool_t* const pool_;
  Mutex mutex_;
  std::map<std::string, Lane> sessions_ QUIRE_GUARDED_BY(mutex_);  // by lsid
  std::map<int64_t, Lane> cursors_ QUIRE_GUARDED_BY(mutex_);  // by cursor id, those of no session
  std::map<int64_t, uint32_t> servers_ QUIRE_GUARDED_BY(mutex_);  // by cursor id, those of sessions
};

}  // namespace

Result<std::unique_ptr<request::Handler>> Connect(const std::string& uri) {
  static std::once_flag once;
  std::call_once(once, [] {
    mongoc_log_set_handler(nullptr, nullptr);  // a library prints nothing, mongoc_init included
    mongoc_init();
  });
  bson_error_t error{};
  std::unique_ptr<mongoc_uri_t, decltype(&mongoc_uri_destroy)> parsed(
      mongoc_uri_new_with_error(uri.c_str(), &error), &mongoc_uri_destroy);
  if (parsed == nullptr) {
    return Status(kFailedToParse, error.message);
  }
  if (!mongoc_uri_has_option(parsed.get(), MONGOC_URI_WAITQUEUETIMEOUTMS)) {
    mongoc_uri_set_option_as_int32(parsed.get(), MONGOC_URI_WAITQUEUETIMEOUTMS,
                                   kWaitForConnectionMs);
  }
  mongoc_client_pool_t* pool = mongoc_client_pool_new_with_error(parsed.get(), &error);
  if (pool == nullptr) {
    return Status(kFailedToParse, error.message);
  }
  mongoc_client_pool_set_error_api(pool, MONGOC_ERROR_API_VERSION_2);
  if (!mongoc_uri_has_option(parsed.get(), MONGOC_URI_MAXPOOLSIZE)) {
    mongoc_client_pool_max_size(pool, kMaxConnections);
  }
  return std::unique_ptr<request::Handler>(std::make_unique<Remote>(pool));
}

}  // namespace quire::remote
