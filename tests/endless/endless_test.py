# SPDX-License-Identifier: Apache-2.0
"""Operations that would take minutes end with their time limit, and with killOp. How long that takes is counted in the
server's processor time, so that other work on the machine does not matter."""
import os
import threading
import time
import unittest

import bson
import pymongo

import attacks
import counted
from hostile_test import connect, message, receive
from server import Server

LIMIT_EXPIRED = 50
INTERRUPTED = 11601
TOO_MANY_KEYS = 201
LIMIT_MILLIS = 100
MOST_SECONDS = 0.5  # of the processor, after it was to end


def code(reply):
    errors = reply.get("writeErrors")
    return errors[0]["code"] if errors else reply.get("code", 0)


class Endless(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.client = pymongo.MongoClient(cls.server.uri, directConnection=True)
        attacks.fill(cls.client.shop)
        cls.times = []

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()
        if os.environ.get("QUIRE_TIMES"):
            for seconds, how, name, answer in sorted(cls.times, reverse=True):
                print(f"{seconds:8.3f} s  {how:8}  {name}  {answer}")

    def run_all(self, how, run, expected):
        wanted = os.environ.get("QUIRE_ATTACK", "")
        for part in attacks.PARTS:
            for name, command in part():
                if wanted not in f"{part.__name__}: {name}":
                    continue
                with self.subTest(part=part.__name__, name=name), connect(self.server) as connection:
                    command.setdefault("$db", "shop")
                    seconds, reply = run(connection, command)
                    self.times.append((seconds, how, f"{part.__name__}: {name}", code(reply)))
                    self.undo(command, reply)
                    allowed = {expected, 0, TOO_MANY_KEYS} if name in attacks.SHORT else {expected}
                    self.assertIn(code(reply), allowed, str(reply)[:300])
                    self.assertLess(seconds, MOST_SECONDS)

    def undo(self, command, reply):
        """A build that was not ended in time is no reason for the next one to find its index."""
        if "createIndexes" in command and reply.get("ok") == 1:
            self.client.shop.command({"dropIndexes": command["createIndexes"], "index": "built"})
        if "cloneCollectionAsCapped" in command:
            self.client.shop.drop_collection(command["toCollection"])

    def test_a_time_limit_ends_them(self):
        def run(connection, command):
            connection.sendall(message({**command, "maxTimeMS": LIMIT_MILLIS}))
            time.sleep(LIMIT_MILLIS / 1000)
            used = self.server.processor_seconds()
            reply = receive(connection)
            return self.server.processor_seconds() - used, reply

        self.run_all("limit", run, LIMIT_EXPIRED)

    def test_a_kill_ends_them(self):
        admin = self.client.admin

        def run(connection, command):
            mark = str(bson.ObjectId())
            replies = []
            connection.sendall(message({**command, "comment": mark}))
            waiter = threading.Thread(target=lambda: replies.append(receive(connection)))
            waiter.start()
            started = time.monotonic()
            used = self.server.processor_seconds()
            while waiter.is_alive():
                for operation in admin.aggregate([{"$currentOp": {"allUsers": True}},
                                                  {"$match": {"command.comment": mark}}]):
                    if time.monotonic() - started > LIMIT_MILLIS / 1000:
                        admin.command({"killOp": 1, "op": operation["opid"]})
                        used = self.server.processor_seconds()
                        waiter.join()
            return self.server.processor_seconds() - used, replies[0]

        self.run_all("killOp", run, INTERRUPTED)


if __name__ == "__main__":
    counted.main()
