# SPDX-License-Identifier: Apache-2.0
"""The audit log of a server, as pymongo's clients fill it."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import pymongo
from pymongo.errors import OperationFailure

import counted
from server import QUIRE, Server


def client(server, user=None, password=None, source="admin"):
    options = {"serverSelectionTimeoutMS": 5000}
    if user:
        options.update(username=user, password=password, authSource=source)
    return pymongo.MongoClient(server.uri, **options)


class Audit(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "audit.json")

    def tearDown(self):
        self.folder.cleanup()

    def server(self, *options):
        return Server(os.path.join(self.folder.name, "data"),
                      ["--auth", "--auditDestination", "file", "--auditPath", self.path, *options])

    def events(self, path=None):
        with open(path or self.path, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("s3cr3t", text)
        return [json.loads(line) for line in text.splitlines()]

    def awaited(self, check):
        for _ in range(200):
            events = self.events()
            if check(events):
                return events
            time.sleep(0.05)
        self.fail(f"not told of: {events}")

    def test_who_did_what(self):
        with self.server() as server:
            client(server).admin.command("createUser", "root", pwd="s3cr3t", roles=["root"])
            with client(server, "root", "s3cr3t") as root:
                root.shop.orders.insert_one({"_id": 1})
                root.shop.orders.create_index("a")
                root.shop.command("createUser", "ann", pwd="s3cr3t", roles=["read"])
                root.admin.command("logApplicationMessage", "tea")
            with client(server, "ann", "s3cr3t", "shop") as ann:
                ann.shop.orders.find_one()
                with self.assertRaises(OperationFailure):
                    ann.shop.orders.insert_one({})
            with self.assertRaises(OperationFailure):
                client(server, "ann", "wrong", "shop").admin.command("ping")
            self.awaited(lambda events: sum(e["atype"] == "logout" for e in events) >= 2)
            self.assertEqual(server.stop(), 0)
        events = self.events()
        types = [event["atype"] for event in events]
        for expected in ("startup", "createUser", "authenticate", "createDatabase", "createCollection", "createIndex",
                         "applicationMessage", "authCheck", "logout", "shutdown"):
            self.assertIn(expected, types)
        self.assertEqual(types[0], "startup")
        self.assertIn("shutdown", types)  # a client may still say who it is behind it
        logins = [(e["param"]["user"], e["param"]["db"], e["result"]) for e in events if e["atype"] == "authenticate"]
        self.assertIn(("root", "admin", 0), logins)
        self.assertIn(("ann", "shop", 0), logins)
        self.assertIn(("ann", "shop", 18), logins)
        refused = next(e for e in events if e["atype"] == "authCheck")
        self.assertEqual((refused["result"], refused["param"]["command"], refused["param"]["ns"]),
                         (13, "insert", "shop.orders"))
        self.assertEqual(refused["users"], [{"user": "ann", "db": "shop"}])
        self.assertEqual(refused["roles"], [{"role": "read", "db": "shop"}])
        self.assertEqual(refused["remote"]["ip"], "127.0.0.1")
        self.assertEqual(refused["local"]["port"], server.port)
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)

    def test_filter_and_rotation(self):
        with self.server("--auditFilter", "{ atype: { $in: [ 'createCollection', 'rotateLog' ] } }") as server:
            client(server).admin.command("createUser", "root", pwd="s3cr3t", roles=["root"])
            with client(server, "root", "s3cr3t") as root:
                root.shop.command("create", "one")
                root.admin.command("logRotate", "audit")
                root.shop.command("create", "two")
                old = self.events()[0]["param"]["pathname"]
                server.process.send_signal(signal.SIGUSR1)
                self.awaited(lambda events: [e["atype"] for e in events] == ["rotateLog"])
        first = [event["param"]["ns"] for event in self.events(old)]
        self.assertIn("shop.one", first)
        self.assertNotIn("shop.two", first)

    def test_options(self):
        for options in (["--auditPath", "x"], ["--auditDestination", "file"], ["--auditDestination", "nowhere"],
                        ["--auditDestination", "console", "--auditPath", "x"],
                        ["--auditDestination", "console", "--auditFormat", "BSON"],
                        ["--auditDestination", "console", "--auditFilter", "{atype"]):
            done = subprocess.run([QUIRE, "serve", "--ephemeral", "--port", "0", *options], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=60)
            self.assertEqual(done.returncode, 2, (options, done.stdout))


if __name__ == "__main__":
    counted.main()
