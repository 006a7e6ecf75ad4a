# SPDX-License-Identifier: Apache-2.0
"""A primary goes away while clients write: nobody sees an error, nothing is lost or doubled."""
import tempfile
import threading
import time
import unittest

import pymongo
from pymongo.write_concern import WriteConcern

import counted
from rig import Rig


class Writer:
    """Writes numbered documents, so many a second, through retryable writes."""

    def __init__(self, uri, collection, rate=1000, threads=4):
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

    def longest_gap(self, after):
        times = sorted(t for t, _ in self.acknowledged if t >= after - 1)
        return max((b - a for a, b in zip(times, times[1:])), default=0)


class Failover(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="quire-failover-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.rig = Rig(cls.folder.name)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()

    def run_fault(self, fault, mend):
        name = self.id().rsplit(".")[-1]
        self.rig.mend()
        self.rig.wait_healthy(60)
        writer = Writer(self.rig.uri, name)
        self.addCleanup(writer.finish)
        self.rig.wait(lambda: len(writer.acknowledged) > 200, 60, "clients write")
        primary = self.rig.primary()
        at = time.monotonic()
        self.addCleanup(mend, primary)
        fault(primary)
        others = [member for member in self.rig.members if member is not primary]
        self.rig.wait(lambda: self.rig.primary(others), 60, "another member leads", self.rig.states)
        leads = time.monotonic()
        written = len(writer.acknowledged)
        self.rig.wait(lambda: len(writer.acknowledged) > written + 500, 60, "clients go on")
        mend(primary)
        self.rig.wait_healthy(60)
        writer.finish()
        client = pymongo.MongoClient(self.rig.uri)
        counts = {d["_id"]: d["n"] for d in client.t[name].find()}
        client.close()
        self.assertEqual([], writer.errors[:3])
        self.assertEqual([], [n for _, n in writer.acknowledged if counts.get(n) != 1])
        self.assertEqual([], [n for n, count in counts.items() if count != 1])
        took = writer.acknowledged[-1][0] - writer.acknowledged[0][0]
        print(f"{name}: {len(writer.acknowledged)} writes in {took:.1f} s, another primary after {leads - at:.2f} s, longest "
              f"gap of these clients {writer.longest_gap(at):.2f} s", flush=True)

    def test_killed(self):
        self.run_fault(lambda p: p.kill(), lambda p: p.start())

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
