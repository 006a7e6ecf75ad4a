# SPDX-License-Identifier: Apache-2.0
"""Reads with read concern snapshot over several shards: all of them show one cluster time."""
import threading
import unittest

import bson
import pymongo
from bson import SON
from pymongo.errors import OperationFailure
from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import ReadPreference

import counted
import rig

CLUSTER = None
DOCUMENTS = 300


def setUpModule():
    global CLUSTER
    CLUSTER = rig.Cluster(members=3, routers=2)
    admin = CLUSTER.client.admin
    admin.command("enableSharding", "db", primaryShard="s0")
    admin.command("shardCollection", "db.spread", key={"_id": "hashed"})
    admin.command("shardCollection", "db.pair", key={"x": 1})
    admin.command("split", "db.pair", middle={"x": 0})
    admin.command("moveChunk", "db.pair", find={"x": 1}, to="s1")
    CLUSTER.client.db.pair.insert_many([{"_id": 0, "x": -1, "n": 0}, {"_id": 1, "x": 1, "n": 0}])


def tearDownModule():
    CLUSTER.close()


def routers():
    return sorted(p["host"] for name, p in CLUSTER.processes().items() if name in ("r0", "r1"))


class SnapshotSession:
    """What drivers do with a session for snapshots, of which Debian's pymongo knows nothing."""

    def __init__(self, db):
        self.db = db
        self.at = {}

    def __enter__(self):
        self.session = self.db.client.start_session(causal_consistency=False)
        return self

    def __exit__(self, *_):
        self.session.end_session()

    def reply(self, name, collection, preference=ReadPreference.PRIMARY, **options):
        concern = {"level": "snapshot", **self.at}
        reply = self.db.command(SON([(name, collection), *options.items(), ("readConcern", concern)]),
                                read_preference=preference, session=self.session)
        self.at = self.at or {"atClusterTime": reply.get("cursor", reply)["atClusterTime"]}
        return reply

    def rest(self, collection, cursor):
        """Of a cursor's rows those that come after its first batch."""
        rows = []
        while cursor["id"] != 0:
            more = SON([("getMore", cursor["id"]), ("collection", collection)])
            cursor = self.db.command(more, session=self.session)["cursor"]
            rows += cursor["nextBatch"]
        return rows

    def rows(self, name, collection, preference=ReadPreference.PRIMARY, **options):
        cursor = self.reply(name, collection, preference, **options)["cursor"]
        return cursor["firstBatch"] + self.rest(collection, cursor)

    def find(self, collection="spread", **options):
        return self.rows("find", collection, **options)

    def aggregate(self, pipeline):
        return self.rows("aggregate", "spread", pipeline=pipeline, cursor={})


class Secondaries(unittest.TestCase):
    def test_they_come_to_know_what_nobody_has_used(self):
        for i in range(3):
            CLUSTER.client.admin.command("enableSharding", f"fresh{i}", primaryShard="s1")
            found = CLUSTER.client[f"fresh{i}"].command("find", "c", read_preference=ReadPreference.SECONDARY)
            self.assertEqual([], found["cursor"]["firstBatch"])

    def test_they_refuse_what_never_was(self):
        name = next(n for n, p in CLUSTER.processes().items() if n.startswith("s1/") and p["role"] == "secondary")
        with CLUSTER.direct(name) as secondary, self.assertRaises(OperationFailure) as failed:
            never = {"uuid": bson.Binary(bytes(16), 4), "timestamp": bson.Timestamp(1, 1), "lastMod": 1}
            unsharded = {"e": bson.ObjectId("0" * 24), "t": bson.Timestamp(0, 0), "v": bson.Timestamp(0, 0)}
            secondary.never.command("find", "c", shardVersion=unsharded, databaseVersion=never,
                                    read_preference=ReadPreference.SECONDARY)
        self.assertEqual(249, failed.exception.code)


class Snapshot(unittest.TestCase):
    def setUp(self):
        # One router: a cursor's next batch has to be asked for where it was opened.
        self.client = pymongo.MongoClient("mongodb://" + routers()[0])
        self.addCleanup(self.client.close)
        self.db = self.client.db
        self.db.spread.delete_many({})
        self.db.spread.insert_many([{"_id": i, "n": 0} for i in range(DOCUMENTS)])

    def change(self):
        self.db.spread.update_many({}, {"$inc": {"n": 1}})
        self.db.spread.insert_one({"_id": DOCUMENTS, "n": -1})
        self.db.spread.delete_one({"_id": 0})

    def test_a_session_reads_one_time(self):
        with SnapshotSession(self.db) as session:
            self.assertEqual(DOCUMENTS, len(session.find()))
            self.change()
            self.assertEqual(list(range(DOCUMENTS)), sorted(d["_id"] for d in session.find()))
            self.assertEqual([0], session.reply("distinct", "spread", key="n")["values"])
            total = session.aggregate([{"$group": {"_id": None, "c": {"$sum": 1}, "n": {"$max": "$n"}}}])
            self.assertEqual([{"_id": None, "c": DOCUMENTS, "n": 0}], total)
            self.assertEqual([{"_id": 0, "n": 0}], session.find(filter={"_id": 0}))
        self.assertEqual([-1, 1], sorted(self.db.spread.distinct("n")))

    def test_the_first_read_fixes_the_time_of_all_shards(self):
        """Also of those that it does not read."""
        for first in ({"x": -1}, {"x": 1}):
            self.db.pair.update_many({}, {"$set": {"n": 0}})
            with SnapshotSession(self.db) as session:
                self.assertEqual([0], [d["n"] for d in session.find("pair", filter=first)])
                self.db.pair.update_many({}, {"$set": {"n": 7}})
                self.db.unsharded.insert_one({})
                self.assertEqual([0, 0], [d["n"] for d in session.find("pair")])
        self.db.pair.update_many({}, {"$set": {"n": 0}})

    def test_a_cursor_stays_in_its_time(self):
        with SnapshotSession(self.db) as session:
            cursor = session.reply("find", "spread", batchSize=10)["cursor"]
            self.change()
            seen = cursor["firstBatch"] + session.rest("spread", cursor)
            self.assertEqual(list(range(DOCUMENTS)), sorted(d["_id"] for d in seen))
            self.assertEqual({0}, {d["n"] for d in seen})

    def test_the_reply_tells_its_time(self):
        def run(*command, **at):
            return self.db.command(SON([*command, ("readConcern", {"level": "snapshot", **at})]))
        found = run(("find", "spread"), ("batchSize", 1))
        time = found["cursor"]["atClusterTime"]
        self.change()
        again = run(("find", "spread"), ("sort", {"_id": 1}), ("limit", 1), atClusterTime=time)
        self.assertEqual([{"_id": 0, "n": 0}], again["cursor"]["firstBatch"])
        self.assertEqual(time, again["cursor"]["atClusterTime"])
        self.assertEqual(time, run(("distinct", "spread"), ("key", "n"), atClusterTime=time)["atClusterTime"])
        grouped = run(("aggregate", "spread"), ("pipeline", [{"$count": "n"}]), ("cursor", {}), atClusterTime=time)
        self.assertEqual([{"n": DOCUMENTS}], grouped["cursor"]["firstBatch"])
        self.assertEqual(time, grouped["cursor"]["atClusterTime"])
        missing = run(("find", "missing"))
        self.assertIsInstance(missing["cursor"]["atClusterTime"], bson.Timestamp)

    def test_joined_collections_are_of_the_same_time(self):
        pipeline = [{"$match": {"_id": {"$lt": 20}}},
                    {"$lookup": {"from": "spread", "localField": "_id", "foreignField": "_id", "as": "same"}},
                    {"$unionWith": {"coll": "spread", "pipeline": [{"$match": {"_id": {"$gte": DOCUMENTS - 5}}}]}}]
        with SnapshotSession(self.db) as session:
            session.find(filter={"_id": 1})
            self.change()
            rows = session.aggregate(pipeline)
            self.assertEqual(25, len(rows))
            self.assertEqual({0}, {row["n"] for row in rows})
            self.assertEqual({0}, {one["n"] for row in rows for one in row.get("same", [])})

    def test_secondaries_show_the_same(self):
        for _ in range(5):
            with SnapshotSession(self.db) as session:
                before = {d["n"] for d in session.find(preference=ReadPreference.SECONDARY)}
                self.assertEqual(1, len(before))
                self.db.spread.update_many({}, {"$inc": {"n": 1}})
                for _ in range(4):  # whichever of them answers
                    self.assertEqual(before, {d["n"] for d in session.find(preference=ReadPreference.SECONDARY)})

    def test_what_was_placed_anew_is_not_shown_as_it_was(self):
        self.db.moved.insert_one({"_id": 1})
        with SnapshotSession(self.db) as session:
            session.find("moved")
            self.db.moved.delete_many({})
            self.client.admin.command("shardCollection", "db.moved", key={"_id": 1})
            self.client.admin.command("moveChunk", "db.moved", find={"_id": 1}, to="s1")
            with self.assertRaises(OperationFailure) as refused:
                session.find("moved")
            self.assertEqual(246, refused.exception.code)
            self.db.moved.drop()
            with self.assertRaises(OperationFailure) as refused:
                session.find("moved")
            self.assertEqual(246, refused.exception.code)

    def test_under_load_every_read_is_one_cut(self):
        """One client writes to the first shard, then to the other; readers come by another router. No read may show
        the second write of a pair without its first, nor be a pair behind."""
        hosts = routers()
        stop = threading.Event()
        problems = []

        def write():
            with pymongo.MongoClient("mongodb://" + hosts[0]) as client:
                n = 0
                while not stop.is_set():
                    n += 1
                    client.db.pair.update_one({"x": -1}, {"$set": {"n": n}})
                    client.db.pair.update_one({"x": 1}, {"$set": {"n": n}})

        def load(shard):
            with pymongo.MongoClient("mongodb://" + hosts[0]) as client:
                while not stop.is_set():
                    client.db.pair.update_one({"x": shard}, {"$inc": {"other": 1}})

        self.db.pair.update_many({}, {"$set": {"n": 0}})
        threads = [threading.Thread(target=write), *(threading.Thread(target=load, args=[x]) for x in (-1, 1))]
        for thread in threads:
            thread.start()
        reads = 0
        with pymongo.MongoClient("mongodb://" + hosts[-1]) as client:
            pair = client.db.get_collection("pair", read_concern=ReadConcern("snapshot"))
            for _ in range(300):
                first, second = (d["n"] for d in sorted(pair.find(), key=lambda d: d["x"]))
                reads += 1
                if not second <= first <= second + 1:
                    problems.append((first, second))
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual([], problems)
        self.assertEqual(300, reads)


if __name__ == "__main__":
    counted.main()
