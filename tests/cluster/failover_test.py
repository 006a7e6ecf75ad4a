# SPDX-License-Identifier: Apache-2.0
"""A primary goes away while clients write, through two drivers: nothing is lost or doubled, and no
error is seen but one of the Node.js driver's own."""
import json
import os
import subprocess
import tempfile
import threading
import time
import unittest

import pymongo
from pymongo.write_concern import WriteConcern

import counted
from rig import Rig

RATE = 1000  # writes a second in all


class Writer:
    """Writes numbered documents, so many a second, through retryable writes."""

    def __init__(self, uri, collection, rate, threads=32):
        self.uri = uri
        self.collection = collection
        self.ended = threading.Event()
        self.acknowledged = []
        self.errors = []
        self.interval = threads / rate
        self.threads = [threading.Thread(target=self.work, args=(i, threads), daemon=True) for i in range(threads)]
        for thread in self.threads:
            thread.start()

    def work(self, first, step):
        # Without a limit a client waits for the answer of a server that hangs until it hears from it; with a short one it
        # tries the same server again.
        client = pymongo.MongoClient(self.uri, retryWrites=True, serverSelectionTimeoutMS=60000, connectTimeoutMS=2000,
                                     socketTimeoutMS=20000)
        things = client.t.get_collection(self.collection, write_concern=WriteConcern("majority"))
        number = first
        while not self.ended.is_set():
            began = time.monotonic()
            try:
                things.update_one({"_id": number}, {"$inc": {"n": 1}}, upsert=True)
                self.acknowledged.append((time.monotonic(), number))
            except pymongo.errors.PyMongoError as error:
                self.errors.append(error)
            number += step
            time.sleep(max(0, self.interval - (time.monotonic() - began)))
        client.close()

    def finish(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


class NodeWriter:
    """The same by the Node.js driver, in a process of its own."""

    def __init__(self, uri, collection, rate, clients=32):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../drivers/node/writer.mjs")
        self.process = subprocess.Popen(["node", program, uri, collection, str(rate), str(clients)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "begun\n":
            raise AssertionError("the Node.js client does not begin")
        self.offset = time.time() - time.monotonic()
        self.acknowledged = []
        self.errors = []

    def finish(self):
        if self.process.poll() is None:
            told, _ = self.process.communicate(timeout=120)
            result = json.loads(told)
            self.acknowledged = [(at / 1000 - self.offset, number) for at, number in result["acknowledged"]]
            self.errors = result["errors"]


def longest_gap(writer, after):
    times = sorted(t for t, _ in writer.acknowledged if t >= after - 1)
    return max((b - a for a, b in zip(times, times[1:])), default=0)


def writes_a_second(writer, before, seconds=2):
    return sum(before - seconds <= t < before for t, _ in writer.acknowledged) / seconds


class Failover(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="quire-failover-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.rig = Rig(cls.folder.name)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()

    def run_fault(self, fault, mend, dies=False):
        name = self.id().rsplit(".")[-1]
        self.rig.mend()
        self.rig.wait_healthy(60)
        # Half of the writes by each.
        writer, node = Writer(self.rig.uri, name, RATE / 2), NodeWriter(self.rig.uri, f"{name}_node", RATE / 2)
        self.addCleanup(writer.finish)
        self.addCleanup(node.finish)
        self.rig.wait(lambda: len(writer.acknowledged) > 2 * RATE, 60, "clients write")
        primary = self.rig.primary()
        at = time.monotonic()
        self.addCleanup(mend, primary)
        fault(primary)
        others = [member for member in self.rig.members if member is not primary]
        self.rig.wait(lambda: self.rig.primary(others), 60, "another member leads", self.rig.states)
        leads = time.monotonic()
        written = len(writer.acknowledged)
        self.rig.wait(lambda: len(writer.acknowledged) > written + 2 * RATE, 60, "clients go on")
        mend(primary)
        self.rig.wait_healthy(60)
        writer.finish()
        node.finish()
        client = pymongo.MongoClient(self.rig.uri)
        for kind, one, collection in (("pymongo", writer, name), ("Node.js", node, f"{name}_node")):
            counts = {d["_id"]: d["n"] for d in client.t[collection].find()}
            print(f"{name}: {kind}: {writes_a_second(one, at):.0f} writes a second before, {len(one.acknowledged)} in all, "
                  f"{len(one.errors)} errors, another primary after {leads - at:.2f} s, longest gap "
                  f"{longest_gap(one, at):.2f} s", flush=True)
            # The Node.js driver does not retry a write on a connection that broke behind another one's, nor when there
            # is nobody to connect to.
            passing = ("MongoNetworkError",) if dies and one is node else ()
            self.assertEqual([], [e for e in map(str, one.errors) if not e.startswith(passing)][:3])
            self.assertEqual([], [n for _, n in one.acknowledged if counts.get(n) != 1])
            self.assertEqual([], [n for n, count in counts.items() if count != 1])
        client.close()

    def test_killed(self):
        self.run_fault(lambda p: p.kill(), lambda p: p.start(), dies=True)

    def test_stepped_down(self):
        self.run_fault(lambda p: self.rig.ask(p, "replSetStepDown", 10), lambda p: None)

    def test_paused(self):
        self.run_fault(lambda p: p.pause(), lambda p: p.resume())

    def test_cut_off(self):
        self.run_fault(lambda p: p.cut_off(), lambda p: p.connect())

    def test_stopped(self):
        self.run_fault(lambda p: p.stop(), lambda p: p.start())


if __name__ == "__main__":
    counted.main()
