# SPDX-License-Identifier: Apache-2.0
"""Writes through a router to a collection on two shards: what is below 0 lies on s0, the rest on s1."""
import time
import unittest

import bson
import pymongo
from pymongo.errors import BulkWriteError, OperationFailure

import counted
import rig

CLUSTER = None


def setUpModule():
    global CLUSTER
    CLUSTER = rig.Cluster()


def tearDownModule():
    CLUSTER.close()


def code(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except (OperationFailure, BulkWriteError) as error:
        details = error.details or {}
        if details.get("writeErrors"):
            return details["writeErrors"][0]["code"]
        return error.code
    return 0


class Writes(unittest.TestCase):
    def setUp(self):
        self.client = CLUSTER.client
        self.plain = pymongo.MongoClient(CLUSTER.uri, retryWrites=False)
        self.database = self.client.get_database("writes")
        self.c = self.database.c
        self.c.drop()
        admin = self.client.admin
        admin.command("enableSharding", "writes", primaryShard="s0")
        admin.command("shardCollection", "writes.c", key={"x": 1})
        admin.command("split", "writes.c", middle={"x": 0})
        admin.command("moveChunk", "writes.c", find={"x": 1}, to="s1")
        self.c.insert_many([{"_id": i, "x": i - 4, "y": i % 3} for i in range(8)])

    def tearDown(self):
        self.plain.close()

    def numbered(self, times, *command, **options):
        """What a retryable write is answered each time it is sent, by a client that numbers nothing itself."""
        self.number = getattr(self, "number", 0) + 1
        replies = []
        with self.plain.start_session() as session:
            for _ in range(times):
                reply = self.plain.writes.command(*command, txnNumber=bson.Int64(self.number), session=session, **options)
                for field in ("$clusterTime", "operationTime", "retriedStmtIds", "retriedStmtId"):
                    reply.pop(field, None)
                replies.append(reply)
        return replies

    def stored(self):
        counts = {}
        for name in ("s0", "s1"):
            direct = CLUSTER.direct(name + "/0")
            counts[name] = direct.writes.c.count_documents({})
            direct.close()
        return counts

    def test_one_document_without_its_key(self):
        self.assertEqual(1, self.c.update_one({"y": 2}, {"$set": {"z": 1}}).modified_count)
        self.assertEqual(1, self.c.count_documents({"z": 1}))
        self.assertEqual(1, self.c.update_one({"_id": 6}, {"$inc": {"n": 1}}).modified_count)
        self.assertEqual(0, self.c.update_one({"_id": 60}, {"$inc": {"n": 1}}).matched_count)
        self.assertEqual(1, self.c.delete_one({"y": 0}).deleted_count)
        self.assertEqual(1, self.c.delete_one({"_id": 7}).deleted_count)
        self.assertEqual(6, self.c.count_documents({}))
        self.assertEqual(1, self.plain.writes.c.update_one({"y": 1}, {"$set": {"p": 1}}).modified_count)

    def test_the_first_of_all_shards_by_a_sort(self):
        found = self.c.find_one_and_update({}, {"$set": {"top": 1}}, sort=[("x", -1)], return_document=True)
        self.assertEqual({"_id": 7, "x": 3, "y": 1, "top": 1}, found)
        self.assertEqual(0, self.c.find_one_and_delete({"y": 0}, sort=[("x", 1)])["_id"])
        self.assertEqual(6, self.c.find_one_and_delete({"y": 0}, sort=[("x", -1)])["_id"])
        self.assertIsNone(self.c.find_one_and_delete({"y": 77}, sort=[("x", -1)]))
        self.client.writes.command("update", "c", updates=[
            {"q": {"y": 1}, "u": {"$set": {"last": 1}}, "sort": {"_id": -1}}])
        self.assertEqual([7], [d["_id"] for d in self.c.find({"last": 1})])

    def test_upserts_without_the_key(self):
        made = self.c.update_one({"u": 1}, {"$set": {"x": 40}}, upsert=True)
        self.assertIsNotNone(made.upserted_id)
        again = self.c.update_one({"u": 1}, {"$set": {"x": 40, "n": 1}}, upsert=True)
        self.assertEqual((None, 1), (again.upserted_id, again.matched_count))
        self.plain.writes.c.update_one({"u": 2}, {"$set": {"x": -40}}, upsert=True)
        self.c.update_one({"u": 3}, {"$set": {"n": 3}}, upsert=True)
        self.c.replace_one({"u": 4}, {"u": 4, "x": 44}, upsert=True)
        found = self.c.find_one_and_update({"u": 5}, {"$set": {"x": 55}}, upsert=True, return_document=True)
        self.assertEqual((5, 55), (found["u"], found["x"]))
        self.assertIsNone(self.c.find_one_and_update({"u": 6}, {"$set": {"x": -66}}, upsert=True))
        self.assertEqual({"s0": 4 + 3, "s1": 4 + 3}, self.stored())
        for x, u in [(40, 1), (-40, 2), (None, 3), (44, 4), (55, 5), (-66, 6)]:
            self.assertEqual(1, self.c.count_documents({"x": x, "u": u}), (x, u))
        self.assertEqual(61, code(self.c.update_many, {"u": 9}, {"$set": {"x": 1}}, upsert=True))

    def test_a_change_of_the_key(self):
        self.assertEqual(20, code(self.plain.writes.c.update_one, {"x": 1}, {"$set": {"x": 2}}))
        self.assertEqual(1, self.c.update_one({"x": 1}, {"$set": {"x": 50}}).modified_count)
        self.assertEqual(1, self.c.count_documents({"x": 50}))
        self.assertEqual(1, self.c.update_one({"x": -1}, {"$unset": {"x": 1}}).modified_count)
        self.assertEqual(1, self.c.count_documents({"x": None}))
        self.assertEqual(20, code(self.c.update_one, {"x": 2}, {"$set": {"x": -60}}))
        self.assertEqual(20, code(self.c.find_one_and_update, {"x": 2}, {"$set": {"x": -60}}))
        self.assertEqual(72, code(self.c.update_many, {"x": 2}, {"$set": {"x": 3}}))
        self.assertEqual(54, code(self.c.update_one, {"x": 2}, {"$set": {"x": [1]}}))
        self.assertEqual(61, code(self.c.insert_one, {"x": [1]}))
        self.assertEqual(1, self.c.update_one({"x": 2}, {"$set": {"x": 2.0, "same": 1}}).modified_count)
        self.assertEqual({"s0": 4, "s1": 4}, self.stored())

    def test_an_upsert_whose_document_is_another_shards(self):
        self.assertEqual(20, code(self.plain.writes.c.update_one, {"x": 200}, {"$set": {"x": -200}}, upsert=True))
        made = self.c.update_one({"x": 200, "_id": 200}, {"$set": {"x": -200}}, upsert=True)
        self.assertEqual(200, made.upserted_id)
        self.assertEqual({"s0": 5, "s1": 4}, self.stored())
        batch = self.numbered(1, "update", "c", updates=[
            {"q": {"x": 300, "_id": 300}, "u": {"$set": {"x": -300}}, "upsert": True},
            {"q": {"x": 3}, "u": {"$set": {"behind": 1}}}])[0]
        self.assertEqual((2, 1, [{"index": 0, "_id": 300}]), (batch["n"], batch["nModified"], batch["upserted"]))

    def test_a_retry_is_done_once(self):
        for statement in [{"q": {"y": 1}, "u": {"$inc": {"k": 1}}}, {"q": {"_id": 5}, "u": {"$inc": {"k": 1}}},
                          {"q": {"w": 1}, "u": {"$set": {"x": 70}}, "upsert": True},
                          {"q": {"x": 90, "_id": 90}, "u": {"$set": {"x": -90}}, "upsert": True}]:
            replies = self.numbered(2, "update", "c", updates=[statement])
            self.assertEqual(replies[0], replies[1])
        self.assertEqual(2, sum(d["k"] for d in self.c.find({"k": {"$exists": True}})))
        self.assertEqual(10, self.c.count_documents({}))
        found = self.numbered(2, "findAndModify", "c", query={"y": 2}, sort={"x": -1}, remove=True)
        self.assertEqual(found[0], found[1])
        self.assertEqual(9, self.c.count_documents({}))
        without = self.numbered(2, "insert", "c", documents=[{"x": -7}, {"x": 7}])
        self.assertEqual(([2, 2], 11), ([r["n"] for r in without], self.c.count_documents({})))

    def test_a_retry_is_done_once_wherever_its_range_has_gone(self):
        """What a shard remembers goes along with a range that is moved."""
        admin = self.client.admin
        admin.command("split", "writes.c", middle={"x": 1000})
        self.number = getattr(self, "number", 0) + 2
        statements = [
            (["insert", "c"], {"documents": [{"_id": 100, "x": 5000}, {"_id": 101, "x": 5001}]}),
            (["findAndModify", "c"], {"query": {"x": 5000}, "update": {"$set": {"v": 1}}, "new": True}),
            (["delete", "c"], {"deletes": [{"q": {"x": 5000}, "limit": 1}]})]
        with self.plain.start_session() as own, self.plain.start_session() as later:
            replies = [self.plain.writes.command(*command, **options, txnNumber=bson.Int64(self.number + i), session=own)
                       for i, (command, options) in enumerate(statements)]
            self.plain.writes.command("insert", "c", documents=[{"_id": 102, "x": 5002}], txnNumber=bson.Int64(1),
                                      session=later)
            self.plain.writes.command("insert", "c", documents=[{"_id": 103, "x": -5000}], txnNumber=bson.Int64(2),
                                      session=later)
            self.assertEqual(2, self.plain.writes.c.delete_many({"x": {"$gte": 1000}}).deleted_count)
            admin.command("moveRange", "writes.c", min={"x": 1000}, max={"x": bson.MaxKey()}, toShard="s0")
            command, options = statements[-1]
            again = self.plain.writes.command(*command, **options, txnNumber=bson.Int64(self.number + 2), session=own)
            self.assertEqual((replies[-1]["n"], [0]), (again["n"], again["retriedStmtIds"]))
            # The number that s0 has seen of this session is a later one.
            again = self.plain.writes.command("insert", "c", documents=[{"_id": 103, "x": -5000}], txnNumber=bson.Int64(2),
                                              session=later)
            self.assertEqual([0], again["retriedStmtIds"])
        with self.plain.start_session() as own:
            inserts = dict(documents=[{"_id": 110, "x": 5000}, {"_id": 111, "x": 5001}], txnNumber=bson.Int64(7), session=own)
            self.assertEqual(2, self.plain.writes.command("insert", "c", **inserts)["n"])
            self.plain.writes.c.delete_many({"x": {"$gte": 1000}})
            admin.command("moveRange", "writes.c", min={"x": 1000}, max={"x": bson.MaxKey()}, toShard="s1")
            again = self.plain.writes.command("insert", "c", **inserts)
            self.assertEqual((2, [0, 1]), (again["n"], again["retriedStmtIds"]))
        self.assertEqual(0, self.c.count_documents({"x": {"$gte": 1000}}))

    def test_a_retry_is_done_once_when_its_collection_has_been_sharded(self):
        self.database.spread.drop()
        with self.plain.start_session() as own:
            inserts = dict(documents=[{"_id": i} for i in range(20)], txnNumber=bson.Int64(1), session=own)
            self.assertEqual(20, self.plain.writes.command("insert", "spread", **inserts)["n"])
            self.database.spread.delete_many({})
            self.client.admin.command("shardCollection", "writes.spread", key={"_id": "hashed"})
            again = self.plain.writes.command("insert", "spread", **inserts)
        self.assertEqual((20, list(range(20))), (again["n"], sorted(again["retriedStmtIds"])))
        self.assertEqual(0, self.database.spread.count_documents({}))

    def test_many_and_batches(self):
        self.assertEqual(8, self.c.update_many({}, {"$inc": {"m": 1}}).modified_count)
        with self.assertRaises(BulkWriteError) as failed:
            self.c.insert_many([{"_id": 20, "x": -20}, {"_id": 0, "x": -4}, {"_id": 21, "x": 21}, {"_id": 7, "x": 3},
                                {"_id": 22, "x": -22}], ordered=False)
        self.assertEqual([1, 3], [e["index"] for e in failed.exception.details["writeErrors"]])
        self.assertEqual(3, failed.exception.details["nInserted"])
        many = self.numbered(1, "update", "c", updates=[{"q": {}, "u": {"$set": {"z": 1}}, "multi": True}])[0]
        self.assertEqual([72], [e["code"] for e in many["writeErrors"]])
        reply = self.client.writes.command("delete", "c", deletes=[{"q": {"y": {"$gte": 0}}, "limit": 0}])
        self.assertEqual(8, reply["n"])

    def test_one_time_for_all_shards(self):
        self.c.update_many({}, [{"$set": {"at": "$$NOW"}}])
        self.assertEqual(1, len(self.c.distinct("at")))
        direct = CLUSTER.direct("s0/0")
        direct.writes.c.update_one({}, {"$set": {"ahead": 1}})  # its clock is ahead of what the router has heard
        direct.close()
        self.c.update_many({}, [{"$set": {"at": "$$CLUSTER_TIME"}}])
        self.assertEqual(1, len(self.c.distinct("at")))

    def test_writes_that_nobody_asks_about(self):
        quiet = self.c.with_options(write_concern=pymongo.WriteConcern(w=0))
        quiet.update_one({"y": 2}, {"$set": {"q": 1}})
        quiet.update_one({"y": 99}, {"$set": {"q": 1}})
        quiet.insert_one({"_id": "quiet", "x": 5})
        for _ in range(100):
            if self.c.count_documents({"q": 1}) == 1 and self.c.count_documents({"_id": "quiet"}) == 1:
                break
            time.sleep(0.05)
        self.assertEqual(1, self.c.count_documents({"q": 1}))
        self.assertEqual(1, self.c.count_documents({"_id": "quiet"}))

    def test_bulk_write_over_namespaces(self):
        self.database.other.drop()
        reply = self.client.admin.command("bulkWrite", 1, nsInfo=[{"ns": "writes.c"}, {"ns": "writes.other"}], ops=[
            {"insert": 0, "document": {"_id": 30, "x": -30}},
            {"insert": 0, "document": {"_id": 31, "x": 31}},
            {"insert": 1, "document": {"_id": 1}},
            {"update": 0, "filter": {"y": 1}, "updateMods": {"$set": {"b": 1}}},
            {"update": 0, "filter": {"v": 1}, "updateMods": {"$set": {"x": 88}}, "upsert": True},
            {"delete": 0, "filter": {"_id": 0}},
            {"update": 1, "filter": {"_id": 1}, "updateMods": {"$set": {"b": 1}}},
            {"insert": 1, "document": {"_id": 1}},
            {"insert": 1, "document": {"_id": 2}}])
        self.assertEqual([1, 1, 1, 1, 1, 1, 1, 0], [i["n"] for i in reply["cursor"]["firstBatch"]])
        self.assertEqual(11000, reply["cursor"]["firstBatch"][-1]["code"])
        self.assertEqual((1, 3, 2, 1, 1), (reply["nErrors"], reply["nInserted"], reply["nMatched"], reply["nUpserted"],
                                          reply["nDeleted"]))
        self.assertEqual(1, self.c.count_documents({"x": 88, "v": 1}))

    def test_a_batch_as_large_as_a_message(self):
        self.database.large.drop()
        large = [{"_id": i, "l": "s" * (16_000_000 - 1000)} for i in range(2)] + [{"_id": 2, "l": "s" * (16_000_000 - 60_000)}]
        self.database.large.insert_many([*large, *({"_id": i} for i in range(3, 1500))])
        self.assertEqual(1500, self.database.large.estimated_document_count())
        self.database.large.drop()

    def test_an_unordered_bulk_write_tells_of_every_error(self):
        operations = [{"insert": 0, "document": {"_id": 0, "x": -4}}, {"insert": 0, "document": {"_id": 0, "x": -4}},
                      {"insert": 0, "document": {"_id": 40, "x": 40}}, {"insert": 0, "document": {"_id": 7, "x": 3}}]
        for errors_only in (False, True):
            self.c.delete_many({"_id": {"$in": [0, 7, 40]}})
            self.c.insert_many([{"_id": 0, "x": -4}, {"_id": 7, "x": 3}])
            reply = self.client.admin.command("bulkWrite", 1, ops=operations, nsInfo=[{"ns": "writes.c"}], ordered=False,
                                              errorsOnly=errors_only)
            shown = [(row["idx"], row.get("code", 0)) for row in reply["cursor"]["firstBatch"]]
            failed = [(0, 11000), (1, 11000), (3, 11000)]
            self.assertEqual(failed if errors_only else sorted([*failed, (2, 0)]), shown)
            self.assertEqual((3, 1), (reply["nErrors"], reply["nInserted"]))
            self.assertEqual(3, self.c.count_documents({"_id": {"$in": [0, 7, 40]}}))

    def test_what_only_routers_say_is_refused(self):
        for field in ("shardVersion", "databaseVersion", "legacyRuntimeConstants"):
            self.assertEqual(40415, code(self.client.writes.command, "find", "c", **{field: {}}))


if __name__ == "__main__":
    counted.main()
