# SPDX-License-Identifier: Apache-2.0
"""A shard that is slow or dead fails its own requests in time, and nobody else's; many clients that are idle or wait."""
import os
import signal
import socket
import threading
import time
import unittest

import pymongo
from pymongo.errors import OperationFailure, PyMongoError

import counted
import rig

CLUSTER = None
IDLE = 1000
WAITING = 200


def setUpModule():
    global CLUSTER
    CLUSTER = rig.Cluster(options=["--setParameter=enableTestCommands=1"])


def tearDownModule():
    CLUSTER.close()


def pause(pid):
    """Stops the process; returns when all of its threads have stopped."""
    os.kill(pid, signal.SIGSTOP)
    states = ["R"]
    while set(states) != {"T"}:
        states = []
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii", errors="replace") as file:
                states.append(file.read().rpartition(")")[2].split()[0])


class Failing(unittest.TestCase):
    def setUp(self):
        self.client = CLUSTER.client
        admin = self.client.admin
        self.client.drop_database("f")
        admin.command("enableSharding", "f", primaryShard="s0")
        admin.command("shardCollection", "f.c", key={"x": 1})
        admin.command("split", "f.c", middle={"x": 0})
        admin.command("moveChunk", "f.c", find={"x": 1}, to="s1")
        self.c = self.client.f.c
        self.c.insert_many([{"_id": i, "x": i} for i in range(-5, 5)])

    def test_a_paused_shard(self):
        pid = CLUSTER.processes()["s1/0"]["pid"]
        pause(pid)
        try:
            for _ in range(3):
                with self.assertRaises(OperationFailure) as failed:
                    list(self.c.find({"x": 3}).max_time_ms(300))
                self.assertEqual(50, failed.exception.code)
                self.assertEqual(1, self.c.count_documents({"x": -3}))
                self.assertEqual(1, self.c.update_one({"x": -3}, {"$inc": {"n": 1}}).modified_count)
            with self.assertRaises(OperationFailure) as failed:
                self.client.f.command("update", "c", updates=[{"q": {}, "u": {"$inc": {"m": 1}}, "multi": True}],
                                      maxTimeMS=300)
            self.assertEqual(50, failed.exception.code)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(1, self.c.count_documents({"x": 3}))

    def test_a_paused_shard_is_not_waited_for_without_end(self):
        """Also by those who set no limit. A guard ends the pause, so that a request that waits on succeeds."""
        pid = CLUSTER.processes()["s1/0"]["pid"]
        plain = pymongo.MongoClient(CLUSTER.uri, retryWrites=False)
        self.addCleanup(plain.close)
        cursor = plain.f.c.find({"x": {"$gte": 0}}, batch_size=2)
        next(cursor)
        pause(pid)
        guard = threading.Timer(120, os.kill, (pid, signal.SIGCONT))
        guard.start()
        try:
            reply = plain.f.command("insert", "c", documents=[{"_id": 70, "x": 70}])
            self.assertEqual([6], [error["code"] for error in reply["writeErrors"]])
            with self.assertRaises(OperationFailure) as failed:
                list(cursor)
            self.assertEqual(6, failed.exception.code)
        finally:
            guard.cancel()
            os.kill(pid, signal.SIGCONT)
        for _ in range(200):
            try:
                if self.c.count_documents({"x": 3}, maxTimeMS=1000) == 1:
                    break
            except PyMongoError:
                time.sleep(0.1)
        self.assertEqual(1, self.c.count_documents({"x": 3}))

    def test_a_dead_shard_and_its_return(self):
        CLUSTER.tool("kill", "s1/0")
        self.assertEqual(1, self.c.count_documents({"x": -3}))
        refused = self.client.f.command("insert", "c", documents=[{"_id": 50, "x": 50}], maxTimeMS=20000)
        self.assertEqual([6], [error["code"] for error in refused["writeErrors"]])
        self.assertEqual(1, self.client.f.command("insert", "c", documents=[{"_id": -50, "x": -50}])["n"])
        CLUSTER.tool("start", "s1/0")
        for _ in range(200):
            try:
                if self.c.count_documents({"x": 3}, maxTimeMS=1000) == 1:
                    break
            except PyMongoError:
                time.sleep(0.1)
        self.assertEqual(1, self.c.count_documents({"x": 3}))

    def lock_is_free(self, name):
        store = CLUSTER.processes()["etcd"]["host"]
        return all(lock["over"] for lock in rig.etcd_values(store, "ddl/" + name).values())

    def refused_in_time(self, change, used):
        """The change needs a dead shard, the collection that it changes is used meanwhile."""
        refused = []

        def run():
            try:
                change()
            except PyMongoError as error:
                refused.append(error)
        thread = threading.Thread(target=run)
        thread.start()
        for i in range(200):
            used.find_one({"x": -3}, max_time_ms=20000)
            used.database.command("insert", used.name, documents=[{"x": -100 - i}], maxTimeMS=20000)
            if not thread.is_alive():
                break
            time.sleep(0.1)
        thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertEqual([6], [error.code for error in refused])
        used.find_one({"x": -3}, max_time_ms=20000)

    def test_changes_that_a_dead_shard_keeps_from_being_made(self):
        """What they block is blocked for a few seconds, and they are undone as far as shards are there."""
        admin = self.client.admin
        plain = self.client.f.plain
        plain.insert_many([{"_id": i, "x": i} for i in range(10)])
        plain.create_index("x")
        admin.command("shardCollection", "f.e", key={"x": 1})
        CLUSTER.tool("kill", "s1/0")
        try:
            self.refused_in_time(lambda: admin.command("shardCollection", "f.plain", key={"x": 1}), plain)
            self.refused_in_time(lambda: admin.command("renameCollection", "f.c", to="f.d"), self.c)
            with self.assertRaises(OperationFailure) as failed:
                self.client.f.command("createIndexes", "e", indexes=[{"key": {"y": 1}, "name": "y"}], maxTimeMS=500)
            self.assertEqual(50, failed.exception.code)
        finally:
            CLUSTER.tool("start", "s1/0")
        for _ in range(600):
            if self.lock_is_free("f/"):
                break
            time.sleep(0.1)
        self.assertTrue(self.lock_is_free("f/"))
        admin.command("shardCollection", "f.plain", key={"x": 1})
        admin.command("renameCollection", "f.c", to="f.d")
        self.assertEqual({"_id_", "x_1"}, set(self.client.f.e.index_information()))

    def test_what_is_decided_waits_for_a_dead_shard_alone(self):
        """Many changes of its collection wait behind it, and none of another collection does."""
        held = "A change is held by a fail point"
        seen = CLUSTER.log("s1/0").count(held)
        direct = CLUSTER.direct("s1/0")
        # Asked to prepare, done, noted; asked to finish.
        direct.admin.command("configureFailPoint", "hangAtStepOfShardedChange", mode={"skip": 3})
        direct.close()
        failed = []

        def change():
            try:
                self.client.f.command("collMod", "c", validationLevel="moderate")
            except PyMongoError as error:
                failed.append(error)
        threads = [threading.Thread(target=change) for _ in range(20)]
        threads[0].start()
        while CLUSTER.log("s1/0").count(held) == seen:
            time.sleep(0.05)
        CLUSTER.tool("kill", "s1/0")
        try:
            for thread in threads[1:]:
                thread.start()
            time.sleep(2)  # they are there
            self.client.f.command("create", "other", maxTimeMS=30000)
            self.assertTrue(threads[0].is_alive())
            with self.assertRaises(OperationFailure) as late:
                self.client.f.command("collMod", "c", validationLevel="off", maxTimeMS=500)
            self.assertEqual(50, late.exception.code)
        finally:
            CLUSTER.tool("start", "s1/0")
        for thread in threads:
            thread.join(120)
            self.assertFalse(thread.is_alive())
        self.assertEqual([], failed)
        self.assertEqual("moderate", self.c.options()["validationLevel"])

    def build_and_drop(self, name, shard, documents, drop):
        """What became of an index build that was under way on the shard when its collection was dropped."""
        collection = self.client.f[name]
        text = " ".join(f"word{i}" for i in range(300))
        for first in range(0, documents, 500):
            collection.insert_many([{"x": i + 1, "t": f"{text} {i}"} for i in range(first, first + 500)])
        built = []

        def build():
            try:
                built.append(self.client.f.command("createIndexes", name, indexes=[{"key": {"t": "text"}, "name": "t"}]))
            except OperationFailure as error:
                built.append(error.code)
        thread = threading.Thread(target=build)
        thread.start()
        with CLUSTER.direct(shard) as direct:
            running = {"msg": {"$regex": "^Index Build"}}
            while thread.is_alive() and not list(direct.admin.aggregate([{"$currentOp": {}}, {"$match": running}])):
                time.sleep(0.01)
        drop()
        thread.join(120)
        self.assertFalse(thread.is_alive())
        return built[0]

    def test_a_drop_ends_index_builds(self):
        """On all shards, as on one server."""
        database = self.client.f

        def again():
            self.client.drop_database("f")
            self.setUp()
        cases = [("c", "s1/0", lambda: database.drop_collection("c")),  # sharded, and its documents are on s1
                 ("u", "s0/0", lambda: database.drop_collection("u")),
                 ("c", "s1/0", lambda: self.client.drop_database("f"))]
        for name, shard, drop in cases:
            with self.subTest(name=name, shard=shard):
                documents = 3000
                while (built := self.build_and_drop(name, shard, documents, drop)) != 276 and documents < 24000:
                    documents *= 2  # it was built before it was dropped
                    again()
                self.assertEqual(276, built)
                self.assertNotIn(name, database.list_collection_names())
                again()

    def test_an_index_that_one_shard_cannot_make_unique(self):
        self.c.create_index([("x", 1), ("y", 1)], name="xy")
        self.c.insert_many([{"_id": i, "x": 3, "y": 1} for i in (100, 101)])
        database = self.client.f
        database.command("collMod", "c", index={"name": "xy", "prepareUnique": True})
        for more in ({}, {"dryRun": True}):
            with self.assertRaises(OperationFailure) as failed:
                database.command("collMod", "c", index={"name": "xy", "unique": True}, **more)
            self.assertEqual(359, failed.exception.code)
            self.assertEqual([{100, 101}], [set(one["ids"]) for one in failed.exception.details["violations"]])
        for shard in ("s0/0", "s1/0"):
            direct = CLUSTER.direct(shard)
            self.assertNotIn("unique", direct.f.c.index_information()["xy"])
            direct.close()
        self.c.delete_one({"_id": 101})
        database.command("collMod", "c", index={"name": "xy", "unique": True})
        for shard in ("s0/0", "s1/0"):
            direct = CLUSTER.direct(shard)
            self.assertTrue(direct.f.c.index_information()["xy"]["unique"])
            direct.close()

    def test_many_that_are_idle_and_many_that_wait(self):
        host, port = CLUSTER.uri[len("mongodb://"):].split("/")[0].split(":")
        idle = [socket.create_connection((host, int(port))) for _ in range(IDLE)]
        database = self.client.f
        database.create_collection("log", capped=True, size=1 << 20)
        database.log.insert_one({"n": 0})
        crowd = pymongo.MongoClient(CLUSTER.uri, maxPoolSize=WAITING + 10)
        seen = []

        def wait():
            cursor = crowd.f.log.find({"n": {"$gt": 0}}, cursor_type=pymongo.CursorType.TAILABLE_AWAIT)
            cursor.max_await_time_ms(20000)
            while cursor.alive:
                for document in cursor:
                    seen.append(document["n"])
                    return

        waiting = [threading.Thread(target=wait) for _ in range(WAITING)]
        for one in waiting:
            one.start()
        time.sleep(2)
        self.assertEqual(10, self.c.count_documents({}))
        database.log.insert_one({"n": 1})
        for one in waiting:
            one.join(60)
        self.assertEqual(WAITING, len([n for n in seen if n == 1]))
        for one in idle:
            one.close()
        crowd.close()


class WithoutTheStore(unittest.TestCase):
    def test_what_routers_know_serves_on(self):
        """Also when something else has changed just before."""
        cluster = rig.Cluster(routers=2)
        self.addCleanup(cluster.close)
        processes = cluster.processes()
        clients = [pymongo.MongoClient("mongodb://" + processes[name]["host"]) for name in ("r0", "r1")]
        for client in clients:
            self.addCleanup(client.close)
        admin = clients[0].admin
        admin.command("enableSharding", "f", primaryShard="s0")
        admin.command("shardCollection", "f.c", key={"x": 1})
        admin.command("split", "f.c", middle={"x": 0})
        admin.command("moveChunk", "f.c", find={"x": 1}, to="s1")
        clients[0].f.c.insert_many([{"_id": i, "x": i} for i in (-1, 1)])
        self.assertEqual(2, clients[1].f.c.count_documents({}))
        admin.command("enableSharding", "unrelated")
        time.sleep(0.5)  # both routers have heard of it
        cluster.tool("kill", "etcd")
        try:
            for i, client in enumerate(clients):
                for x in (-1, 1):
                    self.assertEqual(1, len(list(client.f.c.find({"x": x}))))
                    client.f.c.insert_one({"x": x * (i + 10)})
        finally:
            cluster.tool("start", "etcd")
        self.assertEqual(6, clients[0].f.c.count_documents({}))


if __name__ == "__main__":
    counted.main()
