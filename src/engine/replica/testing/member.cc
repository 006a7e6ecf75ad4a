// SPDX-License-Identifier: Apache-2.0
#include "engine/replica/testing/member.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/error_codes.h"
#include "base/try.h"
#include "bson/testing/json.h"
#include "engine/schema/schema.h"
#include "engine/schema/validate.h"
#include "engine/write/write.h"
#include "kv/open.h"
#include "store/collection.h"
#include "store/pending_collection.h"
#include "store/records/record_cursor.h"

namespace quire::engine::testing {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCollections[] = {"db.a", "db.b", "db.capped", "other.c"};

std::string NewFolder(const std::string& name) {
  std::string folder =
      (fs::temp_directory_path() / ("quire_member_" + std::to_string(getpid()) + "_" + name))
          .string();
  fs::remove_all(folder);
  return folder;
}

uint64_t Below(std::mt19937_64& random, uint64_t end) { return random() % end; }

// Errors that a random change may well meet.
bool MayHappen(const Status& status) {
  switch (status.code()) {
    case 0:
    case kDuplicateKey:
    case kNamespaceNotFound:
    case kNamespaceExists:
    case kIndexNotFound:
    case kIndexKeySpecsConflict:
    case kIndexOptionsConflict:
    case kInvalidOptions:
    case kIllegalOperation:
    case kCommandNotSupportedOnView:
    case kWriteConflict:
    case kCannotCreateIndex:
      return true;
    default:
      return false;
  }
}

void Expect(const Status& status) { EXPECT_TRUE(MayHappen(status)) << status.ToString(); }

}  // namespace

Member::Member(std::string name, kv::FaultPlan* faults)
    : folder_(NewFolder(name)), faults_(faults) {
  Open(true);
}

Member::Member(Member& source, std::string name) : folder_(NewFolder(name)) {
  auto end = source.data().Checkpoint(folder_);
  EXPECT_TRUE(end.ok()) << end.status().ToString();
  Open(true);
}

Member::~Member() {
  Close();
  fs::remove_all(folder_);
}

void Member::Open(bool start) {
  auto store =
      kv::Open("rocks:" + folder_, {.cache_bytes = 32 << 20, .sections = store::KeySections()});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  if (faults_ != nullptr) {
    store = kv::NewFaultStore(std::move(*store), *faults_);
  }
  auto engine = Engine::Open(std::move(*store), {});
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  engine_ = std::move(*engine);
  data_ = MakeReplicaData(engine_.get(), folder_ + "/rollback");
  if (start) {
    auto started = data_->Start();
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    start_ = std::move(*started);
  }
}

void Member::Close() {
  data_.reset();
  engine_.reset();
}

void Member::Reopen(bool start) {
  Close();
  Open(start);
}

void Member::Follow(Member& leader, uint64_t upto, bool apply) {
  const uint64_t last = std::min(upto, leader.data().Visible());
  while (data_->LastSlot().time < last) {
    auto slots = leader.data().ReadSlots(data_->LastSlot(), last, 64 << 10);
    ASSERT_TRUE(slots.ok()) << slots.status().ToString();
    ASSERT_FALSE(slots->empty());
    const Status appended = data_->Append(*slots);
    ASSERT_TRUE(appended.ok()) << appended.ToString();
  }
  if (apply) {
    ApplyTo(last);
  }
}

void Member::ApplyTo(uint64_t upto) {
  while (data_->Applied() < upto) {
    auto applied = data_->Apply(upto);
    ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  }
}

Status Member::Insert(const std::string& ns, std::string_view json) {
  OpContext op;
  const bson::Document document = bson::TestDocument(json);
  request::InsertRequest insert;
  insert.documents.push_back(document);
  auto result = engine::Insert({*engine_, op}, ns, insert);
  if (!result.ok()) {
    return result.status();
  }
  return result->errors.empty() ? Status::Ok() : result->errors.front().status;
}

Status Member::Update(const std::string& ns, std::string_view filter, std::string_view change) {
  OpContext op;
  const bson::Document q = bson::TestDocument(filter);
  const bson::Document u = bson::TestDocument(change);
  request::UpdateRequest update;
  update.updates.emplace_back();
  update.updates.back().q = q;
  update.updates.back().u = bson::Value(u.view());
  request::OpSummary summary;
  auto result = engine::Update({*engine_, op}, ns, update, &summary);
  if (!result.ok()) {
    return result.status();
  }
  return result->errors.empty() ? Status::Ok() : result->errors.front().status;
}

Status Member::Delete(const std::string& ns, std::string_view filter) {
  OpContext op;
  const bson::Document q = bson::TestDocument(filter);
  request::DeleteRequest request;
  request.deletes.emplace_back();
  request.deletes.back().q = q;
  request.deletes.back().limit = 1;
  request::OpSummary summary;
  auto result = engine::Delete({*engine_, op}, ns, request, &summary);
  if (!result.ok()) {
    return result.status();
  }
  return result->errors.empty() ? Status::Ok() : result->errors.front().status;
}

std::string Member::Any(std::mt19937_64& random) {
  return std::to_string(Below(random, static_cast<uint64_t>(next_id_ + 1)));
}

void Member::Change(int count, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < count; ++i) {
    ChangeOnce(random);
  }
}

void Member::ChangeOnce(std::mt19937_64& random) {
  const std::string ns = kCollections[Below(random, std::size(kCollections))];
  const uint64_t what = Below(random, 100);
  const std::string number = std::to_string(Below(random, 20));
  if (what < 40) {
    const std::string id = std::to_string(++next_id_);
    Expect(Insert(
        ns, "{_id: " + id + ", x: " + number + ", list: [" + number + ", 'a'], u: " + id + "}"));
  } else if (what < 60) {
    Expect(Update(ns, "{_id: " + Any(random) + "}",
                  "{$set: {x: " + number + ", 'sub.y': 'z'}, $push: {list: " + number + "}}"));
  } else if (what < 65) {
    Expect(Update(ns, "{_id: " + Any(random) + "}", "{x: 'replaced', u: -" + number + "}"));
  } else if (what < 75) {
    Expect(Delete(ns, "{_id: " + Any(random) + "}"));
  } else if (what < 82) {
    RunRetryable(random);
  } else if (what < 88) {
    RunTransaction(random);
  } else {
    ChangeSchema(random);
  }
}

void Member::RunRetryable(std::mt19937_64& random) {
  const std::string lsid(16, static_cast<char>('a' + Below(random, 3)));
  auto shared = engine_->sessions().Get(lsid);
  ASSERT_TRUE(shared.ok());
  auto& session = static_cast<Session&>(**shared);
  run::Checkout checkout = run::Checkout::Wait(&session);
  Status entered = session.EnterRetryable(++txn_number_);
  ASSERT_TRUE(entered.ok()) << entered.ToString();
  OpContext op;
  Operation operation{*engine_, op};
  operation.session = &session;
  operation.retryable = true;
  request::InsertRequest insert;
  std::vector<bson::Document> documents;
  for (int i = 0; i < 3; ++i) {
    documents.push_back(bson::TestDocument("{_id: " + std::to_string(++next_id_) + ", r: 1}"));
  }
  for (const bson::Document& document : documents) {
    insert.documents.push_back(document);
  }
  Expect(engine::Insert(operation, kCollections[Below(random, 2)], insert).status());
}

// A collection and documents in one.
void Member::RunTransaction(std::mt19937_64& random) {
  const std::string name = "made" + std::to_string(Below(random, 5));
  auto run = [&]() -> Status {
    std::unique_ptr<store::PendingCollection> made;
    ASSIGN_OR_RETURN(auto txn, store::Transaction::Begin(engine_->store(), false));
    const bson::Document id_index = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
    ASSIGN_OR_RETURN(made, store::PendingCollection::Create(engine_->catalog(), *txn, "db", name,
                                                            bson::View(), id_index));
    const bson::Document spec = bson::TestDocument("{v: 2, key: {x: 1}, name: 'x_1'}");
    RETURN_IF_ERROR(made->AddIndexes(*txn, {{spec}}));
    for (int i = 0; i < 3; ++i) {
      const bson::Document document = bson::TestDocument("{_id: " + std::to_string(++next_id_) +
                                                         ", x: " + std::to_string(i) + "}");
      RETURN_IF_ERROR(store::Insert(*txn, *made->info(), document).status());
    }
    if (store::CollectionPtr other = engine_->catalog().Find("db.a")) {
      RETURN_IF_ERROR(txn->Hold(other->state));
      const bson::Document document =
          bson::TestDocument("{_id: " + std::to_string(++next_id_) + "}");
      RETURN_IF_ERROR(store::Insert(*txn, *other, document).status());
    }
    txn->SetTransaction(std::string(16, 't'), ++txn_number_);
    return txn->Commit(kv::Durability::kProcess);
  };
  Expect(run());
}

void Member::ChangeSchema(std::mt19937_64& random) {
  OpContext op;
  Operation operation{*engine_, op};
  const std::string ns = kCollections[Below(random, std::size(kCollections))];
  int64_t ignored = 0;
  bson::Builder reply;
  switch (Below(random, 11)) {
    case 0: {
      const bson::Document options = bson::TestDocument("{capped: true, size: 4096, max: 10}");
      Expect(CreateCollection(operation, "db.capped", options));
      return;
    }
    case 1: {
      const bson::Document view = bson::TestDocument(
          "{viewOn: 'a', pipeline: [{$match: {x: " + std::to_string(Below(random, 9)) + "}}]}");
      Expect(CreateCollection(operation, "db.view" + std::to_string(Below(random, 3)), view));
      return;
    }
    case 2:
      Expect(DropCollection(operation, "db.view" + std::to_string(Below(random, 3)), &ignored));
      return;
    case 3:
      Expect(DropCollection(operation, ns, &ignored));
      return;
    case 4:
      Expect(RenameCollection(operation, ns, "db.b", Below(random, 2) == 0));
      return;
    case 5: {
      const bson::Document spec = bson::TestDocument("{key: {list: 1}, name: 'list_1'}");
      const bson::Document other = bson::TestDocument("{key: {x: 1, u: -1}, name: 'x_u'}");
      Expect(CreateIndexes(operation, ns, {spec, other}).status());
      return;
    }
    case 6:
      Expect(DropIndexes(operation, ns, bson::Value("*")).status());
      return;
    case 7: {
      const bson::Document change = bson::TestDocument(
          "{collMod: 'x', validator: {x: {$ne: 'never'}}, validationLevel: 'moderate'}");
      Expect(CollMod(operation, ns, change, &reply));
      return;
    }
    case 8: {
      const bson::Document change =
          bson::TestDocument("{collMod: 'x', index: {name: 'x_u', hidden: true}}");
      Expect(CollMod(operation, ns, change, &reply));
      return;
    }
    case 9: {
      const bson::Document change =
          bson::TestDocument("{collMod: 'x', viewOn: 'b', pipeline: [{$match: {x: " +
                             std::to_string(Below(random, 9)) + "}}]}");
      Expect(CollMod(operation, "db.view" + std::to_string(Below(random, 3)), change, &reply));
      return;
    }
    default:
      if (Below(random, 4) == 0) {
        Expect(DropDatabase(operation, Below(random, 2) == 0 ? "db" : "other"));
      }
      return;
  }
}

std::string Member::Content() {
  std::ostringstream out;
  auto txn = *store::Transaction::Begin(engine_->store(), true);
  for (const store::CollectionPtr& info : engine_->catalog().snapshot()->All()) {
    if (info->database == "local") {
      continue;
    }
    out << info->ns() << " " << bson::ToJson(info->options) << "\n";
    if (info->is_view()) {
      continue;
    }
    out << bson::ToJson(bson::Value::Binary(
               {reinterpret_cast<const char*>(info->uuid.data()), info->uuid.size()}, 4))
        << " " << info->state->documents << " " << info->state->bytes << "\n";
    for (const auto& index : info->indexes) {
      out << "  " << bson::ToJson(index->spec) << "\n";
    }
    OpContext op;
    auto checked = ValidateCollection({*engine_, op}, info->ns());
    EXPECT_TRUE(checked.ok() && checked->valid())
        << info->ns() << " "
        << (checked.ok() ? checked->errors.front() : checked.status().ToString());
    std::vector<std::string> documents;
    auto cursor = *store::RecordCursor::Open(txn->kv(), *info->state, kv::Direction::kForward);
    while (*cursor->Next()) {
      documents.push_back(bson::ToJson(bson::View(cursor->document().data())));
    }
    EXPECT_EQ(info->state->documents, static_cast<int64_t>(documents.size())) << info->ns();
    if (!info->capped) {  // whose order is told, too
      std::sort(documents.begin(), documents.end());
    }
    for (const std::string& document : documents) {
      out << "    " << document << "\n";
    }
  }
  const std::string prefix = store::MetaKey('S', "");
  auto answers = *txn->kv().Scan({prefix, kv::PrefixEnd(prefix)}, kv::Direction::kForward);
  while (*answers->Next()) {
    out << "S " << answers->key().substr(5, 16) << " "
        << bson::ToJson(bson::View(answers->value().data())) << "\n";
  }
  return out.str();
}

}  // namespace quire::engine::testing
