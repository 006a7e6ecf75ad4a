// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "writer.h"

namespace quire::crash {
namespace {

struct IndexRow {
  const char* name;
  const char* specification;
};
constexpr IndexRow kIndexes[] = {
    {"a", R"({"key":{"a":1},"name":"a"})"},
    {"tags", R"({"key":{"tags":1},"name":"tags"})"},
    {"version_a", R"({"key":{"version":-1,"a":1},"name":"version_a"})"},
    {"unique", R"({"key":{"unique":1},"name":"unique","unique":true})"},
    {"writer_payload", R"({"key":{"writer":1,"payload":-1},"name":"writer_payload"})"},
};
constexpr int kCollections = 4;

std::string Side(uint64_t n) { return "side" + std::to_string(n % kCollections); }

}  // namespace

Outcome CatalogWriter::ChangeIndex(Connection& connection) {
  const IndexRow& row = kIndexes[random_() % std::size(kIndexes)];
  std::set<std::string> state = indexes_.known();
  std::string command;
  if (state.insert(row.name).second) {
    command = std::string(R"({"createIndexes":")") + kDocuments + R"(","indexes":[)" +
              row.specification + "]}";
  } else {
    state.erase(row.name);
    command = std::string(R"({"dropIndexes":")") + kDocuments + R"(","index":")" + row.name + "\"}";
  }
  indexes_.Sent(std::move(state));
  Outcome outcome = connection.Run(kDatabase, command);
  if (outcome == Outcome::kAcknowledged) {
    indexes_.Acknowledged();
  } else if (outcome == Outcome::kRefused) {
    indexes_.Refused();
    problems_.push_back("an index change was refused: " + connection.error());
  }
  return outcome;
}

Outcome CatalogWriter::ChangeCollection(Connection& connection) {
  const std::string name = Side(random_());
  const std::string other = Side(random_());
  auto state = collections_.known();
  const char* database = kDatabase;
  std::string command;
  if (!state.contains(name)) {
    state[name] = {};
    command = R"({"create":")" + name + "\"}";
  } else if (random_() % 3 == 0) {
    state.erase(name);
    command = R"({"drop":")" + name + "\"}";
  } else if (!state.contains(other)) {
    state[other] = state[name];
    state.erase(name);
    database = "admin";
    command = std::string(R"({"renameCollection":")") + kDatabase + "." + name + R"(","to":")" +
              kDatabase + "." + other + "\"}";
  } else {
    state[name].insert(++next_id_);
    command = R"({"insert":")" + name + R"(","documents":[{"_id":{"$numberLong":")" +
              std::to_string(next_id_) + R"("},"text":"some"}]})";
  }
  collections_.Sent(std::move(state));
  Outcome outcome = connection.Run(database, command);
  if (outcome == Outcome::kAcknowledged) {
    collections_.Acknowledged();
  } else if (outcome == Outcome::kRefused) {
    collections_.Refused();
    problems_.push_back(command + " was refused: " + connection.error());
  }
  return outcome;
}

void CatalogWriter::Run(const std::string& uri) {
  Connection connection(uri);
  Outcome outcome = Outcome::kAcknowledged;
  while (outcome != Outcome::kUnknown && problems_.empty()) {
    outcome = random_() % 3 == 0 ? ChangeIndex(connection) : ChangeCollection(connection);
    std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 8));
  }
}

}  // namespace quire::crash
