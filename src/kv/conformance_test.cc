// SPDX-License-Identifier: Apache-2.0
//
// The backends under test, the fixture, and the part of the suite about reading.
#include "kv/testing/conformance.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include "kv/memory/memory_store.h"
#include "kv/rocks/rocks_store.h"
#include "kv/testing/fault_store.h"

namespace quire::kv {
namespace {

class RocksOnDisk : public Backend {
 public:
  std::unique_ptr<Store> Open() override {
    auto store = OpenRocks({.path = folder_.path(), .ephemeral = false, .cache_bytes = 64 << 20});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return std::move(*store);
  }
  bool persistent() const override { return true; }

 private:
  TempFolder folder_;
};

// Cut between the keys that the tests write.
class RocksInSections : public Backend {
 public:
  std::unique_ptr<Store> Open() override {
    using Use = Section::Use;
    auto store = OpenRocks({.path = folder_.path(),
                            .cache_bytes = 64 << 20,
                            .sections = {{.name = "first", .begin = "", .use = Use::kSmall},
                                         {.name = "numbers", .begin = "00000100"},
                                         {.name = "b", .begin = "b", .use = Use::kAppended},
                                         {.name = "c", .begin = "c", .use = Use::kSmall},
                                         {.name = "rest", .begin = "d"}}});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return std::move(*store);
  }
  bool persistent() const override { return true; }

 private:
  TempFolder folder_;
};

class RocksInMemory : public Backend {
 public:
  std::unique_ptr<Store> Open() override {
    auto store = OpenRocks({.path = "", .ephemeral = true, .cache_bytes = 64 << 20});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return std::move(*store);
  }
};

class PlainRocks : public Backend {
 public:
  std::unique_ptr<Store> Open() override {
    auto store = OpenRocks({.path = folder_.path(), .cache_bytes = 64 << 20, .plain = true});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return std::move(*store);
  }
  bool persistent() const override { return true; }

 private:
  TempFolder folder_;
};

// What one writes the other reads.
class NowPlainNowNot : public Backend {
 public:
  std::unique_ptr<Store> Open() override {
    plain_ = !plain_;
    auto store = OpenRocks({.path = folder_.path(), .cache_bytes = 64 << 20, .plain = plain_});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    return std::move(*store);
  }
  bool persistent() const override { return true; }

 private:
  TempFolder folder_;
  bool plain_ = false;
};

class Memory : public Backend {
 public:
  std::unique_ptr<Store> Open() override { return NewMemoryStore(); }
};

class RocksBehindFaults : public RocksOnDisk {
 public:
  std::unique_ptr<Store> Open() override { return NewFaultStore(RocksOnDisk::Open(), plan_); }

 private:
  FaultPlan plan_;
};

template <typename T>
std::unique_ptr<Backend> Make() {
  return std::make_unique<T>();
}

constexpr BackendRow kBackends[] = {
    {"rocks_on_disk", Make<RocksOnDisk>},
    {"rocks_in_sections", Make<RocksInSections>},
    {"rocks_in_memory", Make<RocksInMemory>},
    {"plain_rocks", Make<PlainRocks>},
    {"now_plain_now_not", Make<NowPlainNowNot>},
    {"rocks_behind_faults", Make<RocksBehindFaults>},
    {"memory", Make<Memory>},
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::ValuesIn(kBackends),
                         [](const auto& row) { return std::string(row.param.name); });

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "quire-kv-XXXXXX").string();
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::unique_ptr<Txn> Conformance::Begin(bool read_only) {
  auto txn = store_->Begin({.read_only = read_only});
  EXPECT_TRUE(txn.ok()) << txn.status().ToString();
  return std::move(*txn);
}

void Conformance::PutAll(const std::map<std::string, std::string>& entries) {
  auto txn = Begin();
  for (const auto& [key, value] : entries) {
    ASSERT_TRUE(txn->Put(key, value).ok());
  }
  Status status = txn->Commit(Durability::kProcess);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

std::optional<std::string> Conformance::Read(std::string_view key) {
  return Get(*Begin(true), key);
}

int64_t Conformance::ReadCounter(std::string_view counter) {
  Result<int64_t> value = Begin(true)->ReadCounter(counter);
  EXPECT_TRUE(value.ok());
  return value.ok() ? *value : 0;
}

std::optional<std::string> Conformance::Get(Txn& txn, std::string_view key) {
  ReadValue value;
  Result<bool> found = txn.Get(key, &value);
  EXPECT_TRUE(found.ok()) << found.status().ToString();
  if (!found.ok() || !*found) {
    return std::nullopt;
  }
  return std::string(value.view());
}

Conformance::Entries Conformance::Collect(Txn& txn, Range range, Direction direction) {
  Entries entries;
  auto cursor = txn.Scan(std::move(range), direction);
  EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
  while (true) {
    Result<bool> moved = (*cursor)->Next();
    EXPECT_TRUE(moved.ok()) << moved.status().ToString();
    if (!moved.ok() || !*moved) {
      return entries;
    }
    entries.emplace_back((*cursor)->key(), (*cursor)->value());
  }
}

std::string Conformance::Number(int n) {
  std::string digits = std::to_string(n);
  return std::string(8 - digits.size(), '0') + digits;
}

TEST_P(Conformance, GetOfWhatIsNotThere) {
  EXPECT_EQ(Read("a"), std::nullopt);
  EXPECT_EQ(Read(""), std::nullopt);
}

TEST_P(Conformance, PutGetDelete) {
  PutAll({{"a", "1"}, {"b", ""}, {std::string("z\0y", 3), std::string("\0\xff", 2)}});
  EXPECT_EQ(Read("a"), "1");
  EXPECT_EQ(Read("b"), "");
  EXPECT_EQ(Read(std::string("z\0y", 3)), std::string("\0\xff", 2));
  PutAll({{"a", "2"}});
  EXPECT_EQ(Read("a"), "2");
  auto txn = Begin();
  ASSERT_TRUE(txn->Delete("a").ok());
  ASSERT_TRUE(txn->Delete("never there").ok());
  ASSERT_TRUE(txn->Commit(Durability::kDisk).ok());
  EXPECT_EQ(Read("a"), std::nullopt);
}

TEST_P(Conformance, KeysCompareAsUnsignedBytes) {
  const std::vector<std::string> sorted = {std::string("\0", 1),
                                           std::string("\0\0", 2),
                                           std::string("\x01"),
                                           "A",
                                           "a",
                                           "aa",
                                           "b",
                                           "\x7f",
                                           "\x80",
                                           "\xff",
                                           "\xff\xff"};
  std::map<std::string, std::string> entries;
  for (const std::string& key : sorted) {
    entries[key] = "v";
  }
  PutAll(entries);
  auto txn = Begin(true);
  Entries forward = Collect(*txn, {});
  ASSERT_EQ(forward.size(), sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(forward[i].first, sorted[i]);
  }
  Entries backward = Collect(*txn, {}, Direction::kBackward);
  std::reverse(backward.begin(), backward.end());
  EXPECT_EQ(forward, backward);
}

TEST_P(Conformance, ScanStaysInItsRange) {
  PutAll({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}});
  auto txn = Begin(true);
  const Entries bc = {{"b", "2"}, {"c", "3"}};
  const Entries cb = {{"c", "3"}, {"b", "2"}};
  EXPECT_EQ(Collect(*txn, {"b", "d"}), bc);
  EXPECT_EQ(Collect(*txn, {"b", "d"}, Direction::kBackward), cb);
  EXPECT_EQ(Collect(*txn, {"aa", "cc"}), bc);
  EXPECT_EQ(Collect(*txn, {"aa", "cc"}, Direction::kBackward), cb);
  EXPECT_EQ(Collect(*txn, {"c", ""}), (Entries{{"c", "3"}, {"d", "4"}}));
  EXPECT_EQ(Collect(*txn, {"", "b"}, Direction::kBackward), (Entries{{"a", "1"}}));
  EXPECT_TRUE(Collect(*txn, {"b", "b"}).empty());
  EXPECT_TRUE(Collect(*txn, {"x", "z"}, Direction::kBackward).empty());
}

TEST_P(Conformance, NextAfterTheEndStaysAtTheEnd) {
  PutAll({{"a", "1"}});
  for (Direction direction : {Direction::kForward, Direction::kBackward}) {
    auto txn = Begin(true);
    auto cursor = *txn->Scan({}, direction);
    EXPECT_TRUE(*cursor->Next());
    EXPECT_FALSE(*cursor->Next());
    EXPECT_FALSE(*cursor->Next());
  }
}

// (target, where a forward and a backward cursor over [b, e) land; "" = at the end)
struct SeekCase {
  const char* target;
  const char* forward;
  const char* backward;
};
constexpr SeekCase kSeeks[] = {
    {"", "b", ""},   {"a", "b", ""},  {"b", "b", "b"}, {"bb", "c", "b"}, {"c", "c", "c"},
    {"d", "d", "d"}, {"dd", "", "d"}, {"e", "", "d"},  {"z", "", "d"},
};

TEST_P(Conformance, SeekLandsAtOrPastTheTargetInItsRange) {
  PutAll({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}, {"f", ""}});
  for (bool own_writes : {false, true}) {
    auto txn = Begin();
    if (own_writes) {
      ASSERT_TRUE(txn->Delete("c").ok());
      ASSERT_TRUE(txn->Put("c", "").ok());
      ASSERT_TRUE(txn->Put("e", "").ok());
      ASSERT_TRUE(txn->Put("a", "").ok());
    }
    auto forward = *txn->Scan({"b", "e"}, Direction::kForward);
    auto backward = *txn->Scan({"b", "e"}, Direction::kBackward);
    for (const SeekCase& seek : kSeeks) {
      EXPECT_EQ(*forward->Seek(seek.target) ? forward->key() : "", seek.forward) << seek.target;
      EXPECT_EQ(*backward->Seek(seek.target) ? backward->key() : "", seek.backward) << seek.target;
    }
    ASSERT_TRUE(*forward->Seek("c"));
    ASSERT_TRUE(*forward->Next());
    EXPECT_EQ(forward->key(), "d");
    ASSERT_TRUE(*backward->Seek("c"));
    ASSERT_TRUE(*backward->Next());
    EXPECT_EQ(backward->key(), "b");
    EXPECT_FALSE(*backward->Next());
  }
}

TEST_P(Conformance, MultiGet) {
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 200; i += 2) {
    entries[Number(i)] = "v" + std::to_string(i);
  }
  PutAll(entries);
  auto txn = Begin();
  ASSERT_TRUE(txn->Put(Number(1), "own").ok());
  ASSERT_TRUE(txn->Delete(Number(2)).ok());
  std::vector<std::string> keys;
  for (int i = 199; i >= 0; --i) {
    keys.push_back(Number(i));
  }
  std::vector<std::string_view> asked(keys.begin(), keys.end());
  std::vector<ReadValue> values;
  std::vector<bool> found;
  ASSERT_TRUE(txn->MultiGet(asked, &values, &found, Reads::kByRange).ok());
  ASSERT_EQ(values.size(), 200u);
  for (size_t i = 0; i < asked.size(); ++i) {
    std::optional<std::string> expected = Get(*txn, asked[i]);
    ASSERT_EQ(found[i], expected.has_value()) << asked[i];
    if (expected) {
      EXPECT_EQ(values[i].view(), *expected);
    }
  }
  ASSERT_TRUE(txn->MultiGet({}, &values, &found, Reads::kByRange).ok());
  EXPECT_TRUE(values.empty());
}

TEST_P(Conformance, AReadValueIsReusedAndOutlivesItsTransaction) {
  PutAll({{"a", std::string(100, 'a')}, {"b", std::string(5000, 'b')}});
  ReadValue value;
  ReadValue moved;
  {
    auto txn = Begin(true);
    ASSERT_TRUE(*txn->Get("a", &value));
    EXPECT_EQ(value.view(), std::string(100, 'a'));
    moved = std::move(value);
    ASSERT_TRUE(*txn->Get("b", &value));
    EXPECT_FALSE(*txn->Get("none", &value));
    ASSERT_TRUE(*txn->Get("b", &value));
  }
  EXPECT_EQ(moved.view(), std::string(100, 'a'));
  EXPECT_EQ(value.view(), std::string(5000, 'b'));
}

TEST_P(Conformance, BigValues) {
  std::string big(20 << 20, 'x');
  for (size_t i = 0; i < big.size(); i += 4096) {
    big[i] = static_cast<char>(i >> 12);
  }
  PutAll({{"big", big}, {"small", "s"}});
  EXPECT_EQ(Read("big"), big);
  auto txn = Begin(true);
  EXPECT_EQ(Collect(*txn, {}), (Entries{{"big", big}, {"small", "s"}}));
}

}  // namespace quire::kv
