# SPDX-License-Identifier: Apache-2.0
"""What a shard refuses, and changes of collections that are the same on all shards or on none."""
import random
import signal
import tempfile
import threading
import time
import unittest

from bson import MaxKey, MinKey, Timestamp
from pymongo.errors import OperationFailure, PyMongoError

import counted
from shards_rig import UNSHARDED, Rig


class Shards(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="quire-shards-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.rig = Rig(cls.folder.name)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        cls.databases = 0

    def setUp(self):
        type(self).databases += 1
        self.db = f"t{self.databases}"
        self.ns = f"{self.db}.c"
        self.rig.create_database(self.db)

    # --- as a router
    def shard(self, key, **options):
        return self.rig.coordinate(self.db, {"shardCollection": self.ns, "key": key, **options})

    def unsharded(self, command, shard="s0"):
        return self.rig.command(shard, {**command, "shardVersion": UNSHARDED,
                                        "databaseVersion": self.rig.versions[self.db]}, self.db)

    def sharded(self, shard, command):
        return self.rig.command(shard, {**command, "shardVersion": self.rig.shard_version(self.ns, shard)}, self.db)

    def local(self, shard):
        return self.rig.clients[shard][self.db].c

    def refused(self, code, call, *arguments, **options):
        with self.assertRaises(OperationFailure) as caught:
            call(*arguments, **options)
        self.assertEqual(code, caught.exception.code, caught.exception.details)
        return caught.exception.details

    def indexes(self, shard):
        return sorted(self.local(shard).index_information())

    # --- versions
    def test_an_unsharded_collection_is_its_primary_shards(self):
        self.unsharded({"insert": "c", "documents": [{"_id": 1}]})
        self.refused(249, self.unsharded, {"insert": "c", "documents": [{"_id": 2}]}, "s1")
        self.assertEqual([{"_id": 1}], list(self.local("s0").find()))
        self.assertEqual([], list(self.local("s1").find()))

    def test_a_router_that_knows_it_as_unsharded_is_refused(self):
        self.shard({"x": 1})
        error = self.refused(13388, self.unsharded, {"insert": "c", "documents": [{"_id": 1, "x": 1}]})
        self.assertEqual(self.ns, error["ns"])
        self.assertEqual("s0", error["shardId"])
        self.assertEqual(UNSHARDED, error["vReceived"])
        self.assertEqual(self.rig.shard_version(self.ns, "s0"), error["vWanted"])
        self.sharded("s0", {"insert": "c", "documents": [{"_id": 1, "x": 1}]})

    def test_a_dropped_generation_is_refused(self):
        self.shard({"x": 1})
        old = self.rig.shard_version(self.ns, "s0")
        self.rig.coordinate(self.db, {"drop": "c"}, on=self.db)
        self.refused(13388, self.rig.command, "s0",
                     {"insert": "c", "documents": [{"_id": 1}], "shardVersion": old}, self.db)
        self.unsharded({"insert": "c", "documents": [{"_id": 1}]})

    def test_versions_that_were_never_are_refused(self):
        self.shard({"x": 1})
        wrong = {**self.rig.shard_version(self.ns, "s0"), "v": Timestamp(99, 0)}
        self.refused(13388, self.rig.command, "s0", {"find": "c", "shardVersion": wrong}, self.db)

    def test_what_a_shard_knows_survives_its_process(self):
        self.shard({"h": "hashed"})
        self.rig.restart("s0")
        self.rig.wait_primary("s0")
        self.sharded("s0", {"insert": "c", "documents": [{"_id": 1, "h": 1}]})
        self.refused(13388, self.unsharded, {"find": "c"})

    # --- shardCollection
    def test_a_hashed_key_spreads_over_all_shards(self):
        self.assertEqual(self.ns, self.shard({"h": "hashed"})["collectionsharded"])
        self.assertEqual({"s0", "s1"}, {chunk["shard"] for chunk in self.rig.chunks(self.ns)})
        for shard in self.rig.shards:
            self.assertEqual(["_id_", "h_hashed"], self.indexes(shard))
        one, two = (self.rig.clients[s][self.db].command("listCollections")["cursor"]["firstBatch"][0]["info"]["uuid"]
                    for s in self.rig.shards)
        self.assertEqual(one, two)

    def test_repeated_and_other_keys(self):
        self.shard({"x": 1})
        self.shard({"x": 1})
        self.refused(23, self.shard, {"y": 1})
        self.refused(23, self.shard, {"x": 1}, unique=True)

    def test_documents_need_an_index(self):
        self.unsharded({"insert": "c", "documents": [{"_id": 1, "x": 1}]})
        self.refused(72, self.shard, {"x": 1})
        self.assertIsNone(self.rig.chunks(self.ns))
        self.rig.coordinate(self.db, {"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]}, on=self.db)
        self.shard({"x": 1})
        self.assertEqual(["s0"], [chunk["shard"] for chunk in self.rig.chunks(self.ns)])

    def test_errors(self):
        self.refused(2, self.shard, {"x": -1})
        self.refused(72, self.shard, {"x": "hashed"}, unique=True)
        self.refused(31387, self.shard, {"x": "hashed"}, presplitHashedZones=True)
        self.refused(73, self.rig.coordinate, self.db, {"shardCollection": "nodot", "key": {"x": 1}})

    # --- chunks
    def test_split_merge_and_move(self):
        self.shard({"x": 1})
        self.rig.coordinate(self.db, {"split": self.ns, "middle": {"x": 0}})
        self.assertEqual(2, len(self.rig.chunks(self.ns)))
        before = self.rig.shard_version(self.ns, "s0")
        self.rig.coordinate(self.db, {"moveChunk": self.ns, "find": {"x": 5}, "to": "s1"})
        self.assertEqual(["s0", "s1"], [chunk["shard"] for chunk in self.rig.chunks(self.ns)])
        self.refused(13388, self.rig.command, "s0",
                     {"insert": "c", "documents": [{"_id": 1, "x": 5}], "shardVersion": before}, self.db)
        self.sharded("s1", {"insert": "c", "documents": [{"_id": 1, "x": 5}]})
        self.refused(20, self.rig.coordinate, self.db, {"mergeChunks": self.ns, "bounds": [{"x": MinKey()}, {"x": MaxKey()}]})
        self.refused(96, self.rig.coordinate, self.db, {"moveChunk": self.ns, "find": {"x": 5}, "to": "s0"})
        self.rig.coordinate(self.db, {"moveRange": self.ns, "min": {"x": -10}, "max": {"x": -5}, "toShard": "s1"})
        self.assertEqual(["s0", "s1", "s0", "s1"], [chunk["shard"] for chunk in self.rig.chunks(self.ns)])

    def test_split_by_find(self):
        self.shard({"x": 1})
        self.refused(72, self.rig.coordinate, self.db, {"split": self.ns, "find": {"x": 3}})
        self.sharded("s0", {"insert": "c", "documents": [{"_id": i, "x": i} for i in range(10)]})
        self.rig.coordinate(self.db, {"split": self.ns, "find": {"x": 3}})
        self.rig.coordinate(self.db, {"split": self.ns, "find": {"x": 100}})
        self.assertEqual([MinKey(), 5, 7], [chunk["min"]["x"] for chunk in self.rig.chunks(self.ns)])

    def test_a_chunk_found_by_a_nested_key(self):
        self.shard({"a.b": 1, "x": 1})
        self.rig.coordinate(self.db, {"split": self.ns, "middle": {"a.b": 100, "x": MinKey()}})
        def move(find, to):
            self.rig.coordinate(self.db, {"moveChunk": self.ns, "find": find, "to": to})
            return [chunk["shard"] for chunk in self.rig.chunks(self.ns)]
        self.assertEqual(["s0", "s1"], move({"a.b": 150, "x": 0}, "s1"))
        self.assertEqual(["s1", "s1"], move({"a": {"b": 50}, "x": {"$eq": 0}}, "s1"))
        self.refused(61, move, {"a.b": {"$gt": 150}, "x": 0}, "s0")
        self.refused(61, move, {"a.b": 150}, "s0")

    # --- indexes, drops
    def test_indexes_are_on_all_shards_or_on_none(self):
        self.shard({"x": 1})
        self.rig.coordinate(self.db, {"createIndexes": "c", "indexes": [{"key": {"y": 1}, "name": "y"}]}, on=self.db)
        for shard in self.rig.shards:
            self.assertEqual(["_id_", "x_1", "y"], self.indexes(shard))
        # One shard has two documents that the unique index cannot have.
        self.rig.coordinate(self.db, {"split": self.ns, "middle": {"x": 0}})
        self.rig.coordinate(self.db, {"moveChunk": self.ns, "find": {"x": 5}, "to": "s1"})
        self.sharded("s1", {"insert": "c", "documents": [{"_id": 1, "x": 1, "z": 1}, {"_id": 2, "x": 1, "z": 1}]})
        unique = {"createIndexes": "c", "indexes": [{"key": {"x": 1, "z": 1}, "name": "u", "unique": True}]}
        self.refused(11000, self.rig.coordinate, self.db, unique, on=self.db)
        self.refused(67, self.rig.coordinate, self.db,
                     {"createIndexes": "c", "indexes": [{"key": {"z": 1}, "name": "z", "unique": True}]}, on=self.db)
        for shard in self.rig.shards:
            self.assertEqual(["_id_", "x_1", "y"], self.indexes(shard))
        self.refused(370, self.rig.coordinate, self.db, {"dropIndexes": "c", "index": "x_1"}, on=self.db)
        self.rig.coordinate(self.db, {"dropIndexes": "c", "index": "*"}, on=self.db)
        for shard in self.rig.shards:
            self.assertEqual(["_id_", "x_1"], self.indexes(shard))

    def test_drop_and_drop_database(self):
        self.shard({"h": "hashed"})
        self.sharded("s1", {"insert": "c", "documents": [{"_id": 1, "h": 1}]})
        self.rig.coordinate(self.db, {"drop": "c"}, on=self.db)
        self.assertIsNone(self.rig.chunks(self.ns))
        self.assertEqual(0, self.local("s1").count_documents({}))
        self.shard({"x": 1})
        self.rig.coordinate(self.db, {"dropDatabase": 1}, on=self.db)
        self.assertEqual({}, self.rig.get(f"dbs/{self.db}"))
        for shard in self.rig.shards:
            self.assertNotIn(self.db, self.rig.clients[shard].list_database_names())

    def test_only_changes_of_collections_are_coordinated(self):
        self.refused(2, self.rig.coordinate, self.db, {"insert": "c", "documents": [{"_id": 1}]}, on=self.db)
        self.assertNotIn(self.db, self.rig.clients["s0"].list_database_names())
        self.rig.coordinate(self.db, {"create": "c"}, on=self.db)
        index = {"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]}
        self.assertEqual([2], [one["numIndexesAfter"] for one in
                               self.rig.coordinate(self.db, index, on=self.db)["raw"].values()])
        self.rig.coordinate(self.db, {"renameCollection": self.ns, "to": f"{self.db}.d"})
        self.refused(26, self.rig.coordinate, self.db, {"renameCollection": self.ns, "to": f"{self.db}.e"})

    def test_rename(self):
        self.shard({"x": 1})
        self.rig.coordinate(self.db, {"split": self.ns, "middle": {"x": 0}})
        self.rig.coordinate(self.db, {"moveChunk": self.ns, "find": {"x": 5}, "to": "s1"})
        self.sharded("s1", {"insert": "c", "documents": [{"_id": 1, "x": 5}]})
        old = self.rig.shard_version(self.ns, "s1")
        self.rig.coordinate(self.db, {"renameCollection": self.ns, "to": f"{self.db}.d"})
        self.assertIsNone(self.rig.chunks(self.ns))
        self.assertEqual(["s0", "s1"], [chunk["shard"] for chunk in self.rig.chunks(f"{self.db}.d")])
        self.refused(13388, self.rig.command, "s1", {"find": "c", "shardVersion": old}, self.db)
        version = self.rig.shard_version(f"{self.db}.d", "s1")
        found = self.rig.command("s1", {"find": "d", "shardVersion": version}, self.db)
        self.assertEqual([{"_id": 1, "x": 5}], found["cursor"]["firstBatch"])

    # --- faults
    def change(self, i):
        """One step through the life of a collection; a repeated one is fine."""
        commands = [
            ({"shardCollection": self.ns, "key": {"h": "hashed"}}, "admin"),
            ({"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]}, self.db),
            ({"collMod": "c", "validationLevel": "moderate"}, self.db),
            ({"dropIndexes": "c", "index": "a"}, self.db),
            ({"drop": "c"}, self.db),
        ]
        command, on = commands[i % len(commands)]
        return self.rig.coordinate(self.db, command, on=on)

    def check_equal(self):
        self.assertEqual({}, {k: v for k, v in self.rig.get(f"ddl/{self.db}").items() if not v["over"]})
        record = self.rig.get(f"colls/{self.ns}")
        found = {}
        for shard in self.rig.shards:
            listed = self.rig.clients[shard][self.db].command("listCollections")["cursor"]["firstBatch"]
            found[shard] = listed and (listed[0]["info"]["uuid"], listed[0]["options"], self.indexes(shard))
        if record:
            self.assertEqual(found["s0"], found["s1"])
        else:
            self.assertFalse(found["s1"])

    def storm(self, fault, rounds=4, seed=7):
        chance = random.Random(seed)
        done = 0
        for i in range(rounds * 5):
            ended = threading.Event()

            def strike():
                ended.wait(chance.uniform(0, 0.25))
                fault()
            thread = threading.Thread(target=strike)
            if i % 3 == 0:
                thread.start()
            try:
                self.change(i)
                done += 1
            except PyMongoError:
                pass
            ended.set()
            if thread.ident is not None:
                thread.join()
            for shard in self.rig.shards:
                self.rig.wait_primary(shard)
            self.rig.wait(lambda: all(lock["over"] for lock in self.rig.get(f"ddl/{self.db}").values()), 60,
                          "every change ends")
            self.check_equal()
        self.assertGreater(done, rounds)

    def test_the_coordinator_dies(self):
        self.storm(lambda: self.rig.restart("s0"))

    def test_another_shard_dies(self):
        self.storm(lambda: self.rig.restart("s1"))

    def test_etcd_is_away(self):
        def fault():
            self.rig.etcd.signal(signal.SIGSTOP)
            time.sleep(0.7)
            self.rig.etcd.signal(signal.SIGCONT)
        self.storm(fault)


if __name__ == "__main__":
    counted.main()
