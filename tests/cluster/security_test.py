# SPDX-License-Identifier: Apache-2.0
"""Members that know each other by a key file or by certificates, and strangers who reach their ports."""
import base64
import json
import os
import ssl
import subprocess
import tempfile
import time
import unittest
import urllib.request

import pymongo
from bson import SON
from pymongo.errors import OperationFailure, PyMongoError, WTimeoutError

import counted
from certificates import Authority
from rig import Rig

QUIRE = os.environ["QUIRE"]
UNAUTHORIZED = 13
MEMBER = "/O=Quire/OU=Members/CN="


class Members:
    """Members on loopback, where the first user can be made without a login. The network is the test's own."""

    def __init__(self, folder, options, client_options=None, etcd=(), scheme="http"):
        self.folder = folder
        self.options = options
        self.client_options = client_options or {}
        self.processes = []
        self.store = f"{scheme}://127.0.0.1:2379"
        self.start("etcd", ["etcd", f"--data-dir={folder}/etcd", "--log-level=error", f"--listen-client-urls={self.store}",
                            f"--advertise-client-urls={self.store}", *etcd])

    def start(self, name, argv):
        with open(f"{self.folder}/{name}.log", "ab") as log:
            self.processes.append(subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT))
        return self.processes[-1]

    def start_member(self, number, options=None):
        path = f"{self.folder}/m{number}"
        os.makedirs(path, exist_ok=True)
        given = self.options(number) if options is None else options
        return self.start(f"m{number}", [QUIRE, "serve", "--dbpath", path, "--port", str(27100 + number), "--replSet", "s0",
                                         "--coord", self.store, "--nounixsocket", "--cacheSizeGB", "0.1", *given])

    @staticmethod
    def host(number):
        return f"127.0.0.1:{27100 + number}"

    def direct(self, number, **options):
        return pymongo.MongoClient(f"mongodb://{self.host(number)}/?directConnection=true", serverSelectionTimeoutMS=2000,
                                   **{**self.client_options, **options})

    def client(self, **options):
        hosts = ",".join(self.host(number) for number in range(3))
        return pymongo.MongoClient(f"mongodb://{hosts}/?replicaSet=s0", serverSelectionTimeoutMS=60000,
                                   **{**self.client_options, **options})

    def answers(self, number):
        try:
            return self.direct(number).admin.command("hello")
        except PyMongoError:
            return None

    def up(self):
        members = [self.start_member(number) for number in range(3)]
        for number in range(3):
            Rig.wait(lambda n=number: self.answers(n), 60, f"member {number} answers")
        config = {"_id": "s0", "members": [{"_id": n, "host": self.host(n)} for n in range(3)]}
        self.direct(0).admin.command("replSetInitiate", config)
        Rig.wait(lambda: self.answers(0)["isWritablePrimary"], 60, "member 0 leads")
        self.direct(0).admin.command("createUser", "root", pwd="secret", roles=["root"])
        return members

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()


class Security(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="quire-members-")
        self.addCleanup(self.folder.cleanup)

    def key_file(self, name, text):
        path = f"{self.folder.name}/{name}"
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def check_set(self, members, processes):
        """Members talk, a stranger does not, and another member takes over."""
        root = members.client(username="root", password="secret")
        root.t.c.with_options(write_concern=pymongo.WriteConcern(3, wtimeout=60000)).insert_one({"_id": 1})
        Rig.wait(lambda: root.admin.command("replSetGetStatus")["votingMembersCount"] == 3, 60, "all are in sync")
        self.check_sinks(members, root)
        for number in range(3):
            self.refused(members.direct(number))
            self.refused(members.direct(number, username="root", password="secret"))
        processes[0].kill()
        processes[0].wait()
        root.t.c.with_options(write_concern=pymongo.WriteConcern("majority")).insert_one({"_id": 2})
        self.assertEqual([1, 2], sorted(d["_id"] for d in root.t.c.find()))
        root.close()

    def check_sinks(self, members, root):
        """What a secondary writes at the primary is what the user may, though members speak for it."""
        root.admin.command("createUser", "reader", pwd="pw", roles=[{"role": "read", "db": "t"}], writeConcern={"w": 3})
        root.admin.command("createUser", "writer", pwd="pw", roles=[{"role": "readWrite", "db": "t"}], writeConcern={"w": 3})
        for user, database, code in (("writer", "t", None), ("reader", "t", UNAUTHORIZED), ("writer", "u", UNAUTHORIZED)):
            for stage in ({"$merge": {"into": {"db": database, "coll": "d"}}}, {"$out": {"db": database, "coll": "e"}}):
                client = members.direct(1, username=user, password="pw")
                command = SON([("aggregate", "c"), ("pipeline", [stage]), ("cursor", {}),
                               ("$readPreference", {"mode": "secondary"})])
                if code is None:
                    client.t.command(command)
                else:
                    with self.assertRaises(OperationFailure) as refusal:
                        client.t.command(command)
                    self.assertEqual(code, refusal.exception.code)
                client.close()
        self.assertEqual(["c", "d", "e"], sorted(root.t.list_collection_names()))
        self.assertEqual([], root.u.list_collection_names())

    def refused(self, stranger):
        """Nobody but a member says what members say; a status is for those who may see it."""
        beacon = SON(replSetMessage=1, set="s0", **{"from": 1}, boot=1, message={"kind": "beacon"})
        for command in (beacon, SON([*beacon.items(), ("copy", {"begin": True})]), SON([*beacon.items(), ("probe", True)])):
            with self.assertRaises(OperationFailure) as refusal:
                stranger.admin.command(command)
            self.assertEqual(UNAUTHORIZED, refusal.exception.code)
        stranger.close()

    def test_key_file(self):
        key = self.key_file("key", "c2VjcmV0IG9mIHRoZSBzZXQ=\n")
        members = Members(self.folder.name, lambda number: ["--keyFile", key])
        self.addCleanup(members.close)
        processes = members.up()
        self.check_set(members, processes)
        with self.assertRaises(OperationFailure) as refusal:
            members.direct(1).admin.command("replSetGetStatus")
        self.assertEqual(UNAUTHORIZED, refusal.exception.code)
        self.check_other_key(members)

    def check_other_key(self, members):
        """A process with another key is not taken into the set, though the configuration names it."""
        members.start_member(3, ["--keyFile", self.key_file("other", "YW5vdGhlciBzZWNyZXQ=\n")])
        Rig.wait(lambda: members.answers(3), 60, "the process with another key answers")
        # Of the primary alone: a client of the set would bring along times that the other key has signed.
        primary = next(n for n in (1, 2) if members.answers(n)["isWritablePrimary"])
        root = members.direct(primary, username="root", password="secret")
        config = root.admin.command("replSetGetConfig")["config"]
        config["version"] += 1
        config["members"].append({"_id": 3, "host": members.host(3)})
        root.admin.command("replSetReconfig", config)
        until = time.monotonic() + 3
        while time.monotonic() < until:
            status = {m["_id"]: m for m in root.admin.command("replSetGetStatus")["members"]}
            self.assertNotIn(status[3]["stateStr"], ("PRIMARY", "SECONDARY", "RECOVERING"))
            self.assertFalse(members.answers(3)["secondary"])
            time.sleep(0.2)
        root.close()

    def test_certificates(self):
        authority = Authority(f"{self.folder.name}/ca")

        def options(number):
            certificate = authority.issue(f"{MEMBER}m{number}")
            return ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", certificate, "--tlsCAFile", authority.file,
                    "--clusterAuthMode", "x509"]

        guest = authority.issue("/O=Guests/CN=guest")
        members = Members(self.folder.name, options, {"tls": True, "tlsCAFile": authority.file, "tlsCertificateKeyFile": guest})
        self.addCleanup(members.close)
        processes = members.up()
        self.check_set(members, processes)

    def test_names_in_certificates(self):
        """Members reach each other by addresses; one whose certificate is for another name is no member to those who check it."""
        authority = Authority(f"{self.folder.name}/ca")
        guest = {"tls": True, "tlsCAFile": authority.file, "tlsAllowInvalidHostnames": True,
                 "tlsCertificateKeyFile": authority.issue("/O=Guests/CN=guest")}

        def options(number, *more):
            certificate = authority.issue(f"{MEMBER}m{number}", names="DNS:elsewhere.example")
            return ["--tlsMode", "requireTLS", "--tlsCertificateKeyFile", certificate, "--tlsCAFile", authority.file,
                    "--clusterAuthMode", "x509", *more]

        members = Members(self.folder.name, lambda n: options(n, "--tlsAllowInvalidHostnames"), guest)
        self.addCleanup(members.close)
        processes = members.up()
        root = members.client(username="root", password="secret")
        written = root.t.c.with_options(write_concern=pymongo.WriteConcern(3, wtimeout=60000))
        written.insert_one({"_id": 1})
        processes[2].kill()
        processes[2].wait()
        members.start_member(2, options(2))
        Rig.wait(lambda: members.answers(2), 60, "member 2 answers")
        root.t.c.with_options(write_concern=pymongo.WriteConcern("majority")).insert_one({"_id": 2})
        with self.assertRaises(WTimeoutError):
            root.t.c.with_options(write_concern=pymongo.WriteConcern(3, wtimeout=3000)).insert_one({"_id": 3})
        root.close()

    def test_a_store_with_certificates_and_passwords(self):
        authority = Authority(f"{self.folder.name}/ca")
        ours = authority.issue("/O=Quire/OU=Stores")  # with passwords etcd takes none with a common name
        key = self.key_file("key", "c2VjcmV0IG9mIHRoZSBzZXQ=\n")
        password = self.key_file("password", "of members\n")
        certificate = authority.issue("/O=Quire/OU=Stores/CN=localhost")

        def options(number):
            return ["--keyFile", key, "--coordCAFile", authority.file, "--coordCertFile", ours, "--coordKeyFile", ours,
                    "--coordUser", "quire", "--coordPasswordFile", password]

        etcd = [f"--cert-file={certificate}", f"--key-file={certificate}", "--client-cert-auth",
                f"--trusted-ca-file={authority.file}"]
        members = Members(self.folder.name, options, etcd=etcd, scheme="https")
        self.addCleanup(members.close)
        store = Store(members.store, authority.file, ours)
        Rig.wait(lambda: store.post("maintenance/status") is not None, 60, "etcd answers")
        store.require_passwords({"root": "of nobody", "quire": "of members"}, prefix="/quire/")
        self.check_set(members, members.up())
        # Neither without a certificate nor without the password.
        self.assertIsNone(Store(members.store, authority.file, None).post("maintenance/status"))
        everything = {"key": encoded("/quire/"), "range_end": encoded("/quire0")}
        self.assertIsNone(store.post("kv/range", everything))
        self.assertIsNone(store.post("kv/deleterange", everything))
        token = store.post("auth/authenticate", {"name": "quire", "password": "of members"})["token"]
        self.assertEqual("3", store.post("kv/range", everything, token)["count"])


def encoded(text):
    return base64.b64encode(text.encode()).decode()


class Store:
    """etcd over its JSON gateway."""

    def __init__(self, address, authority, certificate):
        self.address = address
        self.tls = ssl.create_default_context(cafile=authority)
        if certificate:
            self.tls.load_cert_chain(certificate)

    def post(self, path, body=None, token=None):
        """The reply; None when it refuses or does not answer."""
        request = urllib.request.Request(f"{self.address}/v3/{path}", json.dumps(body or {}).encode(),
                                         {"Authorization": token} if token else {})
        try:
            with urllib.request.urlopen(request, timeout=10, context=self.tls) as reply:
                return json.load(reply)
        except OSError:
            return None

    def require_passwords(self, users, prefix):
        """Of root, who may do everything, and of others, who may use the keys with this prefix."""
        self.post("auth/role/add", {"name": "members"})
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        self.post("auth/role/grant", {"name": "members", "perm": {"permType": "READWRITE", "key": encoded(prefix),
                                                                  "range_end": encoded(end)}})
        self.post("auth/role/add", {"name": "root"})
        for name, password in users.items():
            self.post("auth/user/add", {"name": name, "password": password})
            self.post("auth/user/grant", {"user": name, "role": "root" if name == "root" else "members"})
        if self.post("auth/enable") is None:
            raise AssertionError("etcd does not ask for passwords")


if __name__ == "__main__":
    counted.main()
