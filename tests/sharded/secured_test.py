# SPDX-License-Identifier: Apache-2.0
"""Clusters whose processes know each other by a key file or by certificates: users and roles through routers, and nobody
else's rights."""
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
from certificates import Authority

QUIRE = os.environ["QUIRE"]
UNAUTHORIZED = 13
MEMBER = "/O=Quire/OU=Members/CN="


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


class Secured:
    """Two shards and two routers, with users; what every way to know each other has to keep."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="quire-secured-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.end)
        cls.processes = []
        cls.prepare()
        client, peer = free_port(), free_port()
        store = f"{cls.scheme}://127.0.0.1:{client}"
        cls.start("etcd", ["etcd", f"--data-dir={cls.folder.name}/etcd", f"--listen-client-urls={store}",
                           f"--advertise-client-urls={store}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
                           f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                           f"--initial-cluster=default=http://127.0.0.1:{peer}", "--log-level=error", *cls.etcd_options()])
        cls.ports = {name: free_port() for name in ("s0", "s1", "router", "other")}
        common = ["--bind_ip", "127.0.0.1", "--coord", store, "--nounixsocket"]
        for name in ("s0", "s1"):
            os.makedirs(f"{cls.folder.name}/{name}")
            cls.start(name, [QUIRE, "serve", "--dbpath", f"{cls.folder.name}/{name}", "--port", str(cls.ports[name]),
                             "--replSet", name, "--cacheSizeGB", "0.1", *common, *cls.options(name)])
        for name in ("router", "other"):
            cls.start(name, [QUIRE, "route", "--port", str(cls.ports[name]), *common, *cls.options(name)])
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
    def end(cls):
        for process in cls.processes:
            process.kill()
            process.wait()

    @classmethod
    def start(cls, name, argv):
        with open(f"{cls.folder.name}/{name}.log", "ab") as log:
            cls.processes.append(subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT))

    @classmethod
    def client(cls, name, **options):
        return pymongo.MongoClient("127.0.0.1", cls.ports[name], directConnection=True,
                                   **{"serverSelectionTimeoutMS": 20000, **cls.client_options(), **options})

    # --- how they know each other
    scheme = "http"

    @classmethod
    def prepare(cls):
        pass

    @classmethod
    def etcd_options(cls):
        return []

    @classmethod
    def options(cls, name):
        raise NotImplementedError

    @classmethod
    def client_options(cls):
        return {}

    # --- what holds
    def shard(self, database):
        """database.c by {x: 1}, with ranges on both shards."""
        admin = self.root.admin
        admin.command("shardCollection", f"{database}.c", key={"x": 1})
        admin.command("split", f"{database}.c", middle={"x": 0})
        admin.command("moveChunk", f"{database}.c", find={"x": 1}, to=[
            s for s in ("s0", "s1") if s != self.root.config.databases.find_one({"_id": database})["primary"]][0])

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
        self.shard("t")
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

    def test_users_are_those_of_every_router(self):
        self.root.u.command("createUser", "ann", pwd="first", roles=["readWrite"])
        other = lambda password: self.client("other", username="ann", password=password, authSource="u")
        ann = wait(lambda: self.logged_in(other("first")))
        ann.u.c.insert_one({"_id": 1})
        self.refused(ann.v.c.find_one)
        self.root.u.command("updateUser", "ann", pwd="second")
        wait(lambda: self.logged_in(other("second")))
        with self.assertRaises(PyMongoError):
            self.logged_in(other("first"))
        ann.close()
        self.root.u.command("dropUser", "ann")
        wait(lambda: not self.lets_in(other("second")))

    @staticmethod
    def logged_in(client):
        client.admin.command("ping")
        return client

    def lets_in(self, client):
        try:
            return bool(self.logged_in(client))
        except PyMongoError:
            return False
        finally:
            client.close()

    def test_connections_to_a_shard(self):
        self.shard("direct")
        self.root.direct.c.insert_many([{"_id": i, "x": i} for i in range(-5, 5)])
        self.root.admin.command("createRole", "replays", roles=[], privileges=[
            {"resource": {"cluster": True}, "actions": ["applyOps"]}])
        self.root.admin.command("createUser", "plain", pwd="p", roles=[
            "readWriteAnyDatabase", "dbAdminAnyDatabase", "replays"])
        self.root.admin.command("createUser", "direct", pwd="d", roles=["readWriteAnyDatabase", "directShardOperations"])
        with self.client("s0", username="plain", password="p") as plain, \
                self.client("s0", username="direct", password="d") as direct:
            self.assertEqual(5, plain.direct.c.count_documents({}))
            self.refused(plain.direct.c.insert_one, {"_id": 100, "x": 1})
            self.refused(plain.direct.c.delete_many, {})
            self.refused(plain.fresh.c.insert_one, {})
            self.assertNotIn("fresh", plain.list_database_names())
            stray = [{"$documents": [{"_id": "stray", "x": 77}]}, {"$merge": {"into": {"db": "direct", "coll": "c"}}}]
            self.refused(plain.config.aggregate, stray)
            self.refused(plain.config.command, "aggregate", 1, pipeline=stray[:1], cursor={}, legacyRuntimeConstants={})
            self.refused(plain.admin.command, "applyOps", [{"op": "i", "ns": "direct.c", "o": {"_id": "stray", "x": 77}}])
            self.refused(plain.admin.command, "applyOps", [{"op": "c", "ns": "direct.$cmd", "o": {"dropDatabase": 1}}])
            self.refused(plain.drop_database, "direct")
            plain.drop_database("nothing")
            self.assertTrue(direct.fresh.c.insert_one({}).acknowledged)
            self.assertEqual(1, direct.direct.c.update_one({}, {"$set": {"seen": 1}}).modified_count)
            for client in (plain, direct):  # what routers say is believed of members alone
                self.refused(client.admin.command, "_shardsvrCoordinate", {"drop": "c"}, db="direct")
                with self.assertRaises(OperationFailure):
                    client.direct.command("find", "c", legacyRuntimeConstants={"localNow": bson.Timestamp(1, 1)})
        self.assertEqual(10, self.root.direct.c.count_documents({}))


class ByKeyFile(Secured, unittest.TestCase):
    @classmethod
    def options(cls, name):
        path = cls.folder.name + "/key"
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as file:
                file.write("c2VjcmV0IG9mIHRoZSBjbHVzdGVy\n")
            os.chmod(path, 0o600)
        return ["--keyFile", path]


class ByCertificates(Secured, unittest.TestCase):
    """Nothing goes over the network in the clear, to etcd neither; every client shows a certificate."""
    scheme = "https"

    @classmethod
    def prepare(cls):
        cls.authority = Authority(f"{cls.folder.name}/ca")
        cls.guest = cls.authority.issue("/O=Guests/CN=guest")
        cls.store_certificate = cls.authority.issue("/O=Quire/OU=Stores/CN=localhost")

    @classmethod
    def etcd_options(cls):
        own = cls.store_certificate
        return [f"--cert-file={own}", f"--key-file={own}", "--client-cert-auth", f"--trusted-ca-file={cls.authority.file}"]

    @classmethod
    def options(cls, name):
        own = cls.authority.issue(MEMBER + name)
        return ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", own, "--tlsCAFile", cls.authority.file,
                "--clusterAuthMode", "x509", "--coordCAFile", cls.authority.file, "--coordCertFile", own, "--coordKeyFile", own]

    @classmethod
    def client_options(cls):
        return {"tls": True, "tlsCAFile": cls.authority.file, "tlsCertificateKeyFile": cls.guest}

    def test_nothing_goes_in_the_clear(self):
        for name in self.ports:
            client = pymongo.MongoClient("127.0.0.1", self.ports[name], directConnection=True, serverSelectionTimeoutMS=1000)
            with self.assertRaises(PyMongoError):
                client.admin.command("hello")
            client.close()

    def test_a_stranger_needs_a_certificate(self):
        foreign = Authority(f"{self.folder.name}/foreign", "Foreign Authority")
        for certificate in (None, foreign.issue("/O=Guests/CN=guest")):
            for name in self.ports:
                client = self.client(name, tlsCertificateKeyFile=certificate, serverSelectionTimeoutMS=1000)
                with self.assertRaises(PyMongoError):
                    client.admin.command("hello")
                client.close()

    def test_a_user_by_certificate(self):
        self.shard("certified")
        self.root.get_database("$external").command("createUser", "CN=guest,O=Guests",
                                                    roles=[{"role": "readWrite", "db": "certified"}])
        for name in ("router", "other"):
            guest = wait(lambda n=name: self.logged_in(self.client(n, authMechanism="MONGODB-X509")))
            guest.certified.c.insert_many([{"x": -1}, {"x": 1}])
            self.refused(guest.other.c.find_one)
            self.refused(guest.admin.command, "addShard", "s9/127.0.0.1:1")
            guest.close()
        self.assertEqual(4, self.root.certified.c.count_documents({}))

    def test_a_member_is_who_has_its_organisation(self):
        as_member = self.client("s0", tlsCertificateKeyFile=self.authority.issue(MEMBER + "x"), authMechanism="MONGODB-X509")
        self.assertEqual(1, as_member.admin.command("_shardsvrIsPrimary")["ok"])
        as_member.close()


if __name__ == "__main__":
    counted.main()
