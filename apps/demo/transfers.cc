// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/transfers.h"

#include "base/try.h"
#include "demo/demos.h"
#include "quire/doc.h"

namespace quire::apps {
namespace {

using patterns::Backend;
using patterns::Transfers;

constexpr int64_t kBalance = 10'000;

std::vector<Step> Steps(const DesignRun& run, const Transfers& bank) {
  return {
      {"transfer", 70,
       [&](Worker& w) {
         const std::string from = Numbered("a", w.chance.Below(run.size()));
         const std::string to = Numbered("a", w.chance.Below(run.size()));
         return bank.Transfer(1 + w.chance.Below(kBalance / 2), from, to).status();
       }},
      {"balance", 30,
       [&](Worker& w) {
         return bank.GetBalance(Numbered("a", w.chance.Below(run.size()))).status();
       }},
  };
}

Status RunBackend(DesignRun* run, Backend backend) {
  Transfers bank(run->client(), run->database(), {.backend = backend});
  RETURN_IF_ERROR(bank.CreateIndexes());
  RETURN_IF_ERROR(run->Load("accounts", run->size(), [&](int64_t i) {
    return bank.OpenAccount(Numbered("a", i), kBalance);
  }));
  RETURN_IF_ERROR(run->Work(Steps(*run, bank)));
  RETURN_IF_ERROR(bank.Cleanup().status());
  RETURN_IF_ERROR(run->Explain("open transfers", "transactions",
                               Doc("state", "new", "ts", Doc("$lt", bson::Date{0}))));
  ASSIGN_OR_RETURN(int64_t money, run->Sum("accounts", "$balance"));
  run->Check("no money was made or lost", money == kBalance * run->size(),
             std::to_string(money) + " instead of " + std::to_string(kBalance * run->size()));
  const bson::Document below_zero = Doc("balance", Doc("$lt", 0));
  Database database = run->client().GetDatabase(run->database());
  ASSIGN_OR_RETURN(int64_t overdrawn, database.GetCollection("accounts").Count(below_zero));
  run->Check("no account is overdrawn", overdrawn == 0, std::to_string(overdrawn) + " are");
  return run->CheckInvariants(bank);
}

}  // namespace

Status DemoTransfers(DemoRun* run) {
  RETURN_IF_ERROR(run->Design("compensating", [](DesignRun* design) {
    return RunBackend(design, Backend::kCompensating);
  }));
  return run->Design("transactional",
                     [](DesignRun* design) { return RunBackend(design, Backend::kTransactional); });
}

}  // namespace quire::apps
