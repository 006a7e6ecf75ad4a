# SPDX-License-Identifier: Apache-2.0
"""Members that know each other by a key file or by certificates, and strangers who reach their ports."""
import os
import subprocess
import tempfile
import time
import unittest

import pymongo
from bson import SON
from pymongo.errors import OperationFailure, PyMongoError

import counted
from certificates import Authority
from rig import Rig

QUIRE = os.environ["QUIRE"]
UNAUTHORIZED = 13
MEMBER = "/O=Quire/OU=Members/CN="


class Members:
    """Members on loopback, where the first user can be made without a login. The network is the test's own."""

    def __init__(self, folder, options, client_options=None):
        self.folder = folder
        self.options = options
        self.client_options = client_options or {}
        self.processes = []
        self.start("etcd", ["etcd", f"--data-dir={folder}/etcd", "--log-level=error"])

    def start(self, name, argv):
        with open(f"{self.folder}/{name}.log", "ab") as log:
            self.processes.append(subprocess.Popen(argv, stdout=log, stderr=subprocess.STDOUT))
        return self.processes[-1]

    def start_member(self, number, options=None):
        path = f"{self.folder}/m{number}"
        os.makedirs(path, exist_ok=True)
        given = self.options(number) if options is None else options
        return self.start(f"m{number}", [QUIRE, "serve", "--dbpath", path, "--port", str(27100 + number), "--replSet", "s0",
                                         "--coord", "http://127.0.0.1:2379", "--nounixsocket", "--cacheSizeGB", "0.1", *given])

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
        for number in range(3):
            self.refused(members.direct(number))
            self.refused(members.direct(number, username="root", password="secret"))
        processes[0].kill()
        processes[0].wait()
        root.t.c.with_options(write_concern=pymongo.WriteConcern("majority")).insert_one({"_id": 2})
        self.assertEqual([1, 2], sorted(d["_id"] for d in root.t.c.find()))
        root.close()

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
        root = members.client(username="root", password="secret")
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


if __name__ == "__main__":
    counted.main()
