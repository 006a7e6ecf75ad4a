// SPDX-License-Identifier: Apache-2.0
#include "engine/session.h"

#include <thread>

#include "base/error_codes.h"
#include "base/try.h"
#include "run/labels.h"
#include "store/layout.h"
#include "store/log/change_meta.h"

namespace quire::engine {

namespace {

// In place of a statement's number: that the transaction of that number was committed.
constexpr int32_t kCommitRecord = -1;

bson::Date Now() {
  return bson::Date{std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count()};
}

std::string AnswerKey(std::string_view lsid, int32_t stmt) {
  std::string key = store::MetaKey('S', lsid);
  store::AppendTableId(static_cast<uint32_t>(stmt), &key);
  return key;
}

std::string_view LsidOf(std::string_view answer_key) {
  answer_key.remove_prefix(store::MetaKey('S', "").size());
  answer_key.remove_suffix(sizeof(uint32_t));
  return answer_key;
}

// Writes a record; in a replica set the other members learn of it.
Status PutRecord(store::Transaction& txn, store::ChangeLog& log, const std::string& key,
                 std::string_view value) {
  if (!log.in_set()) {
    return txn.kv().Put(key, value);
  }
  store::ChangeBuffer& changes = txn.changes(log);
  changes.Session(key, value);
  return store::PutMeta(txn.kv(), key, value, &changes);
}

Status NoSuchTransaction(int64_t number, std::string_view why) {
  return run::WithLabel(
      {kNoSuchTransaction, "Given transaction number " + std::to_string(number) +
                               " does not match any in-progress transactions. " + std::string(why)},
      "TransientTransactionError");
}

}  // namespace

Status Session::EnterTransaction(const request::Call& call, const store::Catalog& catalog,
                                 std::chrono::seconds lifetime) {
  const request::Generic& generic = call.generic;
  const int64_t number = *generic.txn_number;
  RETURN_IF_ERROR(Load());
  if (number < txn_number_) {
    return {kTransactionTooOld, "Cannot start transaction " + std::to_string(number) +
                                    " on session because a newer transaction " +
                                    std::to_string(txn_number_) + " has already started"};
  }
  if (generic.start_transaction) {
    if (call.command.Is(request::kEndsTransaction)) {
      return {kOperationNotSupportedInTransaction,
              "Cannot run '" + std::string(call.command.name) + "' as the first operation"};
    }
    if (number == txn_number_ && state_ != State::kNone) {
      if (state_ == State::kInProgress) {
        AbortQuietly();
      }
      return {kConflictingOperationInProgress,
              "Only a transaction that was started can be continued: number " +
                  std::to_string(number) + " was used before"};
    }
    return StartTransaction(number, catalog, lifetime);
  }
  if (number > txn_number_ || state_ == State::kNone) {
    return NoSuchTransaction(number, "No transaction of that number was started.");
  }
  if (expired()) {
    AbortQuietly();
  }
  if (state_ == State::kCommitted && !call.command.Is(request::kCommits)) {
    return {kTransactionCommitted,
            "Transaction " + std::to_string(number) + " has been committed."};
  }
  if (state_ == State::kAborted) {
    return NoSuchTransaction(number, "It has been aborted.");
  }
  return Status::Ok();
}

Status Session::StartTransaction(int64_t number, const store::Catalog& catalog,
                                 std::chrono::seconds lifetime) {
  AbortQuietly();
  answers_.clear();
  txn_number_ = number;
  state_ = State::kAborted;  // until everything is there
  // The catalog first: what it shows is in the snapshot taken after it.
  catalog_ = catalog.snapshot();
  ASSIGN_OR_RETURN(txn_, store::Transaction::Begin(*store_, false));
  deadline_ = std::chrono::steady_clock::now() + lifetime;
  state_ = State::kInProgress;
  return Status::Ok();
}

Status Session::Commit(kv::Durability durability) {
  if (state_ == State::kCommitted) {
    return Status::Ok();
  }
  (*transaction_ends_)(lsid, txn_number_);
  if (txn_->wrote()) {
    bson::Builder stored;
    stored.Append("t", txn_number_).Append("c", true).Append("d", Now());
    const bson::Document record = stored.Finish();
    RETURN_IF_ERROR(PutRecord(*txn_, *log_, AnswerKey(lsid, kCommitRecord), record.bytes()));
  }
  txn_->SetTransaction(lsid, txn_number_);
  Status committed = txn_->Commit(durability);
  Release();
  state_ = committed.ok() ? State::kCommitted : State::kAborted;
  return committed.ok() ? committed : run::WithLabel(committed, "TransientTransactionError");
}

Status Session::Abort() {
  if (state_ == State::kCommitted) {
    return {kTransactionCommitted,
            "Transaction " + std::to_string(txn_number_) + " has been committed."};
  }
  AbortQuietly();
  return Status::Ok();
}

void Session::AbortQuietly() {
  if (state_ == State::kInProgress) {
    (*transaction_ends_)(lsid, txn_number_);
    Release();
    state_ = State::kAborted;
  }
}

void Session::Release() {
  txn_.reset();
  created_.clear();
  catalog_.reset();
}

store::PendingCollection* Session::Created(std::string_view ns) const {
  for (const auto& pending : created_) {
    if (pending->ns() == ns) {
      return pending.get();
    }
  }
  return nullptr;
}

Status Session::EnterRetryable(int64_t number) {
  RETURN_IF_ERROR(Load());
  if (number < txn_number_) {
    return {kTransactionTooOld, "Retryable write with txnNumber " + std::to_string(number) +
                                    " is prohibited on session because a newer retryable write "
                                    "with txnNumber " +
                                    std::to_string(txn_number_) +
                                    " has already started on this session."};
  }
  if (number == txn_number_) {
    if (state_ != State::kNone) {
      return {kIncompleteTransactionHistory,
              "The txnNumber " + std::to_string(number) + " belongs to a transaction"};
    }
    return Status::Ok();
  }
  AbortQuietly();
  answers_.clear();
  txn_number_ = number;
  state_ = State::kNone;
  return Status::Ok();
}

Status Session::Load() {
  const uint64_t opening = log_->openings();
  if (loaded_ && opening == opening_) {
    return Status::Ok();
  }
  Forget();  // what was true when this member led before, or followed
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  std::string prefix = store::MetaKey('S', lsid);
  ASSIGN_OR_RETURN(auto cursor,
                   txn->Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
  while (true) {
    ASSIGN_OR_RETURN(bool more, cursor->Next());
    if (!more) {
      loaded_ = true;
      opening_ = opening;
      return Status::Ok();
    }
    if (LsidOf(cursor->key()) != lsid) {
      continue;  // another owner's session of the same id
    }
    bson::View stored(cursor->value().data());
    int64_t number = stored["t"].AsInt64();
    if (number < txn_number_) {
      continue;
    }
    if (number > txn_number_) {
      answers_.clear();
      txn_number_ = number;
      state_ = State::kNone;
    }
    if (stored.Has("c")) {
      state_ = State::kCommitted;
      continue;
    }
    auto first = static_cast<int32_t>(store::ReadTableId(cursor->key().substr(prefix.size())));
    answers_[first] = {stored["l"].AsInt32(), bson::Document(stored["a"].AsDocument())};
  }
}

const bson::Document* Session::Remembered(int32_t stmt) const {
  auto it = answers_.upper_bound(stmt);
  if (it == answers_.begin()) {
    return nullptr;
  }
  --it;
  return stmt <= it->second.last ? &it->second.document : nullptr;
}

Status Session::Remember(store::Transaction& txn, std::string_view ns, int32_t first, int32_t last,
                         bson::Document answer) {
  bson::Builder stored;
  stored.Append("t", txn_number_).Append("l", last).Append("a", answer);
  stored.Append("d", Now()).Append("n", ns);
  const bson::Document record = stored.Finish();
  RETURN_IF_ERROR(PutRecord(txn, *log_, AnswerKey(lsid, first), record.bytes()));
  txn.OnCommit([this, first, last, answer = std::move(answer), number = txn_number_] {
    if (number == txn_number_) {
      answers_[first] = {last, answer};
    }
  });
  return Status::Ok();
}

Status Session::Import(int32_t first, bson::View record) {
  RETURN_IF_ERROR(Load());
  const int64_t number = record["t"].AsInt64();
  const bool same = number == txn_number_ && state_ == State::kNone;
  if (number <= txn_number_ && (!same || Remembered(first) != nullptr)) {
    return Status::Ok();
  }
  ASSIGN_OR_RETURN(auto txn, store::Transaction::Begin(*store_, false));
  RETURN_IF_ERROR(PutRecord(*txn, *log_, AnswerKey(lsid, first), record.bytes()));
  txn->MarkWrote();
  RETURN_IF_ERROR(txn->Commit(kv::Durability::kProcess));
  if (!same) {  // the client has gone on elsewhere
    AbortQuietly();
    answers_.clear();
    txn_number_ = number;
    state_ = State::kNone;
  }
  answers_[first] = {record["l"].AsInt32(), bson::Document(record["a"].AsDocument())};
  return Status::Ok();
}

void Session::Forget() {
  AbortQuietly();
  answers_.clear();
  txn_number_ = -1;
  state_ = State::kNone;
  loaded_ = false;
}

std::shared_ptr<run::Session> SessionTable::Make(std::string lsid) {
  return std::make_shared<Session>(std::move(lsid), store_, log_, &transaction_ends_);
}

void SessionTable::ForgetAll() {
  for (const auto& session : All()) {
    run::Checkout checkout = run::Checkout::Wait(session.get());
    static_cast<Session&>(*session).Forget();
  }
}

Status SessionTable::ReadAnswers(std::string_view ns,
                                 const std::function<Status(bson::Document)>& take) {
  ASSIGN_OR_RETURN(auto txn, store_->Begin({.read_only = true}));
  const std::string prefix = store::MetaKey('S', "");
  ASSIGN_OR_RETURN(auto records,
                   txn->Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, records->Next());
    if (!more) {
      return Status::Ok();
    }
    const bson::View stored(records->value().data());
    const bson::Value of = stored["n"];
    if (stored.Has("c") || (of.is_string() && of.AsString() != ns)) {
      continue;
    }
    const std::string_view lsid = LsidOf(records->key());
    const std::string_view statement = records->key().substr(prefix.size() + lsid.size());
    bson::Builder answer;
    answer.Append("session", bson::Value::Binary(lsid, 0))
        .Append("first", static_cast<int32_t>(store::ReadTableId(statement)))
        .Append("record", stored);
    RETURN_IF_ERROR(take(answer.Finish()));
  }
}

Status SessionTable::Import(bson::View answer) {
  const bson::Value lsid = answer["session"];
  const bson::Value first = answer["first"];
  const bson::Value record = answer["record"];
  if (lsid.type() != bson::Type::kBinary || lsid.AsBinary().size() < request::kSessionIdSize ||
      first.type() != bson::Type::kInt32 || !record.is_document()) {
    return {kFailedToParse, "malformed answer of a retryable write"};
  }
  const bson::View fields = record.AsDocument();
  if (fields["t"].type() != bson::Type::kInt64 || fields["l"].type() != bson::Type::kInt32 ||
      !fields["a"].is_document() || fields["d"].type() != bson::Type::kDate) {
    return {kFailedToParse, "malformed answer of a retryable write"};
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<run::Session> shared, Get(lsid.AsBinary()));
  constexpr std::chrono::seconds kTimeout{5};
  constexpr std::chrono::milliseconds kLookEvery{5};
  const auto until = std::chrono::steady_clock::now() + kTimeout;
  run::Checkout checkout = run::Checkout::Try(shared.get());
  while (!checkout) {
    if (std::chrono::steady_clock::now() >= until) {
      return {kLockBusy, "a session that has written stays in use"};
    }
    std::this_thread::sleep_for(kLookEvery);
    checkout = run::Checkout::Try(shared.get());
  }
  return static_cast<Session&>(*shared).Import(first.AsInt32(), fields);
}

Status SessionTable::ForgetAnswers(std::chrono::minutes timeout) {
  int64_t oldest =
      Now().millis - std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count();
  ASSIGN_OR_RETURN(auto txn, store_->Begin({}));
  store::ChangeBuffer changes = log_->NewBuffer();
  std::string prefix = store::MetaKey('S', "");
  ASSIGN_OR_RETURN(auto records,
                   txn->Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward));
  std::vector<std::string> old;
  while (true) {
    ASSIGN_OR_RETURN(bool more, records->Next());
    if (!more) {
      break;
    }
    bson::View stored(records->value().data());
    if (stored["d"].AsDate().millis < oldest && Find(LsidOf(records->key())) == nullptr) {
      old.emplace_back(records->key());
    }
  }
  for (const std::string& key : old) {
    if (log_->in_set()) {
      changes.Session(key, "");
    }
    RETURN_IF_ERROR(store::DeleteMeta(*txn, key, &changes));
  }
  return old.empty() ? Status::Ok() : log_->Commit(*txn, changes, kv::Durability::kProcess);
}

}  // namespace quire::engine
