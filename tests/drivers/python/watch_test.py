# SPDX-License-Identifier: Apache-2.0
"""pymongo's watch(): scopes, resuming, restarts of the server, waiting without work."""
import os
import signal
import tempfile
import threading
import time
import unittest

import pymongo
import pymongo.errors

import counted
from server import Server


def client(server):
    return pymongo.MongoClient(server.uri, serverSelectionTimeoutMS=10_000)


def take(stream, count):
    """The next `count` events; fewer when they do not come in time."""
    events = []
    deadline = time.monotonic() + 30
    while len(events) < count and time.monotonic() < deadline:
        event = stream.try_next()
        if event is not None:
            events.append(event)
    return events


class Watch(unittest.TestCase):
    def test_scopes_and_kinds(self):
        with Server() as server:
            node = client(server)
            streams = [node.app.things.watch(), node.app.watch(), node.watch()]
            things = node.app.things
            things.insert_one({"_id": 1})
            things.update_one({"_id": 1}, {"$set": {"a": {"b": 1}}})
            things.replace_one({"_id": 1}, {"c": 1})
            things.delete_one({"_id": 1})
            node.other.things.insert_one({"_id": 2})
            for stream in streams:
                kinds = [e["operationType"] for e in take(stream, 4)]
                self.assertEqual(kinds, ["insert", "update", "replace", "delete"])
            self.assertEqual(take(streams[2], 1)[0]["ns"], {"db": "other", "coll": "things"})
            self.assertIsNone(streams[0].try_next())
            things.drop()
            self.assertEqual([e["operationType"] for e in take(streams[0], 2)],
                             ["drop", "invalidate"])
            self.assertFalse(streams[0].alive)

    def test_resumes_after_a_restart(self):
        with tempfile.TemporaryDirectory() as path:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with Server(path) as server:
                    things = client(server).app.things
                    things.drop()
                    with things.watch() as stream:
                        things.insert_many([{"_id": i} for i in range(10)])
                        seen = take(stream, 3)
                        token = seen[-1]["_id"]
                        self.assertEqual(stream.resume_token, token)
                    server.stop(number)
                with Server(path) as server:
                    things = client(server).app.things
                    things.insert_one({"_id": 10})
                    with things.watch(resume_after=token) as stream:
                        ids = [e["documentKey"]["_id"] for e in take(stream, 8)]
                    self.assertEqual(ids, list(range(3, 11)))

    def test_an_idle_token_survives_a_restart(self):
        with tempfile.TemporaryDirectory() as path:
            with Server(path) as server:
                with client(server).app.things.watch() as stream:
                    self.assertIsNone(stream.try_next())
                    token = stream.resume_token
            with Server(path) as server:
                things = client(server).app.things
                things.insert_one({"_id": 1})
                with things.watch(resume_after=token) as stream:
                    self.assertEqual(take(stream, 1)[0]["documentKey"], {"_id": 1})

    def test_the_driver_resumes_by_itself(self):
        with Server() as server:
            node = client(server)
            with node.app.things.watch(max_await_time_ms=100) as stream:
                node.app.things.insert_one({"_id": 1})
                self.assertEqual(len(take(stream, 1)), 1)
                cursor = node.app.command({"aggregate": "none", "pipeline": [], "cursor": {}})
                self.assertEqual(cursor["cursor"]["id"], 0)
                node.admin.command("killAllSessions", [])
                node.app.things.insert_one({"_id": 2})
                self.assertEqual(take(stream, 1)[0]["documentKey"], {"_id": 2})

    def test_a_transaction_is_seen_whole(self):
        with Server() as server:
            node = client(server)
            things = node.app.things
            things.insert_one({"_id": 0})
            with things.watch() as stream, node.start_session() as session:
                with session.start_transaction():
                    things.insert_one({"_id": 1}, session=session)
                    self.assertIsNone(stream.try_next())
                    things.delete_one({"_id": 0}, session=session)
                events = take(stream, 2)
                self.assertEqual([e["operationType"] for e in events], ["insert", "delete"])
                self.assertEqual(events[0]["clusterTime"], events[1]["clusterTime"])
                self.assertEqual(events[0]["txnNumber"], events[1]["txnNumber"])

    def test_events_come_when_they_happen(self):
        with Server() as server:
            things = client(server).app.things
            with things.watch(max_await_time_ms=60_000) as stream:
                writer = threading.Timer(0.3, lambda: things.insert_one({"_id": 1}))
                started = time.monotonic()
                writer.start()
                event = next(stream)
                self.assertEqual(event["documentKey"], {"_id": 1})
                # Far from the end of the wait: the commit woke the stream.
                self.assertLess(time.monotonic() - started, 30)

    def test_many_writers_one_order(self):
        with Server() as server:
            node = client(server)
            things = node.app.things
            with things.watch() as stream:
                def work(number):
                    for i in range(50):
                        things.update_one({"_id": number}, {"$inc": {"n": 1}}, upsert=True)

                threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
                for thread in threads:
                    thread.start()
                events = take(stream, 400)
                for thread in threads:
                    thread.join()
            self.assertEqual(len(events), 400)
            tokens = [e["_id"]["_data"] for e in events]
            self.assertEqual(tokens, sorted(tokens))
            counts = {}
            for event in events:
                key = event["documentKey"]["_id"]
                value = (event.get("fullDocument") or event["updateDescription"]["updatedFields"])["n"]
                self.assertEqual(value, counts.get(key, 0) + 1)
                counts[key] = value

    def test_oplog_is_tailed(self):
        with Server() as server:
            node = client(server)
            newest = node.local["oplog.rs"].find().sort("$natural", -1).limit(1).next()["ts"]
            cursor = node.local["oplog.rs"].find({"ts": {"$gt": newest}, "op": "i"},
                                                 cursor_type=pymongo.CursorType.TAILABLE_AWAIT)
            node.app.things.insert_one({"_id": 1})
            entry = next(cursor)
            self.assertEqual((entry["ns"], entry["o"], entry["v"]), ("app.things", {"_id": 1}, 2))
            self.assertIn("oplog.rs", node.local.list_collection_names())
            with self.assertRaises(pymongo.errors.OperationFailure):
                node.local["oplog.rs"].insert_one({"a": 1})

    def test_the_log_stays_within_its_bounds(self):
        with tempfile.TemporaryDirectory() as path, \
                Server(path, ["--oplogSizeMB", "1", "--cacheSizeGB", "0.03"]) as server:
            # Small write buffers: the size of what is still in them is only guessed.
            node = client(server)
            with node.app.things.watch() as stream:
                token = stream.resume_token
            start = node.admin.command("ping")["operationTime"]
            # What a bulk insert adds lies in the collection alone, and the log refers to it.
            for _ in range(20):
                node.app.things.insert_many([{"text": os.urandom(1000)} for _ in range(100)])
            with node.app.things.watch(resume_after=token) as stream:
                self.assertEqual(len(take(stream, 2000)), 2000)
            for _ in range(10):
                node.app.things.update_many({}, {"$set": {"text": os.urandom(1000)}})
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                first = node.local["oplog.rs"].find().sort("$natural", 1).limit(1).next()
                if first["ts"] > start:
                    break
                time.sleep(0.5)
            self.assertGreater(first["ts"], start)
            with self.assertRaises(pymongo.errors.OperationFailure) as lost:
                with node.app.things.watch(resume_after=token) as stream:
                    take(stream, 1)
            self.assertEqual(lost.exception.code, 286)


if __name__ == "__main__":
    counted.main()
