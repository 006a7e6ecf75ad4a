// SPDX-License-Identifier: Apache-2.0
//
// What is read like a collection and lies in no table: system.views of each database, and the
// oplog.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/read/planned_query.h"
#include "exec/operator.h"

namespace quire::engine {

// A list of documents as an operator.
class ListRows : public exec::Operator {
 public:
  explicit ListRows(std::vector<bson::Document> documents) : documents_(std::move(documents)) {}
  Result<bool> Next(OpContext&, exec::Row* row) override {
    if (next_ == documents_.size()) {
      return false;
    }
    *row = exec::Row();
    row->document = documents_[next_++];
    return true;
  }

 private:
  std::vector<bson::Document> documents_;
  size_t next_ = 0;
};

// The views of a database, as system.views shows them.
std::vector<bson::Document> ViewDefinitions(const Operation& operation, std::string_view database);

// The uuid that system.views of the database is shown with: always the same.
store::Uuid SystemViewsUuid(std::string_view database);

// Makes an explained query read what is in no table: the oplog when that is its collection, else
// system.views of the database.
void ScanWithoutTable(const Operation& operation, const std::string& database,
                      plan::QuerySpec* spec);

}  // namespace quire::engine
