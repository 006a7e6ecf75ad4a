# SPDX-License-Identifier: Apache-2.0
"""The server as a process: start, memory, signals, restart, many connections."""
import os
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import bson
import pymongo

import counted
from server import QUIRE, Server

IDLE_CONNECTIONS = 10_000
IDLE_KB_LIMIT = 100_000


def client(server, **options):
    return pymongo.MongoClient(server.uri, serverSelectionTimeoutMS=5000, **options)


def ping_message(number):
    body = b"\0\0\0\0\0" + bson.BSON.encode({"ping": 1, "$db": "admin"})
    return struct.pack("<iiii", 16 + len(body), number, 0, 2013) + body


class Process(unittest.TestCase):
    def test_starts_quickly_and_small(self):
        with tempfile.TemporaryDirectory() as path, Server(path) as server:
            print(f"ready in {server.start_seconds * 1000:.0f} ms, "
                  f"idle at {server.memory_kb() / 1024:.1f} MB", flush=True)
            self.assertLess(server.memory_kb(), 48_000)

    def test_sigterm_and_sigint_exit_with_0_and_keep_data(self):
        with tempfile.TemporaryDirectory() as path:
            for number in (signal.SIGTERM, signal.SIGINT):
                with Server(path) as server:
                    client(server).test.kept.insert_one({"signal": int(number)})
                    self.assertEqual(server.stop(number), 0, server.output())
            with Server(path) as server:
                self.assertEqual(client(server).test.kept.count_documents({}), 2)

    def test_sigkill_keeps_acknowledged_writes(self):
        with tempfile.TemporaryDirectory() as path:
            with Server(path) as server:
                things = client(server).test.things
                things.create_index("n", unique=True)
                for i in range(200):
                    things.insert_one({"n": i})
                server.stop(signal.SIGKILL)
            with Server(path) as server:
                things = client(server).test.things
                self.assertEqual([d["n"] for d in things.find().sort("n")], list(range(200)))
                self.assertTrue(things.index_information()["n_1"]["unique"])

    def test_sigterm_lets_running_requests_finish(self):
        with Server() as server:
            database = client(server).test
            database.numbers.insert_many([{"_id": i} for i in range(20_000)])
            results = []

            def read():
                try:
                    results.append(len(list(database.numbers.find(batch_size=20_000))))
                except pymongo.errors.PyMongoError:  # it came too late
                    pass

            reader = threading.Thread(target=read)
            reader.start()
            time.sleep(0.02)
            self.assertEqual(server.stop(), 0)
            reader.join()
            self.assertIn(results, ([20_000], []))

    def test_shutdown_command(self):
        with Server() as server:
            with self.assertRaises(pymongo.errors.AutoReconnect):
                client(server).admin.command("shutdown")
                client(server).admin.command("ping")
            self.assertEqual(server.process.wait(timeout=10), 0)

    def test_folder_in_use_is_refused(self):
        with tempfile.TemporaryDirectory() as path, Server(path):
            second = subprocess.run([QUIRE, "serve", "--port", "0", "--nounixsocket", "--dbpath", path],
                                    capture_output=True, text=True, timeout=20)
            self.assertEqual(second.returncode, 100, second.stdout)

    def test_port_in_use_is_refused(self):
        with Server() as server:
            second = subprocess.run([QUIRE, "serve", "--ephemeral", "--nounixsocket",
                                     "--port", str(server.port)],
                                    capture_output=True, text=True, timeout=20)
            self.assertEqual(second.returncode, 48)
            self.assertIn("Address already in use", second.stdout)

    def test_a_quiet_server_tells_that_it_is_ready(self):
        with Server(extra=["--quiet"]) as server:
            self.assertIn("transition to primary complete", server.output())
            self.assertEqual(server.stop(), 0)
            self.assertNotIn("Shutting down", server.output())

    def test_fork_pid_file_and_log_file(self):
        with tempfile.TemporaryDirectory() as path:
            port = free_port()
            started = subprocess.run(
                [QUIRE, "serve", "--fork", "--port", str(port), "--dbpath", path + "/data",
                 "--logpath", path + "/log", "--pidfilepath", path + "/pid", "--nounixsocket"],
                capture_output=True, text=True, timeout=20)
            self.assertEqual(started.returncode, 0, started.stderr)
            with open(path + "/pid") as file:
                pid = int(file.read())
            pymongo.MongoClient("127.0.0.1", port).admin.command("ping")
            os.kill(pid, signal.SIGTERM)
            for _ in range(200):
                if not os.path.exists(path + "/pid"):
                    break
                time.sleep(0.05)
            self.assertFalse(os.path.exists(path + "/pid"))
            with open(path + "/log") as file:
                self.assertIn("exitCode=0", file.read())

    def test_a_child_that_fails_says_why(self):
        with tempfile.TemporaryDirectory() as path:
            with open(path + "/file", "w"):
                pass
            for log, data, text in ((path + "/file/log", path + "/data", "Failed to open log file"),
                                    (path + "/log", path + "/file", f"see {path}/log")):
                run = subprocess.run([QUIRE, "serve", "--fork", "--port", "0", "--nounixsocket",
                                      "--logpath", log, "--dbpath", data],
                                     capture_output=True, text=True, timeout=20)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(text, run.stderr)
            with open(path + "/log") as file:
                self.assertIn("Not a directory", file.read())

    def test_called_mongod_it_takes_mongods_command_line(self):
        with tempfile.TemporaryDirectory() as path:
            os.symlink(QUIRE, path + "/mongod")
            version = subprocess.run([path + "/mongod", "--version"], capture_output=True, text=True)
            self.assertRegex(version.stdout, r"^db version v8\.0\.\d+\n")
            with Server(path + "/data", program=path + "/mongod",
                        extra=["--storageEngine", "wiredTiger", "--noauth", "--bind_ip", "127.0.0.1",
                               "--replSet", "rs9"]) as server:
                self.assertEqual(client(server).admin.command("hello")["setName"], "rs9")
            refused = subprocess.run([path + "/mongod", "--sslMode", "requireSSL"], capture_output=True, text=True)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("--sslMode is not supported: use --tlsMode", refused.stderr)

    def test_help_by_either_name(self):
        def said(*arguments):
            run = subprocess.run([QUIRE, *arguments], capture_output=True, text=True)
            return run.returncode, run.stdout
        for command in ("serve", "route", "cluster", "import", "export", "demo", "bench"):
            self.assertEqual(said("help", command), said(command, "--help"))
            self.assertIn(command, said("help")[1])
        self.assertEqual(said("help", "nosuch"), (2, ""))

    def test_a_benchmark_of_no_address_is_wrong_usage(self):
        run = subprocess.run([QUIRE, "bench", "--target", "a=b"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("no mongodb:// address", run.stderr)

    def test_unknown_option_gets_a_suggestion(self):
        run = subprocess.run([QUIRE, "serve", "--dbpth", "/x"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("did you mean '--dbpath'?", run.stderr)


class Connections(unittest.TestCase):
    def test_ten_thousand_idle_connections(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        count = min(IDLE_CONNECTIONS, hard - 200)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 200), hard))
        with Server() as server:
            before = server.memory_kb()
            sockets = []
            try:
                for i in range(count):
                    sockets.append(socket.create_connection(("127.0.0.1", server.port)))
                    sockets[-1].sendall(ping_message(i))
                    self.assertGreater(len(sockets[-1].recv(4096)), 16)
                after = server.memory_kb()
                threads = server.threads()
                print(f"{count} idle connections: {(after - before) / 1024:.1f} MB more, "
                      f"{threads} threads", flush=True)
                self.assertLess(after, IDLE_KB_LIMIT)
                self.assertLess(threads, 100)
                self.assertEqual(client(server).admin.command("ping")["ok"], 1.0)
            finally:
                for one in sockets:
                    one.close()
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_connection_storm(self):
        with Server() as server:
            errors = []

            def storm():
                try:
                    for i in range(100):
                        with socket.create_connection(("127.0.0.1", server.port)) as one:
                            one.sendall(ping_message(i))
                            if len(one.recv(4096)) < 17:
                                errors.append("short reply")
                except OSError as error:
                    errors.append(repr(error))

            threads = [threading.Thread(target=storm) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(errors, [])

    def test_garbage_harms_nobody(self):
        with Server() as server:
            for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0" * 64, os.urandom(4096),
                            struct.pack("<iiii", 48_000_000, 1, 0, 2013) + b"x" * 100):
                with socket.create_connection(("127.0.0.1", server.port)) as one:
                    one.sendall(garbage)
            self.assertEqual(client(server).admin.command("ping")["ok"], 1.0)
            self.assertLess(server.memory_kb(), 60_000)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class FailPoints(unittest.TestCase):
    """Commands that fail on request."""

    def setUp(self):
        self.server = Server(extra=["--setParameter", "enableTestCommands=1"])
        self.addCleanup(self.server.stop)

    def client(self, **options):
        client = pymongo.MongoClient(self.server.uri, **options)
        self.addCleanup(client.close)
        return client

    def fail(self, client, name="failCommand", **data):
        client.admin.command("configureFailPoint", name, mode={"times": 1}, data=data)

    def test_a_lost_connection(self):
        retrying, plain = self.client(), self.client(retryWrites=False)
        for name, data in (("failCommand", {"failCommands": ["insert"], "closeConnection": True}),
                           ("onPrimaryTransactionalWrite", {})):
            retrying.t.c.drop()
            self.fail(retrying, name, **data)
            retrying.t.c.insert_one({})
            self.assertEqual(retrying.t.c.count_documents({}), 1)
        self.fail(plain, failCommands=["insert"], closeConnection=True)
        with self.assertRaises(pymongo.errors.AutoReconnect):
            plain.t.c.insert_one({})
        self.assertEqual(plain.t.c.count_documents({}), 1)

    def test_one_application(self):
        mine, other = self.client(appname="mine"), self.client(appname="other")
        self.fail(mine, failCommands=["ping"], errorCode=50, appName="mine")
        other.admin.command("ping")
        with self.assertRaises(pymongo.errors.ExecutionTimeout):
            mine.admin.command("ping")


if __name__ == "__main__":
    counted.main()
