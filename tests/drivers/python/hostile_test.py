# SPDX-License-Identifier: Apache-2.0
"""Clients that wait in masses, trickle, stop in the middle, or never read: the server stays small and answers others."""
import os
import resource
import socket
import struct
import time
import unittest

import bson
import pymongo

import counted
from server import Server

MEGABYTE = 1 << 20
STREAMS = 1000
TRICKLERS = 1000
NON_READERS = 64


def message(body, number=1):
    body = b"\0\0\0\0\0" + bson.BSON.encode(body)
    return struct.pack("<iiii", 16 + len(body), number, 0, 2013) + body


def receive(connection):
    """The document of the next reply."""
    def read(size):
        data = b""
        while len(data) < size:
            part = connection.recv(size - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
        return data

    length = struct.unpack("<i", read(4))[0]
    return bson.BSON(read(length - 4)[17:]).decode()


def connect(server):
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.settimeout(60)
    return connection


def run(connection, body):
    connection.sendall(message(body))
    return receive(connection)


class Hostile(unittest.TestCase):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.server = Server()
        self.addCleanup(self.server.__exit__)
        self.connections = []
        self.addCleanup(lambda: [c.close() for c in self.connections])
        self.client = pymongo.MongoClient(self.server.uri, serverSelectionTimeoutMS=20000)
        self.addCleanup(self.client.close)

    def connect_many(self, count):
        self.connections += [connect(self.server) for _ in range(count)]
        return self.connections

    def check_answers(self):
        started = time.monotonic()
        self.client.test.things.insert_one({})
        self.assertGreater(self.client.test.things.count_documents({}), 0)
        return time.monotonic() - started

    def open_streams(self):
        for number, connection in enumerate(self.connect_many(STREAMS)):
            reply = run(connection, {"aggregate": f"watched{number % 10}", "pipeline": [{"$changeStream": {}}],
                                     "cursor": {}, "$db": "test"})
            yield connection, number % 10, reply["cursor"]["id"]

    def test_a_thousand_waiting_change_streams(self):
        before_kb = self.server.memory_kb()
        streams = list(self.open_streams())
        for connection, watched, cursor in streams:
            connection.sendall(message({"getMore": cursor, "collection": f"watched{watched}",
                                        "maxTimeMS": 600_000, "$db": "test"}))
        self.check_answers()
        time.sleep(0.5)
        threads, grown_kb = self.server.threads(), self.server.memory_kb() - before_kb
        print(f"{STREAMS} waiting streams: {threads} threads, {grown_kb / STREAMS:.0f} KB each", flush=True)
        self.assertLess(threads, 100)
        self.assertLess(grown_kb / STREAMS, 100)
        for watched in range(10):
            self.client.test[f"watched{watched}"].insert_one({"_id": watched})
        for connection, watched, _ in streams:
            batch = receive(connection)["cursor"]["nextBatch"]
            self.assertEqual([e["documentKey"] for e in batch], [{"_id": watched}])
        self.assertEqual(self.server.stop(), 0)

    def test_a_killed_cursor_ends_its_wait(self):
        streams = list(self.open_streams())
        for connection, watched, cursor in streams:
            connection.sendall(message({"getMore": cursor, "collection": f"watched{watched}",
                                        "maxTimeMS": 600_000, "$db": "test"}))
        for watched in range(10):
            ids = [cursor for _, w, cursor in streams if w == watched]
            self.client.test.command("killCursors", f"watched{watched}", cursors=ids)
        for connection, _, _ in streams:
            self.assertIn(receive(connection)["codeName"], ("CursorNotFound", "CursorKilled"))

    def test_waiting_tailable_cursors(self):
        capped = self.client.test.create_collection("capped", capped=True, size=MEGABYTE)
        capped.insert_one({"_id": 0})
        cursors = []
        for connection in self.connect_many(200):
            reply = run(connection, {"find": "capped", "tailable": True, "awaitData": True, "$db": "test"})
            cursors.append(reply["cursor"]["id"])
        for connection, cursor in zip(self.connections, cursors):
            connection.sendall(message({"getMore": cursor, "collection": "capped", "maxTimeMS": 600_000,
                                        "$db": "test"}))
        self.check_answers()
        self.assertLess(self.server.threads(), 100)
        capped.insert_one({"_id": 1})
        for connection in self.connections:
            self.assertEqual(receive(connection)["cursor"]["nextBatch"], [{"_id": 1}])
        for connection, cursor in zip(self.connections, cursors):
            connection.sendall(message({"getMore": cursor, "collection": "capped", "maxTimeMS": 600_000,
                                        "$db": "test"}))
        capped.drop()
        for connection in self.connections:
            self.assertEqual(receive(connection)["ok"], 0)

    def test_an_empty_wait_ends_in_time(self):
        for connection, watched, cursor in list(self.open_streams())[:100]:
            connection.sendall(message({"getMore": cursor, "collection": f"watched{watched}", "maxTimeMS": 200,
                                        "$db": "test"}))
        for connection in self.connections[:100]:
            reply = receive(connection)["cursor"]
            self.assertEqual(reply["nextBatch"], [])
            self.assertIn("postBatchResumeToken", reply)

    def test_tricklers(self):
        """A byte at a time of a message that announces 40 MB."""
        before_kb = self.server.memory_kb()
        start = struct.pack("<iiii", 40 * MEGABYTE, 1, 0, 2013) + b"\0\0\0\0\0"
        connections = self.connect_many(TRICKLERS)
        for place in range(len(start)):
            for connection in connections:
                connection.send(start[place:place + 1])
        self.assertLess(self.check_answers(), 10)
        grown_kb = self.server.memory_kb() - before_kb
        print(f"{TRICKLERS} tricklers: {self.server.threads()} threads, {grown_kb} KB", flush=True)
        self.assertLess(self.server.threads(), 100)
        self.assertLess(grown_kb, 50_000)

    def test_half_messages(self):
        """Memory follows what has arrived."""
        before_kb = self.server.memory_kb()
        half = struct.pack("<iiii", 40 * MEGABYTE, 1, 0, 2013) + b"\0" * MEGABYTE
        for connection in self.connect_many(100):
            connection.sendall(half)
        self.assertLess(self.check_answers(), 10)
        grown_kb = self.server.memory_kb() - before_kb
        self.assertLess(grown_kb, 400_000)
        for connection in self.connections:
            connection.close()
        self.wait_for(lambda: self.server.memory_kb() - before_kb < 100_000, "memory is not given back")

    def test_clients_that_never_read(self):
        """Each holds its one reply, however many requests it sends, and no thread."""
        large = self.client.test.large
        large.insert_many([{"data": os.urandom(MEGABYTE)} for _ in range(16)])
        before_kb = self.server.memory_kb()
        request = message({"find": "large", "batchSize": 1000, "$db": "test"})
        for connection in self.connect_many(NON_READERS):
            for _ in range(20):
                connection.send(request)
        self.assertLess(self.check_answers(), 30)
        time.sleep(0.5)
        grown = (self.server.memory_kb() - before_kb) / 1024
        print(f"{NON_READERS} clients that never read: {self.server.threads()} threads, {grown:.0f} MB", flush=True)
        self.assertLess(grown, NON_READERS * 20 + 200)
        time.sleep(12)  # idle threads end after ten seconds
        self.assertLess(self.server.threads(), NON_READERS)
        for connection in self.connections:
            connection.close()
        self.wait_for(lambda: (self.server.memory_kb() - before_kb) / 1024 < 300, "memory is not given back")

    def wait_for(self, condition, what):
        deadline = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)


if __name__ == "__main__":
    counted.main()
