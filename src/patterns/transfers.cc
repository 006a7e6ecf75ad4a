// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/transfers.h"

#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/walk.h"
#include "quire/patterns/lease.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kAccounts[] = "accounts";
constexpr char kTransactions[] = "transactions";
constexpr char kTransfer[] = "transfers.transfer";
constexpr char kTransact[] = "transfers.transact";

std::vector<Participant> PlanTransfer(bson::View record) {
  const int64_t amount = IntegerAt(record, "amt");
  const Document debit = Doc("$inc", Doc("balance", -amount));
  const Document credit = Doc("$inc", Doc("balance", amount));
  Participant source{kAccounts,
                     bson::OwnedValue(record["src"]),
                     Doc("balance", Doc("$gte", amount)),
                     debit,
                     Doc(),
                     credit,
                     Error::kUnknownAccount,
                     Error::kInsufficientFunds};
  Participant destination{kAccounts,
                          bson::OwnedValue(record["dst"]),
                          Doc(),
                          Doc(),
                          credit,
                          Doc(),
                          Error::kUnknownAccount,
                          Error::kContention};
  return {std::move(source), std::move(destination)};
}

TransferRecord RecordOf(const Document& document) {
  return {bson::OwnedValue(document["_id"]),    std::string(TextAt(document, "state")),
          IntegerAt(document, "amt"),           std::string(TextAt(document, "src")),
          std::string(TextAt(document, "dst")), std::string(TextAt(document, "error"))};
}

// What an ended record tells the caller that repeats it.
Result<Document> OutcomeOf(Document record, const Document& fields) {
  for (const char* field : {"amt", "src", "dst"}) {
    if (!record[field].BinaryEquals(fields[field])) {
      return MakeError(Error::kIdempotencyKeyReuse, "the key belongs to another transfer");
    }
  }
  if (std::string_view error = TextAt(record, "error"); !error.empty()) {
    return MakeError(ErrorOfName(error), "rolled back");
  }
  return record;
}

}  // namespace

Transfers::Transfers(const Client& client, std::string_view database, TransfersOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams),
      saga_(store_, {kTransfer, kTransactions, PlanTransfer}),
      calls_(store_, "transfers") {}

const std::vector<IndexSpec>& Transfers::Indexes() {
  static const std::vector<IndexSpec> kIndexes = {{kTransactions, R"({"state": 1, "ts": 1})"},
                                                  Idempotency::Index()};
  return kIndexes;
}

const std::vector<ShardKeySpec>& Transfers::ShardKeys() {
  static const std::vector<ShardKeySpec> kKeys = {{kAccounts, R"({"_id": "hashed"})"},
                                                  {kTransactions, R"({"_id": "hashed"})"},
                                                  Idempotency::ShardKey()};
  return kKeys;
}

Status Transfers::OpenAccount(std::string_view id, int64_t balance, const CallKey& key) const {
  if (balance < 0) {
    return MakeError(Error::kInvalidAmount, "a balance is not negative");
  }
  const Document account = Doc("_id", id, "balance", balance, "txns", List(), "voided", List());
  return calls_.DoOnce("transfers.open_account", key, Doc("id", id, "balance", balance),
                       [&](const Claim& claim) -> Status {
                         RETURN_IF_ERROR(InsertOnce(store_, kAccounts, account, claim));
                         return store_.seams().After("transfers.open_account.c1");
                       });
}

Result<TransferRecord> Transfers::Transfer(int64_t amount, std::string_view source,
                                           std::string_view destination,
                                           const std::optional<std::string>& key) const {
  if (amount <= 0) {
    return MakeError(Error::kInvalidAmount, "an amount is positive");
  }
  if (source == destination) {
    return MakeError(Error::kSameAccount, source);
  }
  const bson::ObjectId made = store_.seams().ids->Next();
  const bson::Value id = key ? bson::Value(std::string_view(*key)) : bson::Value(made);
  const Document fields = Doc("_id", id, "amt", amount, "src", source, "dst", destination);
  ASSIGN_OR_RETURN(Document record, options_.backend == Backend::kCompensating
                                        ? saga_.Run(fields)
                                        : RunTransaction(fields));
  return RecordOf(record);
}

// A refused transfer is recorded too, so that repeating its key finds the same refusal.
Result<Document> Transfers::RunTransaction(const Document& fields) const {
  Document by_id = Doc("_id", fields["_id"]);
  ASSIGN_OR_RETURN(auto before, store_.FindOne(kTransactions, by_id));
  if (before) {
    return OutcomeOf(*std::move(before), fields);
  }
  Status refusal;
  Status status = store_.Transact([&](const Store& inside) {
    refusal = Status::Ok();
    return Move(inside, fields, &refusal);
  });
  if (!IsDuplicateKey(status)) {
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(store_.seams().After(kTransact, 4));
    RETURN_IF_ERROR(refusal);
  }
  ASSIGN_OR_RETURN(auto after, store_.FindOne(kTransactions, by_id));
  if (!after) {
    return MakeError(Error::kTransactionExpired, "its record was purged");
  }
  return OutcomeOf(*std::move(after), fields);
}

Status Transfers::Move(const Store& inside, const Document& fields, Status* refusal) const {
  const std::vector<Participant> parts = PlanTransfer(fields);
  for (const Participant& part : parts) {
    ASSIGN_OR_RETURN(auto account, inside.FindOne(kAccounts, Doc("_id", part.id)));
    const bool source = &part == parts.data();
    if (!account) {
      *refusal = MakeError(part.absent, bson::ToJson(part.id.value()));
    } else if (source && IntegerAt(*account, "balance") < IntegerAt(fields, "amt")) {
      *refusal = MakeError(part.refused, bson::ToJson(part.id.value()));
    }
    if (!refusal->ok()) {
      break;
    }
  }
  int step = 0;
  for (size_t i = 0; refusal->ok() && i < parts.size(); ++i) {
    const Document& update = i == 0 ? parts[i].prepare : parts[i].retire;
    bson::Builder filter;
    filter.Append("_id", parts[i].id.value()).AppendFields(parts[i].guard);
    ASSIGN_OR_RETURN(int64_t matched, inside.UpdateOne(kAccounts, filter.Finish(), update));
    if (matched == 0) {
      return MakeError(Error::kContention, "the account changed");
    }
    RETURN_IF_ERROR(inside.seams().After(kTransact, ++step));
  }
  bson::Builder record;
  record.AppendFields(fields).Append("state", refusal->ok() ? "done" : "rolled_back");
  record.Append("ts", inside.Now()).Append("ended", inside.Now());
  if (!refusal->ok()) {
    record.Append("error", ErrorName(*refusal));
  }
  RETURN_IF_ERROR(inside.Insert(kTransactions, record.Finish()));
  return inside.seams().After(kTransact, 3);
}

Result<TransferRecord> Transfers::GetStatus(const bson::Value& id) const {
  ASSIGN_OR_RETURN(auto record, store_.FindOne(kTransactions, Doc("_id", id)));
  if (!record) {
    return MakeError(Error::kNotFound, bson::ToJson(id));
  }
  return RecordOf(*record);
}

Result<Balance> Transfers::GetBalance(std::string_view id) const {
  ASSIGN_OR_RETURN(auto account, store_.FindOne(kAccounts, Doc("_id", id)));
  if (!account) {
    return MakeError(Error::kUnknownAccount, id);
  }
  Balance result{IntegerAt(*account, "balance"), 0};
  bson::Value pending = (*account)["txns"];
  if (!pending.is_array() || pending.AsArray().empty()) {
    return result;
  }
  ASSIGN_OR_RETURN(auto records,
                   store_.Find(kTransactions, Doc("_id", Doc("$in", pending), "src", id, "state",
                                                  Doc("$in", List("new", "rollback")))));
  for (const Document& record : records) {
    result.pending_out += IntegerAt(record, "amt");
  }
  return result;
}

Result<JobReport> Transfers::Cleanup() const {
  return RunLeased(Lease(store_, "transfers.cleanup", options_.worker, options_.lease),
                   [&] { return saga_.Cleanup(options_.max_time); });
}

Result<JobReport> Transfers::Purge() const {
  ASSIGN_OR_RETURN(JobReport report,
                   RepeatLeased(Lease(store_, "transfers.purge", options_.worker, options_.lease),
                                [&](JobReport* sum) -> Result<bool> {
                                  ASSIGN_OR_RETURN(JobReport some,
                                                   saga_.Purge(options_.tombstone_retention));
                                  *sum += some;
                                  return some.changed > 0;
                                }));
  ASSIGN_OR_RETURN(JobReport keys,
                   calls_.Purge({options_.tombstone_retention, options_.worker, options_.lease}));
  return report += keys;
}

Result<std::vector<std::string>> Transfers::CheckInvariants() const {
  std::vector<std::string> wrong;
  auto check = [&](const Document& account) {
    const std::string id(TextAt(account, "_id"));
    if (IntegerAt(account, "balance") < 0) {
      wrong.push_back("below 0: " + id);
    }
    if (account["txns"].AsArray().Count() > 0) {
      wrong.push_back("takes part in a transfer: " + id);
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(Walk(store_, kAccounts, check));
  for (const char* state : {"new", "commit", "rollback"}) {
    ASSIGN_OR_RETURN(auto open, store_.Find(kTransactions, Doc("state", state)));
    for (const Document& transfer : open) {
      wrong.push_back("has not ended: " + bson::ToJson(transfer["_id"]));
    }
  }
  return wrong;
}

}  // namespace quire::patterns
