# SPDX-License-Identifier: Apache-2.0
"""`quire cluster` as a user types it."""
import json
import os
import subprocess
import tempfile
import time
import unittest

import pymongo

import counted

QUIRE = os.environ["QUIRE"]


class Tool(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="quire-tool-")

    def tearDown(self):
        self.cluster("down", expect=None)
        self.folder.cleanup()

    def cluster(self, *arguments, expect=0):
        result = subprocess.run([QUIRE, "cluster", *arguments, "--dir", self.folder.name + "/c"],
                                capture_output=True, text=True, timeout=180, check=False)
        if expect is not None:
            self.assertEqual(expect, result.returncode, result.stdout + result.stderr)
        return result.stdout

    def roles(self):
        return {p["name"]: p["role"] for p in json.loads(self.cluster("status", "--json"))["processes"]}

    def wait_for(self, condition, seconds=40):
        until = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), until, self.cluster("status"))
            time.sleep(0.2)

    def settled(self):
        roles = [r for n, r in self.roles().items() if n != "etcd"]
        return roles.count("primary") == 1 and roles.count("secondary") == len(roles) - 1

    def test_a_set_from_up_to_down(self):
        uri = self.cluster("up", "--port", "0").splitlines()[-1]
        client = pymongo.MongoClient(uri, w=3)
        client.t.c.insert_one({"_id": 1})
        self.assertEqual({"etcd", "s0/0", "s0/1", "s0/2"}, set(self.roles()))
        self.assertTrue(self.settled())
        self.assertIn("ROLE", self.cluster("status"))

        primary = next(n for n, r in self.roles().items() if r == "primary")
        self.cluster("kill", primary)
        self.assertEqual("down", self.roles()[primary])
        self.wait_for(lambda: "primary" in self.roles().values())
        self.cluster("start", primary)
        self.wait_for(self.settled)

        follower = next(n for n, r in self.roles().items() if r == "secondary")
        self.cluster("pause", follower)
        self.assertEqual("paused", self.roles()[follower])
        self.cluster("resume", follower)
        self.wait_for(self.settled)
        self.cluster("stop", follower)
        self.assertEqual("down", self.roles()[follower])

        self.cluster("down")
        self.assertEqual({"down"}, set(self.roles().values()))
        self.assertEqual(uri, self.cluster("up").splitlines()[-1])
        self.assertEqual({"_id": 1}, pymongo.MongoClient(uri).t.c.find_one())

    def test_wrong_usage(self):
        self.cluster("up", "--members", "9", expect=2)
        self.cluster("sideways", expect=2)
        self.cluster("kill", "s0/7", expect=2)
        self.cluster("status", expect=1)


if __name__ == "__main__":
    counted.main()
