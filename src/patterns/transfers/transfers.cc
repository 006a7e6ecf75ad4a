// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/transfers.h"

#include <map>
#include <utility>

#include "base/try.h"
#include "patterns/doc.h"
#include "patterns/walk.h"

namespace quire::patterns {

namespace {

using bson::Document;

constexpr char kSystem[] = "transfers";
constexpr char kAccounts[] = "accounts";
constexpr char kTransactions[] = "transactions";
constexpr char kCommitted[] = "commit";
constexpr const char* kOnTheirWay[] = {"new", kCommitted, "rollback"};  // states

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

}  // namespace

Transfers::Transfers(const Client& client, std::string_view database, TransfersOptions options)
    : options_(std::move(options)),
      store_(client, database, options_.seams, options_.concerns),
      saga_(store_, {.system = kSystem,
                     .name = "transfers.transfer",
                     .records = kTransactions,
                     .plan = PlanTransfer,
                     .max_time = options_.max_time,
                     .tombstone_retention = options_.tombstone_retention,
                     .worker = options_.worker,
                     .lease = options_.lease}),
      calls_(store_, kSystem) {}

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
  if (key && key->empty()) {
    return MakeError(Error::kInvalidName, "an idempotency key is not empty");
  }
  const bson::ObjectId made = store_.seams().ids->Next();
  const bson::Value id = key ? bson::Value(std::string_view(*key)) : bson::Value(made);
  const Document fields = Doc("_id", id, "amt", amount, "src", source, "dst", destination);
  ASSIGN_OR_RETURN(Document record, options_.backend == Backend::kCompensating
                                        ? saga_.Run(fields)
                                        : saga_.RunInTransaction(fields));
  return RecordOf(record);
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

Result<int64_t> Transfers::GetTotal() const {
  int64_t total = 0;
  auto add_up = [&](const Store& inside) -> Status {
    total = 0;
    std::map<std::string_view, const Document*> by_id;
    ASSIGN_OR_RETURN(auto accounts, inside.Find(kAccounts, Doc()));
    for (const Document& account : accounts) {
      total += IntegerAt(account, "balance");
      by_id[TextAt(account, "_id")] = &account;
    }
    for (const char* state : kOnTheirWay) {
      const char* holder = state == kCommitted ? "dst" : "src";
      ASSIGN_OR_RETURN(auto records, inside.Find(kTransactions, Doc("state", state)));
      for (const Document& record : records) {
        auto account = by_id.find(TextAt(record, holder));
        if (account != by_id.end() && Holds((*account->second)["txns"], record["_id"])) {
          total += IntegerAt(record, "amt");
        }
      }
    }
    return Status::Ok();
  };
  RETURN_IF_ERROR(store_.Transact(add_up));
  return total;
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
  for (const char* state : kOnTheirWay) {
    ASSIGN_OR_RETURN(auto open, store_.Find(kTransactions, Doc("state", state)));
    for (const Document& transfer : open) {
      wrong.push_back("has not ended: " + bson::ToJson(transfer["_id"]));
    }
  }
  return wrong;
}

}  // namespace quire::patterns
