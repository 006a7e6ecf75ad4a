// SPDX-License-Identifier: Apache-2.0
#include "quire/patterns/gridfs.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/try.h"
#include "patterns/testing/clocked_ids.h"
#include "patterns/testing/world.h"

namespace quire::patterns {
namespace {

using bson::Document;
using std::chrono::hours;

std::string Bytes(int64_t size, char seed = 'a') {
  std::string bytes;
  for (int64_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(seed + i * 31 % 97);
  }
  return bytes;
}

GridFs FilesOf(World* world, const Seams& seams, int32_t chunk_size = 4) {
  return GridFs(world->client, world->database, {.chunk_size = chunk_size, .seams = seams});
}
GridFs FilesOf(World* world) { return FilesOf(world, world->seams()); }

class GridFsTest : public ::testing::TestWithParam<Place> {
 protected:
  World world_{GetParam()};
};

TEST_P(GridFsTest, EverySizeComesBack) {
  GridFs files = FilesOf(&world_);
  EXPECT_EQ(files.MissingIndexes()->size(), 2u);
  for (int64_t size : {0, 1, 3, 4, 5, 7, 8, 9, 40}) {
    const std::string bytes = Bytes(size);
    auto id = files.Upload("f", bytes);
    ASSERT_TRUE(id.ok()) << id.status().ToString();
    EXPECT_EQ(*files.Download(id->value()), bytes);
    EXPECT_EQ(files.Get(id->value())->length, size);
    EXPECT_EQ(*world_.store.Count("fs.chunks", Doc("files_id", *id)), (size + 3) / 4);
    for (int64_t start = 0; start <= size + 1; ++start) {
      for (int64_t end : {start, start + 1, start + 6, int64_t{INT64_MAX}}) {
        const std::string part = start >= size ? ""
                                               : bytes.substr(static_cast<size_t>(start),
                                                              static_cast<size_t>(end - start));
        EXPECT_EQ(*files.Download(id->value(), {start, end}), part) << size << " " << start;
      }
    }
  }
  EXPECT_TRUE(files.MissingIndexes()->empty());  // made by the first upload
}

TEST_P(GridFsTest, DocumentsAreTheDrivers) {
  GridFs files = FilesOf(&world_, world_.seams(), 261120);
  auto id = files.Upload("big", Bytes(600'000), {.metadata = Doc("a", 1)});
  auto file = *world_.store.FindOne("fs.files", Doc("_id", *id));
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)["length"].type(), bson::Type::kInt64);
  EXPECT_EQ((*file)["chunkSize"].type(), bson::Type::kInt32);
  EXPECT_EQ((*file)["uploadDate"].type(), bson::Type::kDate);
  EXPECT_EQ(IntegerAt(*file, "metadata.a"), 1);
  auto chunks = *world_.store.Find("fs.chunks", Doc("files_id", *id), {.sort = Doc("n", 1)});
  ASSERT_EQ(chunks.size(), 3u);
  const size_t sizes[] = {261120, 261120, 77760};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(chunks[i]["n"].type(), bson::Type::kInt32);
    EXPECT_EQ(chunks[i]["data"].binary_subtype(), 0);
    EXPECT_EQ(chunks[i]["data"].AsBinary().size(), sizes[i]);
  }
}

TEST_P(GridFsTest, VersionsNamesAndRemoval) {
  GridFs files = FilesOf(&world_);
  std::vector<bson::OwnedValue> ids;
  for (const char* text : {"one", "two", "three"}) {
    ids.push_back(*files.Upload("v", text));
    world_.clock.Advance(hours(1));
  }
  const struct {
    int32_t revision;
    const char* text;
  } kRevisions[] = {{0, "one"}, {1, "two"}, {2, "three"}, {-1, "three"}, {-2, "two"}, {-3, "one"}};
  for (const auto& row : kRevisions) {
    EXPECT_EQ(*files.DownloadByName("v", row.revision), row.text) << row.revision;
  }
  for (int32_t revision : {3, -4, INT32_MIN}) {
    EXPECT_EQ(ErrorName(files.GetByName("v", revision).status()), "RevisionNotFound");
  }
  EXPECT_EQ(ErrorName(files.GetByName("none").status()), "FileNotFound");
  ASSERT_TRUE(files.Rename(ids[0].value(), "w").ok());
  EXPECT_EQ(*files.DownloadByName("w"), "one");
  ASSERT_TRUE(files.Delete(ids[0].value()).ok());
  EXPECT_EQ(ErrorName(files.Delete(ids[0].value())), "FileNotFound");
  EXPECT_EQ(ErrorName(files.Rename(ids[0].value(), "x")), "FileNotFound");
  EXPECT_EQ(ErrorName(files.Download(ids[0].value()).status()), "FileNotFound");
  EXPECT_EQ(*world_.store.Count("fs.chunks", Doc("files_id", ids[0])), 0);
  std::string next;
  EXPECT_EQ(files.Find(Doc("filename", "v"), {.limit = 1}, &next)->size(), 1u);
  auto rest = files.Find(Doc("filename", "v"), {.limit = 5, .after = next}, &next);
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ(*files.Download((*rest)[0].id.value()), "three");
  EXPECT_EQ(ErrorName(files.Find(Doc(), {.after = "junk"}).status()), "BadCursor");
  ASSERT_TRUE(files.Drop().ok());
  ASSERT_TRUE(files.Drop().ok());
  EXPECT_EQ(ErrorName(files.GetByName("v").status()), "FileNotFound");
  EXPECT_EQ(
      *files.Download(files.Upload("i", "x", {.id = bson::OwnedValue(bson::Value(7))})->value()),
      "x");
}

TEST_P(GridFsTest, DamageIsNoticed) {
  const struct {
    const char* error;
    std::function<Status(const Store&)> damage;
  } kDamage[] = {
      {"ChunkIsMissing", [](auto& s) { return s.DeleteOne("fs.chunks", Doc("n", 1)).status(); }},
      {"ChunkIsWrongSize",
       [](auto& s) {
         return s
             .UpdateOne("fs.chunks", Doc("n", 0),
                        Doc("$set", Doc("data", bson::Value::Binary("abc", 0))))
             .status();
       }},
      {"ChunkIsWrongSize",
       [](auto& s) {
         return s.UpdateOne("fs.chunks", Doc("n", 2), Doc("$set", Doc("data", "text"))).status();
       }},
      {"ExtraChunk",
       [](auto& s) {
         auto file = s.FindOne("fs.files", Doc());
         return s.Insert("fs.chunks", Doc("files_id", (**file)["_id"], "n", 3, "data",
                                          bson::Value::Binary("abc", 0)));
       }},
  };
  for (const auto& row : kDamage) {
    World world(GetParam());
    GridFs files = FilesOf(&world);
    auto id = files.Upload("f", Bytes(10));
    ASSERT_TRUE(row.damage(world.store).ok());
    EXPECT_EQ(ErrorName(files.Download(id->value()).status()), row.error);
  }
}

constexpr std::chrono::milliseconds kKept = hours(24);

// Every operation at every point, over a file "old" of six bytes and what a crashed upload left.
TEST_P(GridFsTest, SurvivesEveryCrashAndLateWrite) {
  const struct {
    const char* name;
    std::function<Status(const GridFs&, bson::Date)> run;
    int min_runs;
  } kOperations[] = {
      {"upload and delete",
       [](const GridFs& files, bson::Date) -> Status {
         ASSIGN_OR_RETURN(GridFsFile old, files.GetByName("old"));
         RETURN_IF_ERROR(files.Upload("new", Bytes(9)).status());
         return files.Delete(old.id.value());
       },
       20},
      {"abort",
       [](const GridFs& files, bson::Date) -> Status {
         ASSIGN_OR_RETURN(GridFsUpload upload, files.OpenUpload("new"));
         RETURN_IF_ERROR(upload.Write(Bytes(9)));
         return upload.Abort();
       },
       10},
      {"rename",
       [](const GridFs& files, bson::Date) -> Status {
         ASSIGN_OR_RETURN(GridFsFile old, files.GetByName("old"));
         return files.Rename(old.id.value(), "renamed");
       },
       6},
      {"drop", [](const GridFs& files, bson::Date) { return files.Drop(); }, 10},
      {"sweep",
       [](const GridFs& files, bson::Date before) { return files.SweepChunks(before).status(); },
       6},
  };
  for (const auto& row : kOperations) {
    SCOPED_TRACE(row.name);
    std::unique_ptr<ClockedIds> ids;
    auto files_of = [&](World* world, Seams seams) {
      seams.ids = ids.get();
      return FilesOf(world, seams);
    };
    CrashCase test;
    test.once = [&](World* world) {
      ids = std::make_unique<ClockedIds>(&world->clock);
      ASSERT_TRUE(files_of(world, world->seams()).Upload("old", Bytes(6)).ok());
      TestCrash crash;
      crash.at = "gridfs.upload.c2";
      ASSERT_FALSE(files_of(world, world->seams(&crash)).Upload("lost", Bytes(9)).ok());
      world->clock.Advance(kKept + hours(1));
    };
    test.operation = [&](World* world, const Seams& seams) {
      return row.run(files_of(world, seams), world->store.Ago(kKept));
    };
    test.settle = [&](World* world) {
      world->clock.Advance(kKept + hours(1));
      for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(FilesOf(world).SweepChunks(world->store.Ago(kKept)).ok());
      }
    };
    test.always = [](World* world) {
      const auto listed = *FilesOf(world).Find(Doc(), {});
      for (const GridFsFile& file : listed) {
        auto bytes = FilesOf(world).Download(file.id.value());
        ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
        EXPECT_EQ(*bytes, Bytes(file.filename == "new" ? 9 : 6));
      }
    };
    test.settled = [](World* world) {
      for (const Document& chunk : world->All("fs.chunks")) {
        EXPECT_TRUE(FilesOf(world).Get(chunk["files_id"]).ok()) << "a chunk of no file";
      }
    };
    EXPECT_GE(RunCrashCase(GetParam(), test), row.min_runs);
  }
}

// What a crashed drop left is swept up, and new files are stored as in a new bucket.
TEST_P(GridFsTest, ADropIsRepeated) {
  for (const char* point : {"gridfs.drop.c1", "gridfs.drop.c2"}) {
    ASSERT_TRUE(FilesOf(&world_).Upload("old", Bytes(9)).ok());
    TestCrash crash;
    crash.at = point;
    EXPECT_TRUE(Is(FilesOf(&world_, world_.seams(&crash)).Drop(), Error::kCrashed));
    ASSERT_TRUE(FilesOf(&world_).Drop().ok());
    EXPECT_TRUE(FilesOf(&world_).Find(Doc(), {})->empty());
    ASSERT_TRUE(FilesOf(&world_).SweepChunks(bson::Date{INT32_MAX * int64_t{1000}}).ok());
    EXPECT_EQ(*world_.store.Count("fs.chunks", Doc()), 0);
    EXPECT_EQ(*FilesOf(&world_).Download(FilesOf(&world_).Upload("new", "x")->value()), "x");
    EXPECT_TRUE(FilesOf(&world_).MissingIndexes()->empty());
  }
}

// A drop is paused after each of its steps and before each of its writes while one file is stored
// and another, begun before, goes on: each is there whole or not at all, and the old ones are gone.
TEST_P(GridFsTest, ADropLeavesNoHalfOfAFileStoredMeanwhile) {
  for (int pause = 1; pause <= 4; ++pause) {
    SCOPED_TRACE(pause);
    World world(GetParam());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(FilesOf(&world).Upload("old", Bytes(9)).ok());
    }
    auto begun = FilesOf(&world).OpenUpload("begun");
    ASSERT_TRUE(begun->Write(Bytes(9)).ok());
    auto meanwhile = [&] {
      ASSERT_TRUE(FilesOf(&world).Upload("new", Bytes(9)).ok());
      if (pause % 2 == 0) {
        ASSERT_TRUE(begun->Finish().ok());
      }
    };
    TestCrash crash;
    TestFaults faults;
    (pause <= 2 ? crash.number : faults.at) = pause <= 2 ? pause : pause - 2;
    crash.action = [&] {
      meanwhile();
      return true;
    };
    faults.before = meanwhile;
    ASSERT_TRUE(FilesOf(&world, world.seams(&crash, &faults)).Drop().ok());
    if (pause % 2 != 0) {
      EXPECT_TRUE(begun->Finish().ok());
    }
    const auto left = *FilesOf(&world).Find(Doc(), {});
    EXPECT_EQ(left.size(), 2u);
    for (const GridFsFile& file : left) {
      EXPECT_NE(file.filename, "old");
      auto bytes = FilesOf(&world).Download(file.id.value());
      ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
      EXPECT_EQ(*bytes, Bytes(9));
    }
    EXPECT_TRUE(FilesOf(&world).MissingIndexes()->empty());
    ASSERT_TRUE(FilesOf(&world).Drop().ok());
    EXPECT_EQ(*world.store.Count("fs.chunks", Doc()), 0);
  }
}

TEST_P(GridFsTest, ATakenIdIsRefused) {
  const GridFs files = FilesOf(&world_);
  for (int64_t size : {0, 9}) {
    const bson::OwnedValue id{bson::Value(size)};
    ASSERT_TRUE(files.Upload("first", Bytes(size), {.id = id}).ok());
    for (int64_t other : {0, 3, 9}) {
      EXPECT_TRUE(IsDuplicateKey(files.Upload("second", Bytes(other), {.id = id}).status()));
    }
    EXPECT_EQ(*files.Download(id.value()), Bytes(size));
    EXPECT_EQ(*world_.store.Count("fs.chunks", Doc("files_id", id)), (size + 3) / 4);
  }
}

class ChunkQueries : public QueryHook {
 public:
  void Asks(const Document& query) override {
    count += TextAt(query, "find") == "fs.chunks" || TextAt(query, "aggregate") == "fs.chunks";
  }
  int count = 0;
};

TEST_P(GridFsTest, AnEmptyFileIsReadWithoutLookingForChunks) {
  const auto empty = FilesOf(&world_).Upload("empty", "");
  const auto full = FilesOf(&world_).Upload("full", Bytes(5));
  ChunkQueries queries;
  Seams seams = world_.seams();
  seams.queries = &queries;
  EXPECT_EQ(*FilesOf(&world_, seams).Download(empty->value()), "");
  EXPECT_EQ(queries.count, 0);
  EXPECT_EQ(*FilesOf(&world_, seams).Download(full->value()), Bytes(5));
  EXPECT_EQ(queries.count, 3);  // two chunks, and whether there are more
}

TEST_P(GridFsTest, AFileIsAsOldAsItsLastByte) {
  auto upload = FilesOf(&world_).OpenUpload("f", {.chunk_size = 7});
  ASSERT_TRUE(upload->Write(Bytes(9)).ok());
  world_.clock.Advance(hours(1));
  const auto file = upload->Finish();
  EXPECT_EQ(file->uploaded, world_.clock.Now());
  EXPECT_EQ(file->chunk_size, 7);  // not the bucket's
  EXPECT_EQ(*FilesOf(&world_).Download(file->id.value()), Bytes(9));
}

TEST_P(GridFsTest, AnAbortedUploadLeavesNothing) {
  auto upload = FilesOf(&world_).OpenUpload("f");
  ASSERT_TRUE(upload->Write(Bytes(9)).ok());
  ASSERT_TRUE(upload->Abort().ok());
  EXPECT_EQ(*world_.store.Count("fs.chunks", Doc()), 0);
}

TEST_P(GridFsTest, QueriesUseTheIndexes) {
  GridFs files = FilesOf(&world_);
  auto id = files.Upload("f", Bytes(20));
  ASSERT_TRUE(files.Upload("g", Bytes(20)).ok());
  const Document kFinds[] = {
      Doc("find", "fs.chunks", "filter", Doc("files_id", *id, "n", 2)),
      Doc("find", "fs.chunks", "filter", Doc("files_id", *id, "n", Doc("$gte", 5))),
      Doc("find", "fs.files", "filter", Doc("filename", "f"), "sort", Doc("uploadDate", -1)),
  };
  for (const Document& find : kFinds) {
    Explained explained = Explain(world_.store, find);
    EXPECT_EQ(explained.plan.find("COLLSCAN"), std::string::npos) << explained.plan;
    EXPECT_LE(explained.keys, explained.returned + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Places, GridFsTest, ::testing::Values(Place::kEmbedded, Place::kServed),
                         [](const auto& place) { return PlaceName(place.param); });

}  // namespace
}  // namespace quire::patterns
