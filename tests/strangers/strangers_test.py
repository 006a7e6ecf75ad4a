# SPDX-License-Identifier: Apache-2.0
"""Strangers: what a client gets before it has logged in, what failed logins cost, and what many connections can take."""
import base64
import hashlib
import hmac
import json
import os
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import time
import unittest
import uuid
import zlib

import bson
import pymongo
from pymongo.errors import PyMongoError

import counted
from hostile_test import message, receive, run
from server import QUIRE, Server

MEGABYTE = 1 << 20
UNAUTHORIZED = 13
AUTHENTICATION_FAILED = 18


def parameters(**values):
    return [part for name, value in values.items() for part in ("--setParameter", f"{name}={value}")]


def connect(server, source="127.0.0.1", timeout=60):
    connection = socket.create_connection(("127.0.0.1", server.port), source_address=(source, 0))
    connection.settimeout(timeout)
    return connection


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path) as file:
        return file.read()


def closed(connection):
    """Whether the server ends it, after whatever it had to say."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    except socket.timeout:
        return False
    return True


def compressed(body):
    payload = message(body)[16:]
    packed = zlib.compress(payload)
    return struct.pack("<iiiiiiB", 25 + len(packed), 1, 0, 2012, 2013, len(payload), 2) + packed


def start_login(connection, user):
    """The reply to saslStart."""
    first = f"n={user},r=abc"
    return first, run(connection, {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": ("n,," + first).encode(),
                                   "options": {"skipEmptyExchange": True}, "$db": "admin"})


def log_in(connection, user, password):
    """The last reply of a login."""
    first, reply = start_login(connection, user)
    if reply["ok"] != 1:
        return reply
    challenge = bytes(reply["payload"]).decode()
    fields = dict(part.split("=", 1) for part in challenge.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    last = "c=biws,r=" + fields["r"]
    signature = hmac.digest(hashlib.sha256(key).digest(), f"{first},{challenge},{last}".encode(), "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature))).decode()
    return run(connection, {"saslContinue": 1, "conversationId": 1, "payload": f"{last},p={proof}".encode(),
                            "$db": "admin"})


class Case(unittest.TestCase):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.data = os.path.join(self.folder, "data")
        self.clients = []

    def stop(self, server, number=signal.SIGTERM):
        """Closes the clients, which would look for the server, and ends it; the exit code."""
        for client in self.clients:
            client.close()
        return server.stop(number)

    def start(self, extra=(), path=None, program=None):
        server = Server(path, extra, program)
        self.addCleanup(server.__exit__)
        return server

    def client(self, server, **options):
        client = pymongo.MongoClient(server.uri, serverSelectionTimeoutMS=20000, **options)
        self.clients.append(client)
        self.addCleanup(client.close)
        return client

    def start_with_users(self, **values):
        """A server with access control, the user ann with the password right, and a client that is root."""
        server = self.start(["--auth", *parameters(**values)])
        client = self.client(server)
        client.admin.command("createUser", "ann", pwd="right", roles=["root"])
        client.close()
        return server, self.client(server, username="ann", password="right")

    def connect(self, server, **options):
        connection = connect(server, **options)
        self.addCleanup(connection.close)
        return connection

    def wait_for(self, condition, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)

    def logged(self, server, text):
        """The server writes `text` to its log, perhaps after the client has seen why."""
        self.wait_for(lambda: text in server.output(), "not logged: " + text)


class BeforeALogin(Case):
    def test_messages_are_small(self):
        server, root = self.start_with_users()
        large = {"hello": 1, "pad": "x" * 20_000, "$db": "admin"}
        for bytes_ in (message(large), compressed(large), compressed({**large, "pad": "x" * 10 * MEGABYTE})):
            connection = self.connect(server)
            connection.sendall(bytes_)
            self.assertTrue(closed(connection))
        connection = self.connect(server)
        self.assertEqual(run(connection, {**large, "pad": "x" * 16_000})["ok"], 1)
        self.assertEqual(log_in(connection, "ann", "right")["ok"], 1)
        self.assertEqual(run(connection, {**large, "pad": "x" * 10 * MEGABYTE})["ok"], 1)
        root.admin.command("setParameter", 1, preAuthMaximumMessageSizeBytes=MEGABYTE)
        self.assertEqual(run(self.connect(server), large)["ok"], 1)

    def test_a_connection_holds_little_memory(self):
        server, root = self.start_with_users()
        root.admin.command("ping")
        names = ["zlib"] * 900
        payload = b"n,,n=ann,r=" + b"x" * 8000
        for kind, body in (("compressors", {"hello": 1, "compression": names, "$db": "admin"}),
                           ("nonces", {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": payload,
                                       "$db": "admin"}),
                           ("half messages", None)):
            before_kb = server.memory_kb()
            connections = [self.connect(server) for _ in range(1000)]
            for connection in connections:
                if body is None:
                    connection.sendall(struct.pack("<iiii", 16_000, 1, 0, 2013) + b"\0" * 15_000)
                else:
                    self.assertEqual(run(connection, body)["ok"], 1)
            root.admin.command("ping")
            each_kb = (server.memory_kb() - before_kb) / len(connections)
            print(f"{kind}: {each_kb:.0f} KB for each connection", flush=True)
            self.assertLess(each_kb, 64)
            for connection in connections:
                connection.close()

    def test_there_are_no_sessions(self):
        server, root = self.start_with_users(maxSessions=20)
        connection = self.connect(server)
        for _ in range(100):
            lsid = {"id": bson.Binary(uuid.uuid4().bytes, 4)}
            self.assertEqual(run(connection, {"ping": 1, "lsid": lsid, "$db": "admin"})["ok"], 1)
        root.test.things.insert_one({})
        self.assertEqual(log_in(connection, "ann", "right")["ok"], 1)
        codes = set()
        for _ in range(100):
            lsid = {"id": bson.Binary(uuid.uuid4().bytes, 4)}
            codes.add(run(connection, {"ping": 1, "lsid": lsid, "$db": "admin"}).get("code"))
        self.assertEqual(codes, {None, 261})

    def test_time_is_short(self):
        server, root = self.start_with_users(preAuthTimeoutMillis=300)
        silent = self.connect(server)
        half = self.connect(server)
        half.sendall(message({"ping": 1, "$db": "admin"})[:-1])
        undecided = self.connect(server)
        self.assertEqual(start_login(undecided, "ann")[1]["ok"], 1)
        for connection in (silent, half, undecided):
            self.assertTrue(closed(connection))
        self.assertEqual(root.admin.command("ping")["ok"], 1)
        self.logged(server, "Ending a connection that does not get on")

    def test_the_audit_log_grows_slowly(self):
        path = os.path.join(self.folder, "audit.json")
        server = self.start(["--auth", "--auditDestination", "file", "--auditPath", path])
        connection = self.connect(server)
        find = message({"find": "c", "filter": {"a": "\x01" * 15_000}, "$db": "test"})
        begun = time.monotonic()
        for _ in range(2000):
            connection.sendall(find)
            self.assertEqual(receive(connection)["code"], UNAUTHORIZED)
        seconds = time.monotonic() - begun
        written = os.path.getsize(path)
        print(f"{written} bytes of audit log in {seconds:.1f} s", flush=True)
        self.assertLess(written, 20_000 * (seconds + 2))
        self.assertEqual(server.stop(), 0)
        events = [json.loads(line) for line in read(path).splitlines()]
        told = [event for event in events if event["atype"] == "authCheck"]
        untold = sum(event["param"]["events"] for event in events if event["atype"] == "auditLost")
        self.assertEqual(len(told) + untold, 2000)
        self.assertEqual(told[0]["param"], {"command": "find", "ns": "test.c"})

    def test_nobody_learns_who_exists(self):
        server, _ = self.start_with_users()
        connection = self.connect(server)
        replies = []
        for user in ("ann", "bob"):
            salts = {bytes(start_login(connection, user)[1]["payload"]).split(b",", 1)[1] for _ in range(3)}
            self.assertEqual(len(salts), 1)
            reply = log_in(connection, user, "wrong")
            replies.append((reply["code"], reply["errmsg"]))
        self.assertEqual(*replies)

    def test_the_stand_in_of_a_user_survives_a_restart(self):
        salts = set()
        for _ in range(2):
            server = self.start(["--auth"], self.data)
            salts.add(bytes(start_login(self.connect(server), "bob")[1]["payload"]).split(b",", 1)[1])
            self.assertEqual(self.stop(server), 0)
        self.assertEqual(len(salts), 1)


class FailedLogins(Case):
    def test_slow_down_their_address_and_nobody_else(self):
        server, root = self.start_with_users(failedLoginDelayMaxMillis=60_000)
        for _ in range(6):
            self.assertEqual(log_in(self.connect(server), "ann", "wrong")["code"], AUTHENTICATION_FAILED)
        for _ in range(20):  # each asks for a challenge and has to wait for it, longer and longer
            connection = self.connect(server)
            connection.sendall(message({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": b"n,,n=ann,r=abc",
                                        "$db": "admin"}))
        waiting = self.connect(server, timeout=2)
        with self.assertRaises(socket.timeout):
            log_in(waiting, "ann", "right")
        elsewhere = self.connect(server, source="127.0.0.2", timeout=50)
        self.assertEqual(log_in(elsewhere, "ann", "right")["ok"], 1)
        self.assertEqual(log_in(self.connect(server, timeout=50), "bob", "x")["code"], AUTHENTICATION_FAILED)
        self.assertEqual(root.admin.command("ping")["ok"], 1)
        self.assertEqual(server.output().count('Authentication failed user="admin.ann"'), 6)
        self.assertLess(server.threads(), 100)

    def test_a_right_login_gets_through(self):
        server, _ = self.start_with_users(failedLoginDelayMaxMillis=200)
        for _ in range(12):
            self.assertEqual(log_in(self.connect(server), "ann", "wrong")["code"], AUTHENTICATION_FAILED)
        client = self.client(server, username="ann", password="right")
        self.assertEqual(client.admin.command("ping")["ok"], 1)


class Connections(Case):
    def test_of_one_address(self):
        server = self.start(parameters(maxConnectionsPerAddress=10))
        connections = [self.connect(server) for _ in range(10)]
        for connection in connections:
            self.assertEqual(run(connection, {"ping": 1, "$db": "admin"})["ok"], 1)
        self.assertTrue(closed(self.connect(server)))
        other = self.connect(server, source="127.0.0.2")
        self.assertEqual(run(other, {"ping": 1, "$db": "admin"})["ok"], 1)
        self.logged(server, "too many open connections from its address")

    def test_of_one_user(self):
        server, root = self.start_with_users()
        root.admin.command("createUser", "bob", pwd="pwd", roles=[])
        root.admin.command("setParameter", 1, maxConnectionsPerUser=2)
        first, second, third = (self.connect(server) for _ in range(3))
        self.assertEqual(log_in(first, "bob", "pwd")["ok"], 1)
        self.assertEqual(log_in(second, "bob", "pwd")["ok"], 1)
        self.assertEqual(log_in(second, "bob", "pwd")["ok"], 1)  # the same connection again
        refused = log_in(third, "bob", "pwd")
        self.assertEqual((refused["code"], refused["errmsg"]),
                         (AUTHENTICATION_FAILED, "The user has too many open connections."))
        first.close()
        self.wait_for(lambda: log_in(third, "bob", "pwd")["ok"] == 1, "no place was given back")

    def test_half_messages_and_unread_replies_end(self):
        server = self.start(parameters(messageStallTimeoutMillis=300, replyStallTimeoutMillis=300))
        client = self.client(server)
        client.test.large.insert_many([{"data": os.urandom(MEGABYTE)} for _ in range(16)])
        half = self.connect(server)
        half.sendall(struct.pack("<iiii", 40 * MEGABYTE, 1, 0, 2013) + b"\0" * MEGABYTE)
        deaf = self.connect(server)
        deaf.sendall(message({"find": "large", "batchSize": 1000, "$db": "test"}))
        self.assertTrue(closed(half))
        self.wait_for(lambda: "a reply was not read in time" in server.output(), "still waits for its reader")
        self.assertEqual(client.admin.command("ping")["ok"], 1)


class Descriptors(Case):
    def limited(self, files):
        """A program that runs the server with few file descriptors."""
        path = os.path.join(self.folder, "limited")
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\nulimit -n {files}\nexec "{QUIRE}" serve "$@"\n')
        os.chmod(path, 0o700)
        return path

    def test_connections_leave_storage_its_part(self):
        server = self.start(["--cacheSizeGB", "0.05"], self.data, self.limited(128))
        things = self.client(server, maxPoolSize=1).test.things
        things.insert_one({"_id": -1})
        idle = [self.connect(server) for _ in range(300)]
        for number in range(60):  # more than the write buffers hold: new files are opened
            things.insert_one({"_id": number, "data": os.urandom(MEGABYTE)})
        self.logged(server, "Connection refused because")
        self.assertLess(server.output().count("Connection refused because"), 100)
        for connection in idle:
            connection.close()

        def answers():
            try:
                return run(self.connect(server), {"ping": 1, "$db": "admin"})["ok"] == 1
            except ConnectionError:
                return False

        self.wait_for(answers, "no connection is taken any more")
        self.assertEqual(things.count_documents({}), 61)
        self.assertEqual(self.stop(server), 0)

    def test_too_few_are_refused_at_start(self):
        done = subprocess.run([self.limited(60), "--port", "0", "--nounixsocket", "--dbpath", self.data],
                              capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("limit of open files", done.stdout + done.stderr)

    def test_storage_recovers_when_there_are_some_again(self):
        server = self.start(["--cacheSizeGB", "0.05"], self.data)
        client = self.client(server, retryWrites=False)
        things = client.test.things
        things.insert_one({"_id": -1})
        pid = server.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))  # what is open stays open
        acknowledged, error = [], None
        while error is None and len(acknowledged) < 300:
            try:
                things.insert_one({"_id": len(acknowledged), "data": os.urandom(MEGABYTE)})
                acknowledged.append(len(acknowledged))
            except PyMongoError as failed:
                error = failed
        print(f"{len(acknowledged)} writes acknowledged, then: {error}", flush=True)
        self.assertIsNotNone(error)
        probe = connect_within(client)
        self.wait_for(lambda: not probe()["isWritablePrimary"], "hello tells nothing of it")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        self.wait_for(lambda: probe()["isWritablePrimary"], "storage does not recover")

        def writes():
            try:
                things.replace_one({"_id": "again"}, {}, upsert=True)
                return True
            except PyMongoError:
                return False

        self.wait_for(writes, "no write is taken")
        self.logged(server, "Storage has recovered")
        self.stop(server, signal.SIGKILL)
        server = self.start(path=self.data)
        present = set(self.client(server).test.things.distinct("_id"))
        self.assertLessEqual(set(acknowledged) | {-1, "again"}, present)
        self.assertTrue(self.client(server).test.command("validate", "things")["valid"])


def connect_within(client):
    """Asks hello over the client's connections, whatever the server says it is."""
    secondary = client.get_database("admin", read_preference=pymongo.ReadPreference.NEAREST)
    return lambda: secondary.command("hello", read_preference=pymongo.ReadPreference.NEAREST)


class Folder(Case):
    def modes(self):
        for folder, _, files in os.walk(self.data):
            yield folder, stat.S_IMODE(os.stat(folder).st_mode)
            for name in files:
                path = os.path.join(folder, name)
                yield path, stat.S_IMODE(os.stat(path).st_mode)

    def test_is_the_owners_alone(self):
        before = os.umask(0o022)
        self.addCleanup(os.umask, before)
        server = self.start(path=self.data)
        self.client(server).test.things.insert_one({})
        self.client(server).admin.command("fsync")
        self.assertEqual(self.stop(server), 0)
        for path, mode in self.modes():
            self.assertEqual(mode, 0o700 if os.path.isdir(path) else 0o600, path)
            os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)  # as an older version left it
        self.assertEqual(self.start(path=self.data).stop(), 0)
        for path, mode in self.modes():
            self.assertEqual(mode & 0o077, 0, path)

    def test_that_lost_its_data_is_refused(self):
        server = self.start(path=self.data)
        self.assertEqual(self.stop(server), 0)
        shutil.rmtree(os.path.join(self.data, "data"))
        before = sorted(os.listdir(self.data))
        done = subprocess.run([QUIRE, "serve", "--port", "0", "--nounixsocket", "--dbpath", self.data],
                              capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the folder data is missing", done.stdout + done.stderr)
        self.assertEqual(sorted(os.listdir(self.data)), before)


class Signals(Case):
    def test_a_hangup_begins_a_new_log(self):
        log = os.path.join(self.folder, "quire.log")
        process = subprocess.Popen([QUIRE, "serve", "--ephemeral", "--port", "0", "--nounixsocket", "--logpath", log])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for(lambda: "Waiting for connections" in read(log), "no start")
        self.assertEqual(stat.S_IMODE(os.stat(log).st_mode), 0o600)
        process.send_signal(signal.SIGHUP)
        self.wait_for(lambda: sum(name.startswith("quire.log") for name in os.listdir(self.folder)) == 2, "no new log")
        process.send_signal(signal.SIGHUP)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), 0)

    def test_a_hangup_without_a_log_file_is_ignored(self):
        server = self.start()
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(self.client(server).admin.command("ping")["ok"], 1)
        self.assertEqual(self.stop(server), 0)


if __name__ == "__main__":
    counted.main()
