# SPDX-License-Identifier: Apache-2.0
"""Transactions and retryable writes as pymongo runs them, with replies lost on the way."""
import socket
import struct
import tempfile
import threading
import unittest

import bson
import pymongo
from pymongo import DeleteOne, InsertOne, UpdateOne
from pymongo.read_concern import ReadConcern

import counted
from proxy import LossyProxy
from server import Server


class Transactions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = pymongo.MongoClient(cls.server.uri, serverSelectionTimeoutMS=5000)
        cls.db = cls.client.transactions

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def test_concurrent_transfers_keep_the_total(self):
        accounts = self.db.accounts
        accounts.insert_many([{"_id": i, "n": 100} for i in range(5)])

        def transfer(number):
            def body(session):
                accounts.update_one({"_id": number}, {"$inc": {"n": -1}}, session=session)
                accounts.update_one({"_id": (number + 1) % 5}, {"$inc": {"n": 1}}, session=session)
            with self.client.start_session() as session:
                for _ in range(20):
                    session.with_transaction(body, read_concern=ReadConcern("snapshot"))

        threads = [threading.Thread(target=transfer, args=(i,)) for i in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([a["n"] for a in accounts.find()], [100] * 5)

    def test_collections_are_created_with_the_transaction(self):
        def body(session):
            self.db.first.insert_one({"_id": 1}, session=session)
            self.db.second.insert_one({"_id": 1}, session=session)
            self.assertNotIn("first", self.db.list_collection_names())
        with self.client.start_session() as session:
            session.with_transaction(body)
            self.assertIn("second", self.db.list_collection_names())
            session.start_transaction()
            self.db.third.insert_one({"_id": 1}, session=session)
            session.abort_transaction()
        self.assertNotIn("third", self.db.list_collection_names())

    def test_conflicts_carry_their_label(self):
        self.db.conflict.insert_one({"_id": 1})
        with self.client.start_session() as one, self.client.start_session() as other:
            one.start_transaction()
            other.start_transaction()
            self.db.conflict.update_one({"_id": 1}, {"$set": {"a": 1}}, session=one)
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                self.db.conflict.update_one({"_id": 1}, {"$set": {"a": 2}}, session=other)
            self.assertEqual(caught.exception.code, 112)
            self.assertTrue(caught.exception.has_error_label("TransientTransactionError"))
            one.commit_transaction()
        self.assertEqual(self.db.conflict.find_one()["a"], 1)


@unittest.skipUnless(hasattr(pymongo.MongoClient, "bulk_write"), "needs a driver with bulk_write")
class ClientBulkWrite(unittest.TestCase):
    def test_across_collections(self):
        with Server() as server, pymongo.MongoClient(server.uri) as client:
            result = client.bulk_write([
                InsertOne(namespace="a.x", document={"_id": 1, "n": 1}),
                InsertOne(namespace="b.y", document={"_id": 1}),
                UpdateOne(namespace="a.x", filter={"_id": 1}, update={"$inc": {"n": 1}}),
                DeleteOne(namespace="b.y", filter={"_id": 1}),
            ], verbose_results=True)
            self.assertEqual((result.inserted_count, result.modified_count, result.deleted_count),
                             (2, 1, 1))
            with self.assertRaises(pymongo.errors.ClientBulkWriteException) as caught:
                client.bulk_write([InsertOne(namespace="a.x", document={"_id": 1}),
                                   InsertOne(namespace="a.x", document={"_id": 2})], ordered=False)
            self.assertEqual([e["code"] for e in caught.exception.write_errors], [11000])
            self.assertEqual(client.a.x.count_documents({}), 2)


class LostReplies(unittest.TestCase):
    """Each write is run once although the driver sends it twice."""

    def setUp(self):
        self.server = Server()
        self.proxy = LossyProxy(self.server.port)
        self.client = pymongo.MongoClient(
            f"mongodb://127.0.0.1:{self.proxy.port}/?directConnection=true&retryWrites=true",
            serverSelectionTimeoutMS=5000)
        self.collection = self.client.lost.c
        self.collection.insert_one({"_id": 0, "n": 0})

    def tearDown(self):
        self.client.close()
        self.proxy.close()
        self.server.__exit__()

    def lose(self, command):
        self.proxy.lose(b"\x02" + command + b"\0")

    def test_insert(self):
        self.lose(b"insert")
        self.collection.insert_many([{"_id": 1}, {"_id": 2}])
        self.assertEqual(self.proxy.lost, 1)
        self.assertEqual(self.collection.count_documents({}), 3)

    def test_update(self):
        self.lose(b"update")
        result = self.collection.update_one({"_id": 0}, {"$inc": {"n": 1}})
        self.assertEqual((self.proxy.lost, result.modified_count), (1, 1))
        self.assertEqual(self.collection.find_one({"_id": 0})["n"], 1)

    def test_delete(self):
        self.lose(b"delete")
        result = self.collection.delete_one({"_id": 0})
        self.assertEqual((self.proxy.lost, result.deleted_count), (1, 1))

    def test_find_and_modify(self):
        self.lose(b"findAndModify")
        before = self.collection.find_one_and_update({"_id": 0}, {"$inc": {"n": 1}})
        self.assertEqual((self.proxy.lost, before["n"]), (1, 0))
        self.assertEqual(self.collection.find_one({"_id": 0})["n"], 1)

    def test_commit(self):
        self.proxy.lose(b"commitTransaction")
        with self.client.start_session() as session:
            session.with_transaction(
                lambda s: self.collection.update_one({"_id": 0}, {"$inc": {"n": 1}}, session=s))
        self.assertEqual(self.proxy.lost, 1)
        self.assertEqual(self.collection.find_one({"_id": 0})["n"], 1)


def run_raw(server, command):
    """Runs a command with exactly these fields, which drivers would add sessions of their own to."""
    body = b"\0\0\0\0\0" + bson.BSON.encode(command)
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(struct.pack("<iiii", 16 + len(body), 1, 0, 2013) + body)
        return bson.decode(LossyProxy.message(connection)[21:])


class Restart(unittest.TestCase):
    def test_a_write_sent_again_after_a_restart_is_answered_as_before(self):
        session = {"lsid": {"id": bson.Binary(bytes(16), 4)}, "txnNumber": bson.Int64(1)}
        command = {"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}},
                   "upsert": True, "new": True, **session, "$db": "test"}
        answers = []
        with tempfile.TemporaryDirectory() as path:
            for _ in range(2):
                with Server(path) as server:
                    reply = run_raw(server, command)
                    answers.append((reply["value"], reply["lastErrorObject"]))
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[0][0], {"_id": 1, "n": 1})


if __name__ == "__main__":
    counted.main()
