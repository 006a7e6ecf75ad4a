# SPDX-License-Identifier: Apache-2.0
"""Commands about the cluster itself: shards that come and go, zones, balancer, config.*."""
import datetime
import unittest

import bson
import bson.binary
import bson.codec_options
from pymongo.errors import OperationFailure

import counted
import rig

CLUSTER = None


def setUpModule():
    global CLUSTER
    CLUSTER = rig.Cluster()


def tearDownModule():
    CLUSTER.close()


class Admin(unittest.TestCase):
    def setUp(self):
        self.client = CLUSTER.client
        self.admin = self.client.admin
        self.config = self.client.get_database("config", bson.codec_options.CodecOptions(
            uuid_representation=bson.binary.UuidRepresentation.STANDARD))

    def code(self, *command, **options):
        try:
            self.admin.command(*command, **options)
        except OperationFailure as error:
            return error.code
        return 0

    def chunks(self, namespace):
        uuid = self.config.collections.find_one({"_id": namespace})["uuid"]
        return [(c["min"], c["shard"]) for c in self.config.chunks.find({"uuid": uuid}).sort("min", 1)]

    def test_the_walk_through(self):
        self.admin.command("enableSharding", "shop", primaryShard="s0")
        self.admin.command("shardCollection", "shop.orders", key={"customer": 1, "at": 1})
        self.admin.command("split", "shop.orders", middle={"customer": 500, "at": bson.MinKey()})
        self.admin.command("moveChunk", "shop.orders", find={"customer": 900, "at": 0}, to="s1")
        orders = self.client.shop.orders
        orders.insert_many([{"_id": i, "customer": i, "at": i % 7} for i in range(1000)])
        plan = orders.find({"customer": 900}).explain()["queryPlanner"]["winningPlan"]
        self.assertEqual("SINGLE_SHARD", plan["stage"])
        plan = orders.find({"at": 3}).explain()["queryPlanner"]["winningPlan"]
        self.assertEqual("SHARD_MERGE", plan["stage"])
        self.assertEqual(1000, orders.count_documents({}))
        self.assertEqual([999, 998], [o["_id"] for o in orders.find().sort("customer", -1).limit(2)])
        self.admin.command("shardCollection", "shop.clicks", key={"_id": "hashed"})
        self.client.shop.clicks.insert_many([{"_id": i} for i in range(200)])
        stats = self.client.shop.command("collStats", "clicks")
        self.assertEqual({"s0", "s1"}, set(stats["shards"]))
        self.assertEqual(200, sum(s["count"] for s in stats["shards"].values()))
        self.client.drop_database("shop")
        self.assertEqual(0, self.config.collections.count_documents({"_id": {"$regex": "^shop"}}))

    def test_what_mongosh_reads(self):
        self.admin.command("shardCollection", "status.c", key={"x": 1})
        self.admin.command("split", "status.c", middle={"x": 0})
        self.admin.command("moveChunk", "status.c", find={"x": 1}, to=[
            s for s in ("s0", "s1") if s != self.config.databases.find_one({"_id": "status"})["primary"]][0])
        self.assertIsNotNone(self.config.version.find_one())
        newest = self.config.mongos.find().sort("ping", -1).limit(1)[0]
        active = list(self.config.mongos.aggregate([
            {"$match": {"ping": {"$gt": newest["ping"] - datetime.timedelta(seconds=60)}}},
            {"$group": {"_id": "$mongoVersion", "num": {"$sum": 1}}}, {"$sort": {"num": -1}}]))
        self.assertEqual(1, active[0]["num"])
        since = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)
        moves = list(self.config.changelog.aggregate([
            {"$match": {"time": {"$gt": since}, "what": "moveChunk.from", "details.errmsg": {"$exists": False},
                        "details.note": "success"}},
            {"$group": {"_id": {"msg": "$details.errmsg"}, "count": {"$sum": 1}}}]))
        self.assertGreaterEqual(moves[0]["count"], 1)
        self.assertEqual([], list(self.config.locks.find({"state": 2})))
        self.assertEqual(0, self.config.actionlog.count_documents({"what": "balancer.round"}))
        for what in ("shardCollection.end", "split"):
            self.assertEqual(1, self.config.changelog.count_documents({"what": what, "ns": "status.c"}), what)

    def test_what_mongosh_writes(self):
        self.admin.command("shardCollection", "balanced.c", key={"x": 1})
        self.config.settings.update_one({"_id": "autosplit"}, {"$set": {"enabled": False}}, upsert=True)
        self.config.settings.update_one({"_id": "chunksize"}, {"$set": {"value": 64}}, upsert=True)
        self.config.collections.update_one({"_id": "balanced.c"}, {"$set": {"noBalance": True}})
        other = rig.pymongo.MongoClient(CLUSTER.uri)
        self.assertTrue(other.config.collections.find_one({"_id": "balanced.c"})["noBalance"])
        self.assertFalse(other.config.settings.find_one({"_id": "autosplit"})["enabled"])
        other.close()
        self.assertEqual(64, self.admin.command("balancerCollectionStatus", "balanced.c")["chunkSize"])
        self.admin.command("configureCollectionBalancing", "balanced.c", chunkSize=16)
        self.assertEqual(16, self.admin.command("balancerCollectionStatus", "balanced.c")["chunkSize"])
        with self.assertRaises(OperationFailure):
            self.config.chunks.delete_many({})
        self.config.settings.delete_one({"_id": "chunksize"})
        self.admin.command("balancerStop")
        self.assertEqual("off", self.admin.command("balancerStatus")["mode"])
        self.assertTrue(self.config.settings.find_one({"_id": "balancer"})["stopped"])
        self.admin.command("balancerStart")
        self.assertEqual("full", self.admin.command("balancerStatus")["mode"])

    def test_second_names_of_commands(self):
        self.admin.command("enablesharding", "old_names", primaryShard="s0")
        self.admin.command("shardcollection", "old_names.t", key={"k": 1})
        self.admin.command("split", "old_names.t", middle={"k": 0})
        self.admin.command("movechunk", "old_names.t", find={"k": 1}, to="s1")
        self.assertEqual(["s0", "s1"], [shard for _, shard in self.chunks("old_names.t")])

    def test_server_status_of_a_router(self):
        status = self.admin.command("serverStatus")
        self.assertEqual("mongos", status["process"])
        self.assertNotIn("repl", status)
        self.assertNotIn("storageEngine", status)
        self.assertIn("opcounters", status)

    def test_zones_and_what_violates_them(self):
        self.admin.command("addShardToZone", "s1", zone="east")
        self.admin.command("updateZoneKeyRange", "zoned.c", min={"x": 0}, max={"x": 10}, zone="east")
        self.admin.command("shardCollection", "zoned.c", key={"x": 1})
        self.assertIn(({"x": 0}, "s1"), self.chunks("zoned.c"))
        self.assertTrue(self.admin.command("balancerCollectionStatus", "zoned.c")["balancerCompliant"])
        self.admin.command("addShardToZone", "s0", zone="east")
        self.admin.command("removeShardFromZone", "s1", zone="east")
        status = self.admin.command("balancerCollectionStatus", "zoned.c")
        self.assertEqual((False, "zoneViolation"), (status["balancerCompliant"], status["firstComplianceViolation"]))
        self.assertEqual(163, self.code("removeShardFromZone", "s0", zone="east"))
        self.client.drop_database("zoned")
        self.admin.command("removeShardFromZone", "s0", zone="east")

    def test_a_shard_that_goes(self):
        self.assertEqual(70, self.code("removeShard", "nobody"))
        self.assertEqual(20, self.code("removeShard", "s0"))  # the users are there
        self.admin.command("enableSharding", "leaves", primaryShard="s1")
        self.admin.command("shardCollection", "leaves.c", key={"x": 1})
        started = self.admin.command("removeShard", "s1")
        self.assertEqual("started", started["state"])
        self.assertIn("leaves", started["dbsToMove"])
        self.assertTrue(self.config.shards.find_one({"_id": "s1"})["draining"])
        ongoing = self.admin.command("removeShard", "s1")
        self.assertEqual("ongoing", ongoing["state"])
        self.assertGreaterEqual(ongoing["remaining"]["chunks"], 1)
        self.client.elsewhere.c.insert_one({})
        self.assertEqual("s0", self.config.databases.find_one({"_id": "elsewhere"})["primary"])
        for database in self.config.databases.find({"primary": "s1"}):
            self.client.drop_database(database["_id"])
        for collection in self.config.collections.find():
            for low, shard in self.chunks(collection["_id"]):
                if shard == "s1":
                    self.admin.command("moveChunk", collection["_id"], find=low, to="s0")
        self.assertEqual("completed", self.admin.command("removeShard", "s1")["state"])
        self.assertEqual(["s0"], [s["_id"] for s in self.admin.command("listShards")["shards"]])
        self.assertEqual(20, self.code("removeShard", "s0"))
        host = "s1/" + CLUSTER.processes()["s1/0"]["host"]
        self.assertEqual("s1", self.admin.command("addShard", host)["shardAdded"])

    def test_shards_that_cannot_be_added(self):
        self.assertEqual(9, self.code("addShard", 1))
        self.assertEqual(9, self.code("addShard", "bad/"))
        self.assertEqual(2, self.code("addShard", "s1/127.0.0.1:1", name=""))
        self.assertEqual(96, self.code("addShard", "127.0.0.1:1"))
        member = CLUSTER.processes()["s1/0"]["host"]
        self.assertEqual(96, self.code("addShard", member))


if __name__ == "__main__":
    counted.main()
