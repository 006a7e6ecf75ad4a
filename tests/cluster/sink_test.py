# SPDX-License-Identifier: Apache-2.0
"""$out and $merge of aggregates at a secondary: it reads, the primary writes."""
import os
import tempfile
import unittest

import pymongo
from bson import SON
from pymongo.errors import OperationFailure

import counted
from rig import Rig

SECONDARY = {"$readPreference": {"mode": "secondary"}}


class Sink(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="quire-sink-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.rig = Rig(cls.folder.name)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()

    def setUp(self):
        self.client = pymongo.MongoClient(self.rig.uri, w=3)
        self.addCleanup(self.client.close)
        self.client.drop_database("t")
        self.client.drop_database("u")
        self.db = self.client.t
        primary = self.rig.primary()
        self.secondary = next(m for m in self.rig.members if m is not primary)
        self.direct = self.rig.direct(self.secondary, socketTimeoutMS=60000)
        self.addCleanup(self.direct.close)

    def aggregate(self, pipeline, source="c", **fields):
        """The reply, or the error's code."""
        try:
            return self.direct.t.command(SON([("aggregate", source), ("pipeline", pipeline), ("cursor", {}), *fields.items(),
                                              *SECONDARY.items()]))
        except OperationFailure as error:
            return error.code

    def names(self):
        return sorted(self.db.list_collection_names())

    def test_through_a_driver(self):
        self.db.c.insert_many([{"_id": i, "n": i} for i in range(2500)])
        secondary = self.client.get_database("t", read_preference=pymongo.ReadPreference.SECONDARY)
        secondary.c.aggregate([{"$match": {"n": {"$gte": 1000}}}, {"$out": "d"}])
        self.assertEqual(1500, self.db.d.count_documents({}))
        secondary.c.aggregate([{"$match": {"n": {"$lt": 10}}}, {"$merge": "d"}])
        self.assertEqual(1510, self.db.d.count_documents({}))
        self.assertEqual(["c", "d"], self.names())

    def test_out_keeps_indexes_and_options(self):
        self.db.create_collection("d", validator={"n": {"$gte": 0}})
        self.db.d.create_index("n", unique=True)
        self.db.c.insert_many([{"_id": i, "n": i} for i in range(10)])
        reply = self.aggregate([{"$out": "d"}])
        self.assertEqual({"firstBatch": [], "id": 0, "ns": "t.c"}, reply["cursor"])
        self.assertEqual(["_id_", "n_1"], sorted(self.db.d.index_information()))
        self.assertEqual({"n": {"$gte": 0}}, self.db.d.options()["validator"])
        self.db.c.insert_one({"n": 5})
        self.assertEqual(11000, self.aggregate([{"$out": "d"}]))
        self.assertEqual(10, self.db.d.count_documents({}), "the target is as it was")

    def test_a_large_out_comes_whole_or_not_at_all(self):
        self.db.c.insert_many([{"_id": i, "text": "x" * 4000} for i in range(6000)])  # three batches
        self.db.d.insert_one({"_id": "before"})
        self.db.d.create_index("text")
        self.aggregate([{"$out": "d"}])
        self.assertEqual(6000, self.db.d.count_documents({}))
        self.assertEqual(["_id_", "text_1"], sorted(self.db.d.index_information()))
        self.aggregate([{"$out": {"db": "u", "coll": "e"}}])
        self.assertEqual(6000, self.client.u.e.count_documents({}))
        self.assertEqual(["e"], self.client.u.list_collection_names())
        # The last batch has what cannot be written.
        self.db.d.create_index("_id")
        self.assertEqual(11000, self.aggregate([{"$set": {"_id": {"$min": ["$_id", 5999 - 1]}}}, {"$out": "d"}]))
        self.rig.wait(lambda: self.names() == ["c", "d"], 30, "what was collected goes", self.names)
        self.assertEqual(6000, self.db.d.count_documents({}))
        self.assertEqual(["e"], self.client.u.list_collection_names())

    def test_a_large_merge(self):
        self.db.c.insert_many([{"_id": i, "text": "x" * 4000} for i in range(6000)])
        self.db.d.insert_many([{"_id": i, "old": 1} for i in range(0, 12000, 2)])
        self.aggregate([{"$merge": {"into": "d", "whenMatched": [{"$set": {"seen": "$$new._id", "by": "$$who"}}],
                                    "whenNotMatched": "discard", "let": {"new": "$$ROOT", "who": "$$me"}}}], let={"me": "x"})
        self.assertEqual(6000, self.db.d.count_documents({}))
        self.assertEqual(3000, self.db.d.count_documents({"by": "x", "$expr": {"$eq": ["$_id", "$seen"]}}))

    def test_documents_of_the_largest_size(self):
        self.db.c.insert_one({"_id": 1, "text": "x" * (16 * 1024 * 1024 - 40)})
        self.aggregate([{"$out": "d"}])
        self.assertEqual(self.db.c.find_one(), self.db.d.find_one())
        self.aggregate([{"$merge": "e"}])
        self.assertEqual(self.db.c.find_one(), self.db.e.find_one())
        self.db.c.insert_many([{"_id": 0, "text": "x" * (7 << 20)}, {"_id": 2, "text": "x" * (9 << 20)}, {"_id": 3}])
        self.aggregate([{"$sort": {"_id": 1}}, {"$out": "d"}])
        self.assertEqual(list(self.db.c.find().sort("_id", 1)), list(self.db.d.find().sort("_id", 1)))

    def test_of_nothing(self):
        self.db.d.insert_one({"_id": 1})
        self.assertEqual([], self.aggregate([{"$merge": "d"}], source="none")["cursor"]["firstBatch"])
        self.assertEqual(1, self.db.d.count_documents({}))
        self.aggregate([{"$out": "d"}], source="none")
        self.assertEqual(0, self.db.d.count_documents({}))

    def test_what_is_refused(self):
        self.db.c.insert_one({"_id": 1})
        self.db.create_collection("capped", capped=True, size=4096)
        self.db.command("create", "view", viewOn="c", pipeline=[])
        for code, pipeline in ((17152, [{"$out": "capped"}]), (166, [{"$out": "view"}]), (40601, [{"$out": "d"}, {"$limit": 1}]),
                               (31319, [{"$out": {"db": "local", "coll": "d"}}]), (51183, [{"$merge": {"into": "d", "on": "n"}}])):
            at_primary = None
            try:
                self.db.c.aggregate(pipeline)
            except OperationFailure as error:
                at_primary = error.code
            self.assertEqual(at_primary, self.aggregate(pipeline), pipeline)
            self.assertIsNotNone(at_primary, f"{code} {pipeline}")
        self.assertEqual(100, self.aggregate([{"$out": "d"}], writeConcern={"w": 9})["writeConcernError"]["code"])

    def test_the_clients_concern_and_time(self):
        self.db.c.insert_one({"_id": 1})
        with self.client.start_session(causal_consistency=True) as session:
            secondary = self.client.get_database("t", read_preference=pymongo.ReadPreference.SECONDARY)
            secondary.c.aggregate([{"$merge": "d"}], session=session)
            self.assertEqual({"_id": 1}, secondary.d.find_one(session=session))
        third = next(m for m in self.rig.members if m not in (self.rig.primary(), self.secondary))
        third.pause()
        try:
            reply = self.aggregate([{"$merge": "e"}], writeConcern={"w": 3, "wtimeout": 100})
            self.assertEqual(64, reply["writeConcernError"]["code"])
        finally:
            third.resume()
            self.rig.wait_healthy(60)


if __name__ == "__main__":
    counted.main()
