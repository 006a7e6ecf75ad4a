# SPDX-License-Identifier: Apache-2.0
"""pymongo against the server at $QUIRE_URI."""
import datetime
import os
import re
import threading
import time
import unittest

import bson
import pymongo
from bson.codec_options import CodecOptions
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

import counted

URI = os.environ["QUIRE_URI"]
PORT = int(URI.rsplit(":", 1)[1])


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = pymongo.MongoClient(URI, serverSelectionTimeoutMS=5000)

    def setUp(self):
        self.db = self.client["py_" + re.sub(r"\W", "_", self.id().split(".")[-1])[:40]]
        self.client.drop_database(self.db.name)

    def tearDown(self):
        self.client.drop_database(self.db.name)


class Readme(Case):
    def test_its_block(self):
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../README.md")
        with open(path, encoding="utf-8") as file:
            block = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
        self.assertIn("27017", block)
        people = self.client.app.people
        people.drop()
        self.addCleanup(self.client.drop_database, "app")
        exec(block.replace("27017", str(PORT)), {})
        self.assertEqual([{"name": "Ada"}], list(people.find({}, {"_id": 0})))


class Crud(Case):
    def test_insert_find_update_delete(self):
        things = self.db.things
        first = things.insert_one({"a": 1, "tags": ["x", "y"]}).inserted_id
        things.insert_many([{"a": i} for i in range(2, 6)])
        self.assertEqual(things.find_one({"_id": first})["tags"], ["x", "y"])
        self.assertEqual([d["a"] for d in things.find({"a": {"$gt": 3}}).sort("a", -1)], [5, 4])
        result = things.update_many({"a": {"$gte": 3}}, {"$inc": {"a": 10}, "$set": {"seen": True}})
        self.assertEqual((result.matched_count, result.modified_count), (3, 3))
        upserted = things.update_one({"a": 99}, {"$set": {"b": 1}}, upsert=True).upserted_id
        self.assertEqual(things.find_one({"_id": upserted})["a"], 99)
        self.assertEqual(things.delete_many({"seen": True}).deleted_count, 3)
        self.assertEqual(things.count_documents({}), 3)
        self.assertEqual(things.estimated_document_count(), 3)
        self.assertEqual(sorted(things.distinct("a")), [1, 2, 99])
        things.replace_one({"a": 1}, {"z": 1})
        self.assertEqual(things.find_one({"_id": first}), {"_id": first, "z": 1})

    def test_find_and_modify(self):
        things = self.db.things
        things.insert_one({"_id": 1, "n": 1})
        self.assertEqual(things.find_one_and_update({"_id": 1}, {"$inc": {"n": 1}})["n"], 1)
        after = pymongo.ReturnDocument.AFTER
        self.assertEqual(
            things.find_one_and_update({"_id": 1}, {"$inc": {"n": 1}}, return_document=after)["n"], 3)
        self.assertEqual(things.find_one_and_delete({"_id": 1})["n"], 3)
        self.assertIsNone(things.find_one_and_delete({"_id": 1}))

    def test_every_type_comes_back(self):
        document = {
            "_id": 1, "double": 1.5, "string": "é\0x", "doc": {"a": {}}, "array": [1, [2]],
            "binary": bson.Binary(b"\0\1", 5), "oid": bson.ObjectId(), "bool": True,
            "date": datetime.datetime(2020, 1, 2, 3, 4, 5, 678000), "null": None,
            "regex": bson.Regex("^a", "i"), "code": bson.Code("f()"), "scope": bson.Code("f()", {"a": 1}),
            "int": 7, "ts": bson.Timestamp(1, 2), "long": bson.Int64(2**40),
            "decimal": bson.Decimal128("1.10"), "min": bson.MinKey(), "max": bson.MaxKey()}
        self.db.types.insert_one(document)
        self.assertEqual(self.db.types.find_one(), document)

    def test_large_documents_and_batches(self):
        big = "x" * (15 * 1024 * 1024)
        self.db.big.insert_one({"_id": 1, "text": big})
        self.assertEqual(self.db.big.find_one({"_id": 1})["text"], big)
        with self.assertRaises(pymongo.errors.DocumentTooLarge):
            self.db.big.insert_one({"text": "x" * (17 * 1024 * 1024)})
        self.db.many.insert_many([{"_id": i, "pad": "y" * 1000} for i in range(60_000)])
        self.assertEqual(self.db.many.estimated_document_count(), 60_000)
        self.assertEqual(sum(1 for _ in self.db.many.find()), 60_000)


class Cursors(Case):
    def test_many_batches(self):
        self.db.numbers.insert_many([{"_id": i} for i in range(2500)])
        self.assertEqual([d["_id"] for d in self.db.numbers.find(batch_size=7)], list(range(2500)))
        self.assertEqual(len(list(self.db.numbers.find().skip(10).limit(1000).batch_size(99))), 1000)
        with self.assertRaises(OperationFailure):  # this driver's exhaust cursors use OP_QUERY
            list(self.db.numbers.find(cursor_type=pymongo.CursorType.EXHAUST))

    def test_killed_cursor_is_gone(self):
        self.db.numbers.insert_many([{"_id": i} for i in range(50)])
        cursor = self.db.numbers.find(batch_size=5)
        next(cursor)
        self.db.command("killCursors", "numbers", cursors=[cursor.cursor_id])
        with self.assertRaises(pymongo.errors.CursorNotFound):
            list(cursor)

    def test_tailable_await(self):
        self.db.create_collection("log", capped=True, size=100_000)
        self.db.log.insert_one({"n": 0})
        cursor = self.db.log.find(cursor_type=pymongo.CursorType.TAILABLE_AWAIT)
        cursor.max_await_time_ms(2000)
        self.assertEqual(next(cursor)["n"], 0)
        writer = threading.Timer(0.1, lambda: self.db.log.insert_one({"n": 1}))
        writer.start()
        self.assertEqual(next(cursor)["n"], 1)
        writer.join()
        cursor.close()

    def test_aggregate_cursor(self):
        self.db.sales.insert_many([{"item": i % 3, "amount": i} for i in range(300)])
        totals = list(self.db.sales.aggregate([
            {"$match": {"amount": {"$gte": 0}}},
            {"$group": {"_id": "$item", "total": {"$sum": "$amount"}}},
            {"$sort": {"_id": 1}}]))
        self.assertEqual([t["total"] for t in totals], [14850, 14950, 15050])


class Bulk(Case):
    def test_ordered_and_unordered_errors(self):
        things = self.db.things
        operations = [pymongo.InsertOne({"_id": 1}), pymongo.InsertOne({"_id": 1}),
                      pymongo.InsertOne({"_id": 2}), pymongo.UpdateOne({"_id": 2}, {"$set": {"a": 1}}),
                      pymongo.DeleteOne({"_id": 9})]
        with self.assertRaises(BulkWriteError) as raised:
            things.bulk_write(operations)
        self.assertEqual(raised.exception.details["nInserted"], 1)
        self.assertEqual(raised.exception.details["writeErrors"][0]["index"], 1)
        self.assertEqual(raised.exception.details["writeErrors"][0]["code"], 11000)
        things.drop()
        with self.assertRaises(BulkWriteError) as raised:
            things.bulk_write(operations, ordered=False)
        self.assertEqual(raised.exception.details["nInserted"], 2)
        self.assertEqual(raised.exception.details["nModified"], 1)

    def test_mixed(self):
        result = self.db.things.bulk_write(
            [pymongo.InsertOne({"_id": i}) for i in range(1000)] +
            [pymongo.UpdateMany({"_id": {"$lt": 10}}, {"$set": {"low": True}}),
             pymongo.ReplaceOne({"_id": 5000}, {"a": 1}, upsert=True),
             pymongo.DeleteMany({"_id": {"$gte": 990, "$lt": 1000}})])
        self.assertEqual((result.inserted_count, result.modified_count, result.deleted_count,
                          result.upserted_count), (1000, 10, 10, 1))


class Indexes(Case):
    def test_create_list_drop(self):
        things = self.db.things
        name = things.create_index([("a", 1), ("b", -1)], unique=True, sparse=True)
        things.create_index("when", expireAfterSeconds=3600)
        self.assertEqual(set(things.index_information()), {"_id_", "a_1_b_-1", "when_1"})
        self.assertEqual(things.index_information()["when_1"]["expireAfterSeconds"], 3600)
        things.insert_one({"a": 1, "b": 1})
        with self.assertRaises(DuplicateKeyError) as raised:
            things.insert_one({"a": 1, "b": 1})
        self.assertEqual(raised.exception.details["keyPattern"], {"a": 1, "b": -1})
        things.drop_index(name)
        things.insert_one({"a": 1, "b": 1})
        things.drop_indexes()
        self.assertEqual(set(things.index_information()), {"_id_"})

    def test_explain_shows_the_index(self):
        self.db.things.insert_many([{"a": i} for i in range(100)])
        self.db.things.create_index("a")
        plan = self.db.things.find({"a": 5}).explain()
        self.assertEqual(plan["queryPlanner"]["winningPlan"]["inputStage"]["stage"], "IXSCAN")


class Errors(Case):
    def check(self, code, action):
        with self.assertRaises(OperationFailure) as raised:
            action()
        self.assertEqual(raised.exception.code, code, raised.exception)

    def test_codes(self):
        self.check(59, lambda: self.client.admin.command("atlasVersion"))
        self.check(59, lambda: self.db.command("nosuch"))
        self.check(2, lambda: list(self.db.c.find({"a": {"$nope": 1}})))
        self.check(26, lambda: self.db.command("collMod", "missing"))
        self.check(9, lambda: self.db.c.update_one({}, {"$nope": {"a": 1}}))
        self.check(13, lambda: self.db.command("getCmdLineOpts"))
        self.check(43, lambda: self.db.command("getMore", bson.Int64(12345), collection="c"))
        self.check(73, lambda: self.db.command("create", "bad$name"))


class Sessions(Case):
    def test_transaction(self):
        self.db.create_collection("accounts")
        self.db.accounts.insert_many([{"_id": "a", "n": 10}, {"_id": "b", "n": 0}])

        def transfer(session):
            self.db.accounts.update_one({"_id": "a"}, {"$inc": {"n": -5}}, session=session)
            self.db.accounts.update_one({"_id": "b"}, {"$inc": {"n": 5}}, session=session)

        with self.client.start_session() as session:
            session.with_transaction(transfer)
            session.start_transaction()
            transfer(session)
            self.assertEqual(self.db.accounts.find_one({"_id": "b"}, session=session)["n"], 10)
            self.assertEqual(self.db.accounts.find_one({"_id": "b"})["n"], 5)
            session.abort_transaction()
        self.assertEqual(self.db.accounts.find_one({"_id": "a"})["n"], 5)

    def test_causal_session_and_majority(self):
        majority = self.db.get_collection("c", write_concern=WriteConcern("majority"),
                                          read_concern=ReadConcern("majority"))
        with self.client.start_session(causal_consistency=True) as session:
            majority.insert_one({"_id": 1}, session=session)
            self.assertEqual(majority.find_one({"_id": 1}, session=session), {"_id": 1})

    def test_unacknowledged_writes(self):
        quick = self.db.get_collection("c", write_concern=WriteConcern(0))
        for i in range(100):
            quick.insert_one({"_id": i})
        quick.update_many({}, {"$set": {"a": 1}})
        quick.delete_one({"_id": 0})
        deadline = time.monotonic() + 10
        while self.db.c.count_documents({"a": 1}) != 99 and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.db.c.count_documents({"a": 1}), 99)


class Wire(Case):
    def test_compressors(self):
        for name in ("zlib", "snappy", "zstd"):
            try:
                client = pymongo.MongoClient(URI, compressors=name)
                document = {"_id": name, "text": "abc" * 100_000}
                client[self.db.name].c.insert_one(document)
            except Exception as error:  # the codec is not installed for this Python
                if "compressor" not in str(error):
                    raise
                continue
            self.assertEqual(client[self.db.name].c.find_one({"_id": name}), document)
            client.close()

    def test_unix_socket(self):
        folder = next((a for a in self.client.admin.command("getCmdLineOpts")["argv"]
                       if a.startswith("/tmp/tmp.") and not a.endswith("/data")), None)
        if folder is None:
            self.skipTest("the server's socket folder is not known")
        path = f"{folder}/mongodb-{PORT}.sock"
        client = pymongo.MongoClient(path.replace("/", "%2F").join(["mongodb://", "/?directConnection=true"])
                                     if pymongo.version_tuple >= (3, 11) else path)
        self.assertEqual(client.admin.command("ping")["ok"], 1.0)
        client.close()

    def test_threads_share_a_pool(self):
        counter = self.db.counter
        counter.insert_one({"_id": 1, "n": 0})

        def work():
            for _ in range(50):
                counter.update_one({"_id": 1}, {"$inc": {"n": 1}})

        threads = [threading.Thread(target=work) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counter.find_one()["n"], 1000)

    def test_replica_set_face(self):
        hello = self.client.admin.command("hello")
        self.assertTrue(hello["isWritablePrimary"])
        client = pymongo.MongoClient(URI, replicaSet=hello["setName"])
        self.assertEqual(client.admin.command("ping")["ok"], 1.0)
        self.assertEqual(client.primary, ("127.0.0.1", PORT))
        client.close()

    def test_codec_options(self):
        self.db.c.insert_one({"_id": 1, "at": datetime.datetime(2020, 1, 1)})
        aware = self.db.c.with_options(CodecOptions(tz_aware=True))
        self.assertEqual(aware.find_one()["at"].tzinfo is not None, True)


if __name__ == "__main__":
    counted.main()
