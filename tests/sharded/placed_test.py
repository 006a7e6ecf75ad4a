# SPDX-License-Identifier: Apache-2.0
"""Collections on two shards: which shard is asked, and what is put together of the answers."""
import random
import unittest

from pymongo.errors import BulkWriteError, OperationFailure

import counted
import rig

CLUSTER = None
PLACED = None


def setUpModule():
    global CLUSTER, PLACED
    CLUSTER = rig.Cluster()
    PLACED = rig.Placed(CLUSTER)
    CLUSTER.client.admin.command("enableSharding", "db")
    CLUSTER.client.admin.command("enableSharding", "plain")


def tearDownModule():
    PLACED.close()
    CLUSTER.close()


class Sharded(unittest.TestCase):
    def setUp(self):
        PLACED.shard("db", "c", {"x": 1}, [{"x": 0}], ["s0", "s1"])
        self.c = CLUSTER.client.db.c

    def fill(self, count=20):
        self.c.insert_many([{"_id": i, "x": i - count // 2, "y": i % 3} for i in range(count)])

    def stages(self, command):
        plan = CLUSTER.client.db.command("explain", command, verbosity="queryPlanner")["queryPlanner"]["winningPlan"]
        return plan["stage"], sorted(s["shardName"] for s in plan["shards"])

    def test_inserts_go_to_their_owners(self):
        self.fill()
        self.assertEqual({"s0": 10, "s1": 10}, PLACED.stored("db", "c"))
        self.assertEqual(20, self.c.count_documents({}))
        with self.assertRaises(BulkWriteError) as failed:
            self.c.insert_many([{"_id": 100, "x": 1}, {"_id": 100, "x": 1}, {"_id": 101, "x": -1}])
        self.assertEqual(1, failed.exception.details["writeErrors"][0]["index"])
        self.assertEqual(1, failed.exception.details["nInserted"])
        with self.assertRaises(BulkWriteError) as failed:
            self.c.insert_many([{"_id": 100, "x": 1}, {"_id": 200, "x": -1}, {"_id": 100, "x": 1}, {"_id": 201, "x": 1}],
                               ordered=False)
        self.assertEqual([0, 2], [e["index"] for e in failed.exception.details["writeErrors"]])
        self.assertEqual(2, failed.exception.details["nInserted"])

    def test_reads_ask_the_shards_that_may_have_it(self):
        self.assertEqual(("SINGLE_SHARD", ["s1"]), self.stages({"find": "c", "filter": {"x": 5}}))
        self.assertEqual(("SINGLE_SHARD", ["s0"]), self.stages({"find": "c", "filter": {"x": {"$lt": -1}}}))
        self.assertEqual(("SHARD_MERGE", ["s0", "s1"]), self.stages({"find": "c", "filter": {"y": 5}}))
        self.assertEqual(("SHARD_MERGE", ["s0", "s1"]), self.stages({"find": "c", "filter": {"x": {"$in": [-1, 1]}}}))

    def test_sorts_limits_and_skips(self):
        self.fill(300)
        self.assertEqual(list(range(300)), [d["_id"] for d in self.c.find().sort("_id", 1).batch_size(7)])
        self.assertEqual(list(range(299, -1, -1)), [d["_id"] for d in self.c.find().sort("_id", -1)])
        self.assertEqual([5, 6, 7], [d["_id"] for d in self.c.find().sort("_id", 1).skip(5).limit(3)])
        by_two = [(d["y"], d["_id"]) for d in self.c.find({}, {"y": 1}).sort([("y", -1), ("_id", 1)])]
        self.assertEqual(sorted(by_two, key=lambda p: (-p[0], p[1])), by_two)
        self.assertNotIn("__sortKey", self.c.find().sort("_id", 1)[0])
        self.assertEqual(300, len(list(self.c.find().batch_size(11))))
        self.assertEqual(120, len(list(self.c.find().limit(120))))
        self.assertEqual(280, len(list(self.c.find().skip(20))))

    def test_counts_and_distincts(self):
        self.fill()
        self.assertEqual(7, self.c.count_documents({"y": 0}))
        database = CLUSTER.client.db
        self.assertEqual(5, database.command("count", "c", limit=5)["n"])
        self.assertEqual(15, database.command("count", "c", skip=5)["n"])
        self.assertEqual(3, database.command("count", "c", skip=17, limit=5)["n"])
        self.assertEqual([0, 1, 2], self.c.distinct("y"))

    def test_updates_and_deletes(self):
        self.fill()
        self.assertEqual(7, self.c.update_many({"y": 0}, {"$set": {"z": 1}}).modified_count)
        self.assertEqual(1, self.c.update_one({"x": 5}, {"$set": {"z": 2}}).modified_count)
        self.assertEqual(1, self.c.update_one({"_id": 0}, {"$set": {"z": 3}}).modified_count)
        self.assertEqual(1, self.c.update_one({"y": 1}, {"$set": {"w": 1}}).modified_count)
        self.assertEqual(1, self.c.count_documents({"w": 1}))
        self.assertEqual(1, self.c.delete_one({"y": 2}).deleted_count)
        self.assertEqual(0, self.c.update_one({"y": 9}, {"$set": {"w": 1}}).matched_count)
        self.c.update_one({"x": 77}, {"$set": {"y": 5}}, upsert=True)
        self.assertEqual(5, self.c.find_one({"x": 77})["y"])
        found = self.c.find_one_and_update({"x": 77}, {"$inc": {"y": 1}}, return_document=True)
        self.assertEqual(6, found["y"])
        self.assertEqual(77, self.c.find_one_and_delete({"y": 6})["x"])
        self.assertEqual(7, self.c.delete_many({"y": 1}).deleted_count)
        self.c.delete_many({})
        self.assertEqual(0, self.c.count_documents({}))

    def test_pipelines(self):
        self.fill(100)
        groups = list(self.c.aggregate([{"$group": {"_id": "$y", "n": {"$sum": 1}, "a": {"$avg": "$x"}}},
                                        {"$sort": {"_id": 1}}]))
        self.assertEqual([34, 33, 33], [g["n"] for g in groups])
        self.assertEqual([3, 4], [d["_id"] for d in self.c.aggregate([{"$sort": {"_id": 1}}, {"$skip": 3}, {"$limit": 2}])])
        self.assertEqual([{"n": 100}], list(self.c.aggregate([{"$count": "n"}])))
        self.assertEqual(100, len(list(self.c.aggregate([{"$match": {}}], batchSize=9))))
        CLUSTER.client.plain.d.drop()
        CLUSTER.client.plain.d.insert_many([{"_id": i, "name": str(i)} for i in range(3)])
        CLUSTER.client.db.names.drop()
        CLUSTER.client.db.names.insert_many([{"_id": i, "name": str(i)} for i in range(3)])
        joined = list(self.c.aggregate([
            {"$match": {"_id": {"$lt": 6}}},
            {"$lookup": {"from": "names", "localField": "y", "foreignField": "_id", "as": "n"}}, {"$sort": {"_id": 1}}]))
        self.assertEqual(["0", "1", "2", "0", "1", "2"], [d["n"][0]["name"] for d in joined])
        other = list(CLUSTER.client.db.names.aggregate([
            {"$lookup": {"from": "c", "let": {"y": "$_id"}, "as": "n",
                         "pipeline": [{"$match": {"$expr": {"$eq": ["$y", "$$y"]}}}, {"$count": "n"}]}},
            {"$sort": {"_id": 1}}]))
        self.assertEqual([34, 33, 33], [d["n"][0]["n"] for d in other])
        self.c.aggregate([{"$group": {"_id": "$y"}}, {"$out": "result"}])
        self.assertEqual(3, CLUSTER.client.db.result.count_documents({}))
        self.c.aggregate([{"$match": {"y": 0}}, {"$merge": "result"}])
        self.assertEqual(3 + 34 - 1, CLUSTER.client.db.result.count_documents({}))

    def test_a_transaction_stays_on_one_shard(self):
        self.fill()
        with CLUSTER.client.start_session() as session:
            session.start_transaction()
            self.c.update_one({"x": 5}, {"$set": {"t": 1}}, session=session)
            with self.assertRaises(OperationFailure) as failed:
                self.c.update_one({"x": -5}, {"$set": {"t": 1}}, session=session)
            self.assertEqual(263, failed.exception.code)
            self.assertFalse(failed.exception.has_error_label("TransientTransactionError"))
            session.abort_transaction()
        self.assertEqual(0, self.c.count_documents({"t": 1}))

    def test_many_random_questions_have_one_server_s_answer(self):
        """Documents on two shards and the same on one: every answer is the same."""
        chance = random.Random(7)
        one = CLUSTER.client.plain.same
        one.drop()
        documents = [{"_id": i, "x": chance.randrange(-20, 20), "y": chance.choice([None, 1, 2.5, "a", "b", [1, 2]]),
                      "z": {"w": chance.randrange(5)}} for i in range(200)]
        self.c.insert_many(documents)
        one.insert_many(documents)
        values = [0, 1, -5, 2.5, "a", None]
        for _ in range(150):
            field = chance.choice(["_id", "x", "y", "z.w"])
            operator = chance.choice(["$eq", "$gt", "$gte", "$lt", "$lte", "$ne", "$in"])
            value = chance.choice(values)
            query = {field: {operator: [value, chance.choice(values)] if operator == "$in" else value}}
            order = [(chance.choice(["x", "y", "z.w"]), chance.choice([1, -1])), ("_id", 1)]
            skip, limit = chance.randrange(5), chance.randrange(30)
            cut = lambda c: list(c.find(query).sort(order).skip(skip).limit(limit))
            self.assertEqual(cut(one), cut(self.c), (query, order, skip, limit))
            self.assertEqual(one.count_documents(query), self.c.count_documents(query), query)
            group = [{"$match": query}, {"$group": {"_id": "$z.w", "n": {"$sum": "$x"}, "m": {"$max": "$x"}}},
                     {"$sort": {"_id": 1}}]
            self.assertEqual(list(one.aggregate(group)), list(self.c.aggregate(group)), query)


if __name__ == "__main__":
    counted.main()
