# SPDX-License-Identifier: Apache-2.0
"""Change streams through routers: of all shards, over schema changes, failovers and new shards, without gap or repetition."""
import contextlib
import threading
import time
import unittest

import pymongo
from bson import Timestamp
from pymongo.errors import OperationFailure

import counted
import rig

CLUSTER = None


def setUpModule():
    global CLUSTER
    CLUSTER = rig.Cluster(members=3, routers=2)


def tearDownModule():
    CLUSTER.close()


def read(stream, count, seconds=60):
    """The next events, or those that came in time."""
    events, until = [], time.time() + seconds
    while len(events) < count and time.time() < until and stream.alive:
        event = stream.try_next()
        if event is not None:
            events.append(event)
    return events


class Stream:
    """A stream with options that not every driver knows, on one router."""

    def __init__(self, name, target, **options):
        self.client = pymongo.MongoClient("mongodb://" + CLUSTER.processes()["r0"]["host"])
        with CLUSTER.client.start_session() as before, self.client.start_session() as own:
            # What was done through the other router lies before the stream's start.
            CLUSTER.client.admin.command("ping", session=before)
            own.advance_cluster_time(before.cluster_time)
            self.client.admin.command("ping", session=own)
        self.database, self.alive, self.batch = self.client[name], True, []
        self.take(self.database.command({"aggregate": target, "pipeline": [{"$changeStream": options}], "cursor": {}}))

    def take(self, reply):
        cursor = reply["cursor"]
        self.batch += cursor.get("firstBatch", cursor.get("nextBatch"))
        self.id, self.collection = cursor["id"], cursor["ns"].split(".", 1)[1]
        self.alive = bool(self.id or self.batch)

    def try_next(self):
        if not self.batch and self.id:
            self.take(self.database.command({"getMore": self.id, "collection": self.collection, "maxTimeMS": 200}))
        return self.batch.pop(0) if self.batch else None

    def close(self):
        self.client.close()


class Streams(unittest.TestCase):
    def setUp(self):
        self.client = CLUSTER.client
        self.db = self.client["s_" + self._testMethodName[5:40]]
        self.client.drop_database(self.db.name)
        self.c = self.sharded("c")

    def sharded(self, name, key=None):
        key = key or {"x": 1}
        ns = f"{self.db.name}.{name}"
        self.client.admin.command("shardCollection", ns, key=key)
        if all(order == 1 for order in key.values()):
            middle = {field: 0 for field in key}
            self.client.admin.command("split", ns, middle=middle)
            owner = self.client.config.databases.find_one({"_id": self.db.name})["primary"]
            other = "s1" if owner == "s0" else "s0"
            self.client.admin.command("moveChunk", ns, find=middle, to=other)
        return self.db[name]

    def test_events_name_documents_by_their_shard_key(self):
        nested = self.sharded("n", {"a.b": 1, "h": 1})
        with self.db.watch(max_await_time_ms=200) as stream:
            self.c.insert_one({"_id": 1, "x": -5})
            self.c.update_one({"_id": 1, "x": -5}, {"$set": {"y": 1}})
            self.c.replace_one({"_id": 1, "x": -5}, {"x": -5, "z": 1})
            self.c.delete_one({"_id": 1, "x": -5})
            nested.insert_one({"_id": 2, "a": {"b": 7}, "h": 3})
            nested.delete_one({"_id": 2, "a.b": 7, "h": 3})
            events = read(stream, 6)
        self.assertEqual(["insert", "update", "replace", "delete", "insert", "delete"],
                         [e["operationType"] for e in events])
        for event in events[:4]:
            self.assertEqual([("x", -5), ("_id", 1)], list(event["documentKey"].items()))
        for event in events[4:]:
            self.assertEqual([("a.b", 7), ("h", 3), ("_id", 2)], list(event["documentKey"].items()))
        self.assertEqual(sorted(e["_id"]["_data"] for e in events), [e["_id"]["_data"] for e in events])

    def test_changes_of_the_schema_are_told_once(self):
        stream = Stream(self.db.name, 1, showExpandedEvents=True)
        d = self.sharded("d")
        d.create_index("y")
        d.insert_one({"_id": 1, "x": 5})
        with self.assertRaises(OperationFailure):  # on the other shard alone, and nothing is told of what is undone
            self.db.d.insert_many([{"_id": i, "x": 5, "z": 1} for i in (2, 3)])
            d.create_index([("x", 1), ("z", 1)], unique=True)
        d.drop_index("y_1")
        self.db.command("collMod", "d", validator={"z": {"$exists": False}})
        d.rename("e")
        self.db.e.drop()
        events = read(stream, 11)
        events += read(stream, 5, 1)
        stream.close()
        kinds = [e["operationType"] for e in events]
        self.assertEqual(["create", "createIndexes", "shardCollection", "createIndexes", "insert", "insert", "insert",
                          "dropIndexes", "modify", "rename", "drop"], kinds)
        self.assertEqual([{"v": 2, "key": {"y": 1}, "name": "y_1"}], events[3]["operationDescription"]["indexes"])
        self.assertEqual({"x": 1}, events[2]["operationDescription"]["shardKey"])

    def test_a_dropped_collection_ends_its_stream(self):
        with self.c.watch(max_await_time_ms=200) as stream:
            self.c.insert_many([{"_id": i, "x": i - 5} for i in range(10)])
            self.c.drop()
            events = read(stream, 12)
            self.assertEqual(["insert"] * 10 + ["drop", "invalidate"], [e["operationType"] for e in events])
            self.assertFalse(stream.alive)
        with self.assertRaises(OperationFailure):
            self.c.watch(resume_after=events[-1]["_id"])
        self.sharded("c")
        with self.c.watch(start_after=events[-1]["_id"], max_await_time_ms=200) as stream:
            self.c.insert_one({"_id": 1, "x": 3})
            self.assertEqual([1], [e["documentKey"]["_id"] for e in read(stream, 1)])

    def test_another_router_goes_on(self):
        hosts = sorted(p["host"] for name, p in CLUSTER.processes().items() if name in ("r0", "r1"))
        self.assertEqual(2, len(hosts))
        routers = [pymongo.MongoClient("mongodb://" + host) for host in hosts]
        with routers[0][self.db.name].c.watch(max_await_time_ms=200) as stream:
            self.c.insert_many([{"_id": i, "x": (-1) ** i * i} for i in range(20)])
            events = read(stream, 20)
        self.assertEqual(20, len(events))
        for place in (0, 7, 18):
            with routers[1][self.db.name].c.watch(resume_after=events[place]["_id"],
                                                  max_await_time_ms=200) as stream:
                self.assertEqual([e["_id"] for e in events[place + 1:]],
                                 [e["_id"] for e in read(stream, 19 - place)])
        with routers[1][self.db.name].c.watch(start_at_operation_time=events[3]["clusterTime"],
                                              max_await_time_ms=200) as stream:
            self.assertEqual([e["_id"] for e in events[3:]], [e["_id"] for e in read(stream, 17)])
        for router in routers:
            router.close()

    def test_a_shard_that_comes(self):
        """An open stream tells of it like of the others, and so does one that goes on from before."""
        admin, ns = self.client.admin, self.c.full_name
        with contextlib.ExitStack() as running:
            with self.c.watch(max_await_time_ms=200) as stream:
                self.c.insert_many([{"_id": x, "x": x} for x in (-1, 1)])
                events = read(stream, 1)
                before = events[0]["_id"]
                admin.command("addShard", rig.new_set(running, "s2", "http://" + CLUSTER.processes()["etcd"]["host"]))
                admin.command("split", ns, middle={"x": 100})
                admin.command("moveChunk", ns, find={"x": 100}, to="s2")
                for x in (200, -200, 150, 50):
                    self.c.insert_one({"_id": x, "x": x})
                events += read(stream, 5)
            told = [event["documentKey"]["_id"] for event in events]
            self.assertEqual({-1, 1}, set(told[:2]))
            self.assertEqual([200, -200, 150, 50], told[2:])
            with self.c.watch(resume_after=before, max_await_time_ms=200) as again:
                self.assertEqual(told[1:], [event["documentKey"]["_id"] for event in read(again, 5)])
            self.client.drop_database(self.db.name)
            for state in ("started", "completed"):
                self.assertEqual(state, admin.command("removeShard", "s2")["state"])

    def test_images_and_documents_of_today(self):
        self.db.command("collMod", "c", changeStreamPreAndPostImages={"enabled": True})
        stream = Stream(self.db.name, "c", fullDocument="required", fullDocumentBeforeChange="required")
        for x in (-1, 1):
            self.c.insert_one({"_id": x, "x": x, "n": 0})
            self.c.update_one({"_id": x, "x": x}, {"$inc": {"n": 1}})
        events = read(stream, 4)
        stream.close()
        self.assertEqual([0, 1, 0, 1], [e["fullDocument"]["n"] for e in events])
        self.assertEqual([None, 0, None, 0], [(e.get("fullDocumentBeforeChange") or {}).get("n") for e in events])
        with self.c.watch(full_document="updateLookup", max_await_time_ms=200) as stream:
            self.c.update_one({"_id": 1, "x": 1}, {"$inc": {"n": 1}})
            self.assertEqual(2, read(stream, 1)[0]["fullDocument"]["n"])

    def test_no_gap_and_no_repetition_over_failovers(self):
        failed, done, written = [], threading.Event(), []

        def write():
            client = pymongo.MongoClient(CLUSTER.uri, retryWrites=True)
            c, i = client[self.db.name].c, 0
            while not done.is_set() or i < 200:
                try:
                    c.insert_one({"_id": i, "x": i if i % 2 else -i})
                    written.append(i)
                except pymongo.errors.PyMongoError as error:
                    failed.append((i, error))
                i += 1
                time.sleep(0.01)
            client.close()

        writer = threading.Thread(target=write)
        events = []
        with self.c.watch(max_await_time_ms=200) as stream:
            writer.start()
            events += read(stream, 20)
            for shard in ("s0", "s1"):
                for name, process in CLUSTER.processes().items():
                    if name.startswith(shard + "/"):
                        direct = CLUSTER.direct(name)
                        primary = direct.admin.command("hello").get("isWritablePrimary")
                        if primary:
                            try:
                                direct.admin.command("replSetStepDown", 20, force=True)
                            except pymongo.errors.PyMongoError:
                                pass
                        direct.close()
                events += read(stream, 40)
            done.set()
            writer.join(120)
            while True:
                more = read(stream, 1, 5)
                if not more:
                    break
                events += more
        seen = [e["documentKey"]["_id"] for e in events]
        self.assertEqual(len(seen), len(set(seen)), "an event came twice")
        self.assertEqual([], sorted(set(written) - set(seen)), "events are missing")
        tokens = [e["_id"]["_data"] for e in events]
        self.assertEqual(sorted(tokens), tokens)

    def test_sessions_read_what_they_wrote(self):
        self.c.insert_many([{"_id": i, "x": i - 50} for i in range(100)])
        secondaries = self.c.with_options(read_preference=pymongo.ReadPreference.SECONDARY,
                                          read_concern=pymongo.read_concern.ReadConcern("majority"))
        with self.client.start_session(causal_consistency=True) as session:
            for n in range(20):
                x = n - 10
                self.c.update_one({"_id": x + 50, "x": x}, {"$set": {"n": n}}, session=session)
                self.assertEqual(n, secondaries.find_one({"_id": x + 50}, session=session)["n"])
                # The other shard has nothing of that time: it has to reach it first.
                self.assertEqual(100, len(list(secondaries.find({}, session=session))))
            self.assertIsInstance(session.operation_time, Timestamp)
            self.assertLessEqual(session.operation_time, session.cluster_time["clusterTime"])

    def test_idle_streams_hold_no_thread(self):
        streams = [self.c.watch(max_await_time_ms=2000) for _ in range(40)]
        waiting = [threading.Thread(target=stream.try_next) for stream in streams]
        for thread in waiting:
            thread.start()
        self.c.insert_one({"_id": 1, "x": 1})
        self.assertEqual(1, self.c.count_documents({}))
        for thread in waiting:
            thread.join(60)
            self.assertFalse(thread.is_alive())
        for stream in streams:
            stream.close()


if __name__ == "__main__":
    counted.main()
