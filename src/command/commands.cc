// SPDX-License-Identifier: Apache-2.0
#include "base/mutex.h"
#include "command/auth/auditor.h"
#include "command/authorise.h"
#include "command/command.h"
#include "command/diagnostic.h"
#include "command/node_backend.h"

namespace quire::command {

namespace {

std::vector<const request::CommandInfo*> InfosOf(const std::vector<const Row*>& rows) {
  std::vector<const request::CommandInfo*> infos;
  for (const Row* row : rows) {
    infos.push_back(&row->info);
  }
  return infos;
}

}  // namespace

std::vector<const Row*> NodeRows() {
  std::vector<const Row*> all;
  for (std::span<const Row> family :
       {ReadRows(),           WriteRows(),        CreateRows(),      CollectionRows(),
        IndexRows(),          TransactionRows(),  StatisticsRows(),  ExplainRows(),
        PlanCacheRows(),      AggregateRows(),    HandshakeRows(),   ServerInfoRows(),
        ServerStatusRows(),   ParameterRows(),    ReplicaSetRows(),  OperationRows(),
        ControlRows(),        ProfileRows(),      TopRows(),         AuthenticationRows(),
        DefaultConcernRows(), UserRows(),         RoleRows(),        ClusterRows(),
        DataHashRows(),       StableApiRows(),    ValidateRows(),    MapReduceRows(),
        QuerySettingsRows(),  ApplyOpsRows(),     AutoCompactRows(), FailPointRows(),
        CertificateRows(),    MergeAccountsRows()}) {
    for (const Row& row : family) {
      all.push_back(&row);
    }
  }
  return all;
}

Commands::Commands(engine::Engine* engine, ServerInfo info)
    : Commands(engine, std::move(info), NodeRows(), std::make_unique<NodeBackend>(this)) {}

Commands::Commands(engine::Engine* engine, ServerInfo info, std::vector<const Row*> rows,
                   std::unique_ptr<NodeBackend> backend)
    : Dispatcher(InfosOf(rows), backend.get()),
      engine_(*engine),
      info_(std::move(info)),
      rows_(std::move(rows)),
      backend_(std::move(backend)),
      login_guard_(engine_, info_.access_control) {
  cluster_.Load(engine_);
  LoadQuerySettings(engine_);
  LoadDefaultConcerns(*this);
  engine_.host = info_.host;
  engine_.current_operations = [this](const engine::Operation& operation, bson::View spec) {
    const bson::Value all = spec["allUsers"];
    const bool everybody = all.type() == bson::Type::kBool && all.AsBool();
    return CurrentOperations(*this, spec, everybody ? nullptr : operation.caller);
  };
  if (info_.auditor != nullptr) {
    engine_.catalog().on_publish = [auditor = info_.auditor](const auto& before, const auto& after,
                                                             const auto& removed,
                                                             const auto& added) {
      auditor->CatalogChanged(before, after, removed, added);
    };
  }
  engine_.append_latencies = [this](std::string_view ns, bool histograms, bson::Builder* out) {
    run::AppendLatencies(top().LatenciesOf(ns), histograms, out);
  };
}

Commands::~Commands() = default;

void Commands::Disconnected(request::Client& client) {
  Dispatcher::Disconnected(client);
  if (info_.auditor != nullptr) {
    info_.auditor->Disconnected(client);
  }
}

std::string Commands::automation_descriptor() {
  MutexLock lock(mutex_);
  return automation_descriptor_;
}

void Commands::SetAutomationDescriptor(std::string text) {
  MutexLock lock(mutex_);
  automation_descriptor_ = std::move(text);
}

}  // namespace quire::command
