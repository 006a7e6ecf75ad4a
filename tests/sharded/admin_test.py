# SPDX-License-Identifier: Apache-2.0
"""Commands about the cluster itself: shards that come and go, zones, balancer, config.*."""
import contextlib
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
        self.assertEqual("s0/" + CLUSTER.processes()["s0/0"]["host"], status["sharding"]["configsvrConnectionString"])
        some = self.admin.command("serverStatus", sharding=0, shardingStatistics=0)
        self.assertNotIn("sharding", some)
        self.assertNotIn("shardingStatistics", some)

    def targeted(self):
        return self.admin.command("serverStatus")["shardingStatistics"]["numHostsTargeted"]

    def test_how_many_shards_commands_go_to(self):
        self.admin.command("enableSharding", "reached", primaryShard="s0")
        self.admin.command("shardCollection", "reached.c", key={"x": 1})
        self.admin.command("split", "reached.c", middle={"x": 0})
        self.admin.command("split", "reached.c", middle={"x": 10})
        for x in (1, 11):
            self.admin.command("moveChunk", "reached.c", find={"x": x}, to="s1")
        sharded, alone = self.client.reached.c, self.client.reached.u
        alone.insert_one({})
        before = self.targeted()
        sharded.insert_one({"x": 1})
        sharded.insert_many([{"x": -1}, {"x": 1}])
        list(sharded.find({"x": 1}))
        list(sharded.find({}))
        list(alone.find({}))
        sharded.update_many({"x": {"$gt": 0}}, {"$set": {"y": 1}})
        sharded.delete_many({"y": 2})
        list(sharded.aggregate([{"$group": {"_id": "$y"}}]))
        after = self.targeted()
        changed = {(command, reach): after[command][reach] - before[command][reach]
                   for command in after for reach in after[command]
                   if after[command][reach] != before[command][reach]}
        self.assertEqual({("insert", "oneShard"): 1, ("insert", "allShards"): 1, ("find", "oneShard"): 1,
                          ("find", "allShards"): 1, ("find", "unsharded"): 1, ("update", "oneShard"): 1,
                          ("delete", "allShards"): 1, ("aggregate", "allShards"): 1}, changed)
        self.client.drop_database("reached")

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

    def test_the_distribution_of_data(self):
        database = self.client.spread
        for collection in ("hashed", "empty"):
            self.admin.command("shardCollection", f"spread.{collection}", key={"_id": "hashed"})
        database.hashed.insert_many([{"_id": i, "text": "x" * 50} for i in range(100)])
        database.alone.insert_one({})
        self.admin.command("shardCollection", "spread.ranged", key={"x": 1})  # of one shard alone
        rows = {row["ns"]: row["shards"] for row in self.admin.aggregate(
            [{"$shardedDataDistribution": {}}, {"$match": {"ns": {"$regex": "^spread[.]"}}}])}
        self.assertEqual({"spread.hashed", "spread.empty", "spread.ranged"}, set(rows))
        stats = database.command("collStats", "hashed")["shards"]
        self.assertEqual(["s0", "s1"], sorted(shard["shardName"] for shard in rows["spread.hashed"]))
        for shard in rows["spread.hashed"]:
            own = stats[shard["shardName"]]
            self.assertEqual(
                {"shardName": shard["shardName"], "numOrphanedDocs": 0, "numOwnedDocuments": own["count"],
                 "ownedSizeBytes": own["count"] * own["avgObjSize"], "orphanedSizeBytes": 0}, shard)
        self.assertEqual(0, sum(shard["ownedSizeBytes"] for shard in rows["spread.empty"]))
        self.assertEqual(1, len(rows["spread.ranged"]))
        grouped = self.admin.aggregate([
            {"$shardedDataDistribution": {}}, {"$match": {"ns": "spread.hashed"}}, {"$unwind": "$shards"},
            {"$group": {"_id": "$ns", "documents": {"$sum": "$shards.numOwnedDocuments"}}}])
        self.assertEqual([{"_id": "spread.hashed", "documents": 100}], list(grouped))
        self.assertEqual(6789100, self.code("aggregate", 1, pipeline=[{"$shardedDataDistribution": 3}], cursor={}))
        self.assertEqual(6789100, self.code("aggregate", 1, pipeline=[{"$shardedDataDistribution": {"x": 1}}], cursor={}))
        for target in ("hashed", 1):
            with self.assertRaises(OperationFailure) as refused:
                database.command("aggregate", target, pipeline=[{"$shardedDataDistribution": {}}], cursor={})
            self.assertEqual(6789102, refused.exception.code)
        member = CLUSTER.direct("s0/0")
        self.addCleanup(member.close)
        with self.assertRaises(OperationFailure) as refused:
            member.admin.command("aggregate", 1, pipeline=[{"$shardedDataDistribution": {}}], cursor={})
        self.assertEqual(6789101, refused.exception.code)
        self.client.drop_database("spread")

    def inconsistencies(self, database, target=1, **options):
        cursor = self.client[database].command("checkMetadataConsistency", target, **options)["cursor"]
        found = cursor["firstBatch"]
        while cursor["id"] != 0:
            collection = cursor["ns"].partition(".")[2]
            cursor = self.client[database].command("getMore", bson.Int64(cursor["id"]), collection=collection)["cursor"]
            found += cursor["nextBatch"]
        return [(one["type"], one["details"]["namespace"], one["details"].get("shard")) for one in found]

    def test_records_that_do_not_fit(self):
        self.admin.command("enableSharding", "fits", primaryShard="s0")
        for collection in ("c", "d"):
            self.admin.command("shardCollection", f"fits.{collection}", key={"_id": "hashed"})
        self.client.fits.u.insert_one({})
        self.assertEqual([], self.inconsistencies("fits", checkIndexes=True))
        member = CLUSTER.direct("s1/0")
        self.addCleanup(member.close)
        member.fits.stray.insert_one({})  # past the router
        member.fits.c.create_index("extra")
        misplaced = ("MisplacedCollection", "fits.stray", "s1")
        self.assertEqual([misplaced], self.inconsistencies("fits"))
        self.assertEqual([misplaced], self.inconsistencies("fits", cursor={"batchSize": 0}))
        self.assertIn(misplaced, self.inconsistencies("admin"))
        self.assertEqual([], self.inconsistencies("fits", "c"))
        self.assertEqual([("InconsistentIndex", "fits.c", None)], self.inconsistencies("fits", "c", checkIndexes=True))
        self.assertEqual([], self.inconsistencies("fits", "d", checkIndexes=True))
        for wrong in ({"checkIndexes": 1}, {"nothing": 1}, {"cursor": 1}, {"cursor": {"size": 1}}):
            with self.assertRaises(OperationFailure):
                self.inconsistencies("fits", **wrong)
        member.fits.stray.drop()
        self.client.drop_database("fits")

    def test_changes_where_no_database_is(self):
        for command, options in (("split", {"middle": {"x": 0}}), ("moveChunk", {"find": {"x": 0}, "to": "s1"}),
                                 ("mergeChunks", {"bounds": [{"x": 0}, {"x": 1}]}),
                                 ("clearJumboFlag", {"find": {"x": 0}}),
                                 ("moveRange", {"min": {"x": 0}, "toShard": "s1"})):
            self.assertEqual(26, self.code(command, "nowhere.c", **options), command)
        self.assertIsNone(self.config.databases.find_one({"_id": "nowhere"}))

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

    def test_a_first_shard_whose_router_died(self):
        """In a cluster of its own: the set has joined it, and the store knows of none."""
        store = "http://" + CLUSTER.processes()["etcd"]["host"]
        with contextlib.ExitStack() as running:
            address = rig.new_set(running, "x0", store, "--clusterName", "begun")
            with rig.pymongo.MongoClient(address.split("/")[1], directConnection=True) as member:
                member.admin.command("_shardsvrJoinCluster", "x0", clusterId=bson.ObjectId())
            router = running.enter_context(rig.pymongo.MongoClient(
                rig.start(running, "route", "--coord", store, "--clusterName", "begun")))
            with self.assertRaises(OperationFailure):
                router.admin.command("addShard", address, name="other")
            self.assertEqual("x0", router.admin.command("addShard", address)["shardAdded"])
            router.t.c.insert_one({"_id": 1})
            self.assertEqual([{"_id": 1}], list(router.t.c.find()))

    def test_a_shard_that_comes(self):
        """Collections that were sharded before it may lie on it, and are changed on it like on the others."""
        self.admin.command("enableSharding", "early", primaryShard="s0")
        self.admin.command("shardCollection", "early.c", key={"x": 1})
        self.admin.command("split", "early.c", middle={"x": 0})
        early = self.client.early.c
        early.create_index("y")
        early.insert_one({"_id": -1, "x": -1})
        with contextlib.ExitStack() as running:
            address = rig.new_set(running, "s2", "http://" + CLUSTER.processes()["etcd"]["host"])
            self.admin.command("addShard", address)
            member = running.enter_context(rig.pymongo.MongoClient(address.split("/")[1], directConnection=True))
            self.client.early.command("collMod", "c", index={"keyPattern": {"y": 1}, "hidden": True})
            self.admin.command("moveChunk", "early.c", find={"x": 1}, to="s2")
            early.create_index("z")
            early.insert_one({"_id": 1, "x": 1})
            self.assertEqual([{"_id": 1, "x": 1}], list(member.early.c.find()))
            own = member.early.c.index_information()
            self.assertEqual({"_id_", "x_1", "y_1", "z_1"}, set(own))
            self.assertTrue(own["y_1"]["hidden"])
            self.client.early.c.drop_index("z_1")
            self.assertNotIn("z_1", member.early.c.index_information())
            self.admin.command("shardCollection", "early.spread", key={"_id": "hashed"})
            self.assertEqual(["s0", "s1", "s2"], sorted({shard for _, shard in self.chunks("early.spread")}))
            self.client.drop_database("early")
            self.assertNotIn("early", member.list_database_names())
            self.assertEqual("started", self.admin.command("removeShard", "s2")["state"])
            self.assertEqual("completed", self.admin.command("removeShard", "s2")["state"])

    def test_shards_that_cannot_be_added(self):
        self.assertEqual(9, self.code("addShard", 1))
        self.assertEqual(9, self.code("addShard", "bad/"))
        self.assertEqual(2, self.code("addShard", "s1/127.0.0.1:1", name=""))
        self.assertEqual(96, self.code("addShard", "127.0.0.1:1"))
        member = CLUSTER.processes()["s1/0"]["host"]
        self.assertEqual(96, self.code("addShard", member))


if __name__ == "__main__":
    counted.main()
