# SPDX-License-Identifier: Apache-2.0
"""`quire cluster` as a user types it."""
import json
import os
import shutil
import socket
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

    def run_tool(self, *arguments, folder="c", expect=0, environment=None):
        result = subprocess.run([QUIRE, "cluster", *arguments, "--dir", f"{self.folder.name}/{folder}"],
                                capture_output=True, text=True, timeout=180, check=False, env=environment)
        if expect is not None:
            self.assertEqual(expect, result.returncode, result.stdout + result.stderr)
        return result

    def cluster(self, *arguments, **options):
        return self.run_tool(*arguments, **options).stdout

    def refused(self, text, *arguments, expect=1, **options):
        self.assertIn(text, self.run_tool(*arguments, expect=expect, **options).stderr)

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
        for job in ("kill", "pause", "resume"):
            self.refused(f"quire cluster start {primary}", job, primary)
        self.wait_for(lambda: "primary" in self.roles().values())
        self.cluster("start", primary)
        self.wait_for(self.settled)

        follower = next(n for n, r in self.roles().items() if r == "secondary")
        self.cluster("pause", follower)
        self.assertEqual("paused", self.roles()[follower])
        self.refused(f"quire cluster resume {follower}", "start", follower)
        self.cluster("resume", follower)
        self.wait_for(self.settled)
        self.cluster("stop", follower)
        self.assertEqual("down", self.roles()[follower])

        again = self.run_tool("up")
        self.assertEqual(uri, again.stdout.splitlines()[-1])
        self.assertEqual([f"starting {follower} "], [line[:14] for line in again.stderr.splitlines()
                                                     if "waiting" not in line])
        self.cluster("down")
        self.assertEqual({"down"}, set(self.roles().values()))
        self.assertEqual(uri, self.cluster("up").splitlines()[-1])
        self.assertEqual({"_id": 1}, pymongo.MongoClient(uri).t.c.find_one())

    def key_file(self, text, mode=0o600):
        path = f"{self.folder.name}/key"
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def test_members_that_share_a_key(self):
        self.refused("permissions", "up", "--port", "0", "--keyFile", self.key_file("secret", 0o644))
        self.assertFalse(os.path.exists(f"{self.folder.name}/c"))
        key = self.key_file("secret+secret")
        uri = self.cluster("up", "--port", "0", "--keyFile", key).splitlines()[-1]
        self.assertTrue(self.settled())
        client = pymongo.MongoClient(uri)
        with self.assertRaisesRegex(pymongo.errors.OperationFailure, "requires authentication"):
            client.t.c.insert_one({})
        client.admin.command("createUser", "root", pwd="pw", roles=["root"])
        self.cluster("down")
        self.refused(f"--keyFile is {key}", "up", "--keyFile", self.folder.name + "/other", expect=1)
        # There are users now: whoever starts the cluster is no stranger all the same.
        self.cluster("up")
        own = pymongo.MongoClient(uri, username="root", password="pw", w=3)
        own.t.c.insert_one({"_id": 1})
        self.assertEqual({"_id": 1}, own.t.c.find_one())

    def test_shards_that_share_a_key(self):
        key = self.key_file("secret+secret")
        uri = self.cluster("up", "--port", "0", "--shards", "2", "--members", "1",
                           f"--option=--keyFile={key}").splitlines()[-1]
        client = pymongo.MongoClient(uri)
        client.admin.command("createUser", "root", pwd="pw", roles=["root"])
        own = pymongo.MongoClient(uri, username="root", password="pw")
        self.assertEqual(["s0", "s1"], sorted(s["_id"] for s in own.admin.command("listShards")["shards"]))

    def test_what_is_in_the_way(self):
        port = next(p for p in range(41000, 60000, 10) if self.free(p, p + 3))
        self.cluster("up", "--members", "1", "--port", str(port))
        self.refused("only etcd, s0/0", "kill", "s0/7", expect=2)
        self.refused("--members is an option of 'up'", "status", "--members", "1", expect=2)
        self.refused("--json is an option of 'status'", "down", "--json", expect=2)
        self.refused("--members is 1", "up", "--members", "3")
        self.refused("--keyFile is not used", "up", "--keyFile", self.key_file("secret"))
        self.refused(f"--port is {port}", "up", "--port", str(port + 1))
        self.refused("--option is not", "up", "--option=--cacheSizeGB=1")
        self.refused("choose other ports", "up", "--port", str(port), folder="other")
        self.assertFalse(os.path.exists(f"{self.folder.name}/other"))
        shutil.copytree(f"{self.folder.name}/c", f"{self.folder.name}/copy")
        self.refused("move the folder back", "down", folder="copy")
        self.assertEqual("primary", self.roles()["s0/0"])

        self.cluster("stop", "s0/0")
        with socket.create_server(("127.0.0.1", port)):
            self.refused("in use by another program", "start", "s0/0")
        self.cluster("start", "s0/0")  # returns when it answers
        self.wait_for(self.settled)

    @staticmethod
    def free(first, last):
        for port in range(first, last + 1):
            try:
                socket.create_server(("127.0.0.1", port)).close()
            except OSError:
                return False
        return True

    def test_wrong_usage(self):
        self.cluster("up", "--members", "9", expect=2)
        self.cluster("sideways", expect=2)
        for arguments in (("status",), ("down",), ("kill", "s0/0")):
            self.refused("no cluster in", *arguments)
        self.refused("unknown option '--cacheSizeGb=1'; did you mean '--cacheSizeGB'?", "up", "--port", "0",
                     "--members", "1", "--option=--cacheSizeGb=1", folder="slip")
        self.run_tool("down", folder="slip")
        self.refused("etcd-server", "up", expect=1, environment={**os.environ, "PATH": "/nowhere"})
        self.assertFalse(os.path.exists(f"{self.folder.name}/c"))


if __name__ == "__main__":
    counted.main()
