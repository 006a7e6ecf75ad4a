# SPDX-License-Identifier: Apache-2.0
"""A cluster whose processes know each other by a key file: users and roles through the router, and nobody else's rights."""
import os
import socket
import subprocess
import tempfile
import time
import unittest

import bson
import pymongo
from pymongo.errors import OperationFailure, PyMongoError

import counted

QUIRE = os.environ["QUIRE"]
UNAUTHORIZED = 13


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait(what, seconds=60):
    until = time.monotonic() + seconds
    while True:
        try:
            if result := what():
                return result
        except PyMongoError:
            pass
        if time.monotonic() > until:
            raise AssertionError("waited in vain")
        time.sleep(0.1)


class Secured(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="quire-secured-")
        cls.processes = []
        key = cls.folder.name + "/key"
        with open(key, "w", encoding="ascii") as file:
            file.write("c2VjcmV0IG9mIHRoZSBjbHVzdGVy\n")
        os.chmod(key, 0o600)
        client, peer = free_port(), free_port()
        store = f"http://127.0.0.1:{client}"
        cls.start("etcd", ["etcd", f"--data-dir={cls.folder.name}/etcd", f"--listen-client-urls={store}",
                           f"--advertise-client-urls={store}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
                           f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                           f"--initial-cluster=default=http://127.0.0.1:{peer}", "--log-level=error"])
        cls.ports = {name: free_port() for name in ("s0", "s1", "router")}
        common = ["--bind_ip", "127.0.0.1", "--coord", store, "--keyFile", key, "--nounixsocket"]
        for name in ("s0", "s1"):
            os.makedirs(f"{cls.folder.name}/{name}")
            cls.start(name, [QUIRE, "serve", "--dbpath", f"{cls.folder.name}/{name}", "--port", str(cls.ports[name]),
                             "--replSet", name, "--cacheSizeGB", "0.1", *common])
        cls.start("router", [QUIRE, "route", "--port", str(cls.ports["router"]), *common])
        for name in ("s0", "s1"):
            direct = cls.client(name)
            wait(lambda d=direct: d.admin.command("hello"))
            direct.admin.command("replSetInitiate", {"_id": name, "members": [
                {"_id": 0, "host": f"127.0.0.1:{cls.ports[name]}"}]})
            wait(lambda d=direct: d.admin.command("hello")["isWritablePrimary"])
            direct.close()
        stranger = cls.client("router")
        wait(lambda: stranger.admin.command("hello"))
        # As long as there are no users: the first shard, and the first user.
        stranger.admin.command("addShard", f"s0/127.0.0.1:{cls.ports['s0']}")
        stranger.admin.command("createUser", "root", pwd="secret", roles=["root"])
        cls.stranger = stranger
        cls.root = cls.client("router", username="root", password="secret")
        cls.root.admin.command("addShard", f"s1/127.0.0.1:{cls.ports['s1']}")

    @classmethod
    def tearDownClass(cls):
        for process in cls.processes:
            process.kill()
            process.wait()
        cls.folder.cleanup()

    @classmethod
    def start(cls, name, argv):
        with open(f"{cls.folder.name}/{name}.log", "ab") as log:
            cls.processes.append(subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT))

    @classmethod
    def client(cls, name, **options):
        return pymongo.MongoClient("127.0.0.1", cls.ports[name], directConnection=True, serverSelectionTimeoutMS=20000,
                                   **options)

    def refused(self, call, *arguments, **options):
        with self.assertRaises(OperationFailure) as failed:
            call(*arguments, **options)
        self.assertEqual(UNAUTHORIZED, failed.exception.code, failed.exception)

    def test_strangers_get_nothing(self):
        for command in ("listShards", "getShardMap", "flushRouterConfig", "balancerStatus", "listDatabases"):
            self.refused(self.stranger.admin.command, command)
        self.refused(self.stranger.admin.command, "addShard", "s9/127.0.0.1:1")
        self.refused(self.stranger.t.c.insert_one, {})
        self.refused(self.stranger.config.shards.find_one)
        for name in ("s0", "s1"):
            direct = self.client(name)
            self.refused(direct.admin.command, "_shardsvrIsPrimary")
            self.refused(direct.admin.command, "_shardsvrCoordinate", {"drop": "c"}, db="t")
            self.refused(direct.t.c.find_one)
            direct.close()

    def test_users_have_their_own_rights(self):
        self.root.admin.command("shardCollection", "t.c", key={"x": 1})
        self.root.admin.command("split", "t.c", middle={"x": 0})
        self.root.admin.command("moveChunk", "t.c", find={"x": 1}, to=[
            s for s in ("s0", "s1") if s != self.root.config.databases.find_one({"_id": "t"})["primary"]][0])
        self.root.t.c.insert_many([{"_id": i, "x": i} for i in range(-3, 3)])
        self.root.t.command("createUser", "reader", pwd="r", roles=["read"])
        reader = self.client("router", username="reader", password="r", authSource="t")
        self.assertEqual(6, reader.t.c.count_documents({}))
        self.refused(reader.t.c.insert_one, {"x": 1})
        self.refused(reader.t.c.update_one, {"y": 1}, {"$set": {"z": 1}})
        self.refused(reader.t.c.aggregate, [{"$out": "d"}])
        self.refused(reader.admin.command, "shardCollection", "t.d", key={"x": 1})
        self.refused(reader.admin.command, "removeShard", "s1")
        self.refused(reader.admin.command, "bulkWrite", 1, ops=[{"insert": 0, "document": {"x": 1}}],
                     nsInfo=[{"ns": "t.c"}])
        self.refused(reader.u.c.find_one)
        # A role that comes and goes counts from the next request on.
        self.root.t.command("grantRolesToUser", "reader", roles=["readWrite"])
        reader.t.c.insert_one({"_id": 50, "x": 50})
        self.root.t.command("revokeRolesFromUser", "reader", roles=["readWrite"])
        self.refused(reader.t.c.insert_one, {"_id": 51, "x": 51})
        self.root.t.command("dropUser", "reader")
        with self.assertRaises(PyMongoError):
            reader.t.c.find_one()
        reader.close()

    def test_nobody_says_what_routers_say(self):
        for client in (self.root, self.client("s0", username="root", password="secret")):
            with self.assertRaises(OperationFailure):
                client.t.command("find", "c", shardVersion={"e": bson.ObjectId(), "t": bson.Timestamp(1, 1),
                                                            "v": bson.Timestamp(1, 0)})


if __name__ == "__main__":
    counted.main()
