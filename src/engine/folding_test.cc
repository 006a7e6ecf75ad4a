// SPDX-License-Identifier: Apache-2.0
#include "engine/folding.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/error_codes.h"
#include "bson/testing/json.h"
#include "kv/open.h"
#include "kv/testing/fault_store.h"
#include "kv/testing/test_store.h"
#include "store/collection.h"
#include "store/records/conversion.h"
#include "store/records/record_cursor.h"
#include "store/records/record_keys.h"

namespace quire::engine {
namespace {

using store::RecordId;
using Documents = std::map<RecordId, std::string>;

constexpr int kDocuments = 700;

bson::Document DocumentOf(int i) {
  constexpr size_t kLarge = 20000;  // is in no group
  return bson::Builder()
      .Append("_id", i)
      .Append("text", std::string(i % 100 == 50 ? kLarge : static_cast<size_t>(i) % 300, 'x'))
      .Finish();
}

// What format 3 would have written: every document under a key of its own, no mark.
void FillAsFormat3(kv::Store& store) {
  auto catalog = *store::Catalog::Open(&store);
  bson::Document id = bson::TestDocument("{v: 2, key: {_id: 1}, name: '_id_'}");
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(catalog->Create("db", name, bson::View(), id, kv::Durability::kProcess).ok());
    store::CollectionPtr info = catalog->Find(std::string("db.") + name);
    auto txn = *store::Transaction::Begin(store, false, info->state);
    for (int i = 0; i < kDocuments; ++i) {
      bson::Document document = DocumentOf(i);
      ASSERT_TRUE(store::Insert(*txn, *info, document).ok());
    }
    ASSERT_TRUE(txn->Commit(kv::Durability::kProcess).ok());
  }
}

Documents ReadAll(kv::Store& store, store::Catalog& catalog, const char* ns) {
  Documents documents;
  auto txn = *store.Begin({.read_only = true});
  auto records =
      *store::RecordCursor::Open(*txn, *catalog.Find(ns)->state, kv::Direction::kForward);
  while (*records->Next()) {
    documents[records->id()] = records->document();
  }
  return documents;
}

int KeysOfTheirOwn(kv::Store& store, const store::CollectionInfo& info) {
  auto txn = *store.Begin({.read_only = true});
  auto own = *txn->Scan(store::RecordRange(info.table->id), kv::Direction::kForward);
  int keys = 0;
  while (*own->Next()) {
    ++keys;
  }
  return keys;
}

void ExpectConverted(kv::Store& store) {
  auto catalog = *store::Catalog::Open(&store);
  EXPECT_FALSE(*store::NeedsConversion(store));
  for (const char* ns : {"db.a", "db.b"}) {
    EXPECT_EQ(KeysOfTheirOwn(store, *catalog->Find(ns)), kDocuments / 100) << ns;
  }
}

TEST(FoldingTest, ANewStoreNeedsNoConversion) {
  auto store = kv::TestStore(store::KeySections());
  auto catalog = *store::Catalog::Open(store.get());
  EXPECT_FALSE(*store::NeedsConversion(*store));
  EXPECT_FALSE(*store::NeedsConversion(*store));
}

TEST(FoldingTest, AConversionGoesOnWhereverItFailed) {
  kv::FaultPlan plan;
  auto store = kv::NewFaultStore(kv::TestStore(store::KeySections()), plan);
  FillAsFormat3(*store);
  Documents before = ReadAll(*store, **store::Catalog::Open(store.get()), "db.b");
  ASSERT_EQ(before.size(), static_cast<size_t>(kDocuments));
  for (uint64_t calls = 1; calls < 1000; calls += 3) {
    auto catalog = *store::Catalog::Open(store.get());
    plan.FailNth(calls % 2 == 0 ? kv::FaultPoint::kCommit : kv::FaultPoint::kRead, calls,
                 Status(kOutOfDiskSpace, "full"));
    if (auto folding = Folding::Open(catalog.get()); folding.ok()) {
      (*folding)->Run([] { return false; });
    }
    plan.Clear();
    for (const char* ns : {"db.a", "db.b"}) {
      ASSERT_EQ(ReadAll(*store, *catalog, ns), before) << calls;
    }
  }
  ExpectConverted(*store);
}

TEST(FoldingTest, StoppedItGoesOnWithTheNextCall) {
  auto store = kv::TestStore(store::KeySections());
  FillAsFormat3(*store);
  auto catalog = *store::Catalog::Open(store.get());
  auto folding = *Folding::Open(catalog.get());
  int runs = 0;
  for (; *store::NeedsConversion(*store); ++runs) {
    ASSERT_LT(runs, 100);
    folding->Run([] { return true; });
  }
  EXPECT_GT(runs, 10);
  ExpectConverted(*store);
}

// Runs in a process of its own, which is killed at its nth commit.
void ConvertAndDie(const std::string& folder, uint64_t commit) {
  kv::FaultPlan plan;
  auto opened = kv::Open("rocks:" + folder, {.sections = store::KeySections()});
  if (!opened.ok()) {
    _exit(2);
  }
  auto store = kv::NewFaultStore(std::move(*opened), plan);
  plan.RunAtNth(kv::FaultPoint::kCommit, commit, [] { kill(getpid(), SIGKILL); });
  auto catalog = *store::Catalog::Open(store.get());
  auto folding = *Folding::Open(catalog.get());
  folding->Run([] { return false; });
  _exit(0);
}

TEST(FoldingTest, AFolderOfFormat3IsConvertedThoughItsProcessIsKilledAtEveryStep) {
  const std::string folder =
      std::filesystem::temp_directory_path() / ("quire-format3-" + std::to_string(getpid()));
  auto open = [&] { return *kv::Open("rocks:" + folder, {.sections = store::KeySections()}); };
  Documents before;
  {
    auto store = open();
    FillAsFormat3(*store);
    before = ReadAll(*store, **store::Catalog::Open(store.get()), "db.a");
  }
  const std::string quire = folder + "/QUIRE";
  std::ofstream(quire) << "quire data folder\nformat 3\nfilled\n";
  int status = 0;
  uint64_t commits = 1;
  do {
    ASSERT_LT(commits, 100U);
    const pid_t pid = fork();
    if (pid == 0) {
      ConvertAndDie(folder, commits % 3 + 1);  // none, one or two are done before
    }
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ++commits;
    auto store = open();
    auto catalog = *store::Catalog::Open(store.get());
    for (const char* ns : {"db.a", "db.b"}) {
      ASSERT_EQ(ReadAll(*store, *catalog, ns), before) << commits;
    }
  } while (WIFSIGNALED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GT(commits, 10U);
  std::string format;
  std::ifstream text(quire);
  std::getline(text, format);
  std::getline(text, format);
  EXPECT_EQ(format, "format 5");
  ExpectConverted(*open());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quire::engine
