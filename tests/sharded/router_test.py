# SPDX-License-Identifier: Apache-2.0
"""A router over two shards: what a client sees of it, and databases that lie on one of them."""
import os
import unittest

import bson
import pymongo
from bson import SON
from pymongo.errors import OperationFailure

import counted
import rig
from recorded import Connection

CLUSTER = None


def setUpModule():
    global CLUSTER
    CLUSTER = rig.Cluster()


def tearDownModule():
    CLUSTER.close()


class Router(unittest.TestCase):
    def setUp(self):
        self.client = CLUSTER.client
        self.admin = self.client.admin

    def test_it_says_that_it_is_one(self):
        hello = self.admin.command("hello")
        self.assertEqual("isdbgrid", hello["msg"])
        self.assertTrue(hello["isWritablePrimary"])
        self.assertNotIn("setName", hello)
        with self.assertRaises(OperationFailure) as failed:
            self.admin.command("replSetGetStatus")
        self.assertEqual("mongos", failed.exception.details["info"])

    def test_shards_are_listed(self):
        shards = self.admin.command("listShards")["shards"]
        self.assertEqual(["s0", "s1"], sorted(s["_id"] for s in shards))
        self.assertEqual({"config", "s0", "s1"}, set(self.admin.command("getShardMap")["map"]))
        config = self.client.config
        self.assertEqual(shards, list(config.shards.find().sort("_id", 1)))
        self.assertEqual(1, config.version.count_documents({}))

    def test_a_set_is_added_once(self):
        shard = self.admin.command("listShards")["shards"][0]
        self.assertEqual(shard["_id"], self.admin.command("addShard", shard["host"])["shardAdded"])
        with self.assertRaises(OperationFailure):
            self.admin.command("addShard", "nowhere")

    def test_a_database_lies_on_one_shard(self):
        for name in ["one", "two"]:
            self.client[name].c.insert_one({"_id": 1})
        databases = {d["_id"]: d["primary"] for d in self.client.config.databases.find()}
        self.assertNotEqual(databases["one"], databases["two"])
        self.assertEqual({"one", "two"}, {"one", "two"} & set(self.client.list_database_names()))
        shard = CLUSTER.direct(databases["one"] + "/0")
        self.assertEqual(1, shard.one.c.count_documents({}))
        shard.close()

    def test_documents_of_an_unsharded_collection(self):
        c = self.client.plain.c
        c.drop()
        c.insert_many([{"_id": i, "x": i % 7} for i in range(500)])
        self.assertEqual(500, c.count_documents({}))
        self.assertEqual([6, 13], [d["_id"] for d in c.find({"x": 6}).sort("_id", 1).limit(2)])
        self.assertEqual(list(range(500)), [d["_id"] for d in c.find().sort("_id", 1).batch_size(50)])
        self.assertEqual(list(range(7)), sorted(c.distinct("x")))
        self.assertEqual(72, c.update_many({"x": 1}, {"$set": {"y": 1}}).modified_count)
        self.assertEqual(1, c.delete_one({"_id": 499}).deleted_count)
        self.assertEqual(5, c.find_one_and_update({"_id": 5}, {"$inc": {"n": 1}})["_id"])
        groups = list(c.aggregate([{"$group": {"_id": "$x", "n": {"$sum": 1}}}, {"$sort": {"_id": 1}}]))
        self.assertEqual(499, sum(g["n"] for g in groups))
        c.create_index("x")
        self.assertIn("x_1", c.index_information())
        self.assertEqual(["c"], self.client.plain.list_collection_names())
        c.aggregate([{"$match": {"x": 0}}, {"$out": "d"}])
        self.assertEqual(72, self.client.plain.d.count_documents({}))
        self.client.drop_database("plain")
        self.assertEqual(0, c.count_documents({}))

    def test_a_database_that_is_not_there_is_empty(self):
        c = self.client.nothing.c
        self.assertEqual([], list(c.find()))
        self.assertEqual(0, c.delete_many({}).deleted_count)
        self.assertEqual([], list(c.aggregate([{"$match": {}}])))
        self.assertEqual([], self.client.nothing.list_collection_names())
        self.assertNotIn("nothing", self.client.list_database_names())

    def test_errors_of_shards_reach_clients(self):
        c = self.client.errors.c
        c.drop()
        c.insert_one({"_id": 1})
        with self.assertRaises(pymongo.errors.DuplicateKeyError):
            c.insert_one({"_id": 1})
        with self.assertRaises(OperationFailure) as failed:
            list(c.find({"$nothing": 1}))
        self.assertEqual(2, failed.exception.code)
        with self.assertRaises(OperationFailure) as failed:
            self.client.errors.command("find", "c", shardVersion={})
        self.assertEqual(40415, failed.exception.code)

    def test_a_transaction_on_one_shard(self):
        c = self.client.bank.c
        c.drop()
        c.insert_one({"_id": 1, "n": 0})
        with self.client.start_session() as session:
            with session.start_transaction():
                c.update_one({"_id": 1}, {"$inc": {"n": 1}}, session=session)
                self.assertEqual(1, c.find_one({"_id": 1}, session=session)["n"])
                self.assertEqual(0, c.find_one({"_id": 1})["n"])
            self.assertEqual(1, c.find_one({"_id": 1})["n"])
            session.start_transaction()
            c.update_one({"_id": 1}, {"$inc": {"n": 1}}, session=session)
            session.abort_transaction()
        self.assertEqual(1, c.find_one({"_id": 1})["n"])

    def test_a_change_stream_of_a_collection(self):
        c = self.client.stream.c
        c.drop()
        c.insert_one({"_id": 0})
        with c.watch(max_await_time_ms=200) as stream:
            c.insert_one({"_id": 1})
            self.assertEqual({"_id": 1}, stream.next()["fullDocument"])
            self.assertIsNone(stream.try_next())
            c.insert_one({"_id": 2})
            self.assertEqual({"_id": 2}, stream.next()["fullDocument"])

    def test_the_balancer_can_be_switched(self):
        self.admin.command("balancerStop")
        self.assertEqual("off", self.admin.command("balancerStatus")["mode"])
        self.assertTrue(self.client.config.settings.find_one({"_id": "balancer"})["stopped"])
        self.admin.command("balancerStart")
        self.assertEqual("full", self.admin.command("balancerStatus")["mode"])
        self.client.config.settings.update_one({"_id": "chunksize"}, {"$set": {"value": 64}}, upsert=True)
        self.assertEqual(64, self.client.config.settings.find_one({"_id": "chunksize"})["value"])

    def test_zones(self):
        self.admin.command("addShardToZone", "s0", zone="east")
        self.assertEqual(["east"], self.client.config.shards.find_one({"_id": "s0"})["tags"])
        self.admin.command("updateZoneKeyRange", "z.c", min={"x": 0}, max={"x": 10}, zone="east")
        self.assertEqual(["east"], self.client.config.tags.distinct("tag"))
        for code, command in [
                (178, {"updateZoneKeyRange": "z.c", "min": {"x": 5}, "max": {"x": 15}, "zone": "east"}),
                (177, {"updateZoneKeyRange": "z.c", "min": {"x": 15}, "max": {"x": 25}, "zone": "west"}),
                (163, {"removeShardFromZone": "s0", "zone": "east"}),
                (70, {"addShardToZone": "s9", "zone": "east"})]:
            with self.assertRaises(OperationFailure) as failed:
                self.admin.command(command)
            self.assertEqual(code, failed.exception.code, command)
        self.admin.command("updateZoneKeyRange", "z.c", min={"x": 0}, max={"x": 10}, zone=None)
        self.admin.command("removeShardFromZone", "s0", zone="east")
        self.assertEqual(0, self.client.config.tags.count_documents({}))

    def test_operations_of_all_shards(self):
        operations = self.admin.command("currentOp")["inprog"]
        self.assertLessEqual({"s0", "s1"}, {o["shard"] for o in operations})
        self.assertTrue(all(":" in o["opid"] for o in operations if "opid" in o))


class TwoRouters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = rig.Cluster(routers=2)
        cls.addClassCleanup(cls.cluster.close)
        processes = cls.cluster.processes()
        cls.first, cls.second = (Connection(processes[name]["host"]) for name in ("r0", "r1"))
        cls.addClassCleanup(cls.first.close)
        cls.addClassCleanup(cls.second.close)
        cls.first.command("two", SON(create="c"))

    def test_what_another_router_drops_and_makes_anew(self):
        for i in range(6):
            place = {"primaryShard": f"s{i % 2}"}
            self.assertEqual(1, self.first.command("admin", SON([("enableSharding", "gone"), *place.items()]))["ok"])
            insert = SON([("insert", "c"), ("documents", [{"_id": i}])])
            self.assertEqual(1, self.second.command("gone", insert).get("n"))
            find = SON([("find", "c"), ("filter", {})])
            self.assertEqual([{"_id": i}], self.second.command("gone", find)["cursor"]["firstBatch"])
            self.assertEqual(1, self.first.command("gone", SON(dropDatabase=1))["ok"])
            if i < 2:
                continue  # the other router finds out by itself
            for command in (find, SON(aggregate="c", pipeline=[], cursor={})):
                self.assertEqual([], self.second.command("gone", command)["cursor"]["firstBatch"])
            for command in (SON(count="c"), SON([("delete", "c"), ("deletes", [{"q": {}, "limit": 0}])])):
                self.assertEqual(0, self.second.command("gone", command).get("n"))
        for command in (SON(create="d"), SON([("insert", "d"), ("documents", [{}])])):
            self.second.command("gone", SON(create="c"))
            self.second.command("gone", SON(find="d"))
            self.first.command("gone", SON(dropDatabase=1))
            self.assertEqual(1, self.second.command("gone", command)["ok"])

    def test_a_commit_through_another_router_asks_what_has_come_of_it(self):
        session = SON(id=bson.Binary(os.urandom(16), 4))

        def send(router, database, command, number, **more):
            of = [("lsid", session), ("txnNumber", bson.Int64(number)), ("autocommit", False)]
            return router.command(database, SON([*command.items(), *of, *more.items()]))

        for number, commits in ((1, False), (2, True)):
            insert = SON([("insert", "c"), ("documents", [{"_id": number}])])
            token = send(self.first, "two", insert, number, startTransaction=True)["recoveryToken"]
            if commits:
                self.assertEqual(1, send(self.first, "admin", SON(commitTransaction=1), number)["ok"])
            for _ in range(2):
                reply = send(self.second, "admin", SON(commitTransaction=1), number, recoveryToken=token)
                self.assertEqual(0 if commits else 251, reply.get("code", 0), reply)
                self.assertEqual([] if commits else ["TransientTransactionError"], reply.get("errorLabels", []))
        rows = self.second.command("two", SON(find="c"))["cursor"]["firstBatch"]
        self.assertEqual([{"_id": 2}], rows)


if __name__ == "__main__":
    counted.main()
