# SPDX-License-Identifier: Apache-2.0
"""A full disk: acknowledged writes are kept, others are refused, and space brings writes back."""
import os
import signal
import subprocess
import tempfile
import time
import unittest

import pymongo
from pymongo.errors import PyMongoError

import counted
from server import Server

MEGABYTE = 1 << 20
DISK = 160 * MEGABYTE
FILLER = 80 * MEGABYTE
OUT_OF_DISK_SPACE = 14031
PAYLOAD = 256 * 1024


def write_until_refused(things, start):
    """Writes documents that do not compress; the ids acknowledged, and the error that ended it."""
    acknowledged = []
    while True:
        number = start + len(acknowledged)
        try:
            things.insert_one({"_id": number, "data": os.urandom(PAYLOAD)})
        except PyMongoError as error:
            return acknowledged, error
        acknowledged.append(number)
        if len(acknowledged) * PAYLOAD > DISK:
            raise AssertionError("the disk does not fill up")


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", self.folder], check=True)
        self.filler = os.path.join(self.folder, "filler")
        with open(self.filler, "wb") as file:
            file.write(b"\1" * FILLER)
        self.data = os.path.join(self.folder, "data")

    def tearDown(self):
        subprocess.run(["umount", "-l", self.folder], check=True)
        os.rmdir(self.folder)

    def collection(self, server):
        client = pymongo.MongoClient(server.uri, serverSelectionTimeoutMS=5000, retryWrites=False)
        return client.test.things

    def check_kept(self, things, acknowledged):
        """Every acknowledged document is there; at most the refused one may be there as well."""
        present = {d["_id"] for d in things.find({}, {"_id": 1})}
        self.assertLessEqual(set(acknowledged), present)
        self.assertLessEqual(len(present) - len(set(acknowledged)), 1)

    def write_again(self, things, number):
        """Once there is space a write succeeds, perhaps after the store has noticed."""
        deadline = time.monotonic() + 60
        while True:
            try:
                things.replace_one({"_id": number}, {"_id": number, "data": b"again"}, upsert=True)
                return
            except PyMongoError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def test_fills_up_and_recovers(self):
        with Server(self.data, ["--cacheSizeGB", "0.05"]) as server:
            things = self.collection(server)
            acknowledged, error = write_until_refused(things, 0)
            print(f"{len(acknowledged)} writes acknowledged, then: {error}", flush=True)
            self.assertGreater(len(acknowledged), 20)
            self.assertEqual(getattr(error, "code", None), OUT_OF_DISK_SPACE, error)
            self.assertEqual(things.database.client.admin.command("ping")["ok"], 1.0)
            self.check_kept(things, acknowledged)
            os.remove(self.filler)
            number = len(acknowledged)
            self.write_again(things, number)
            acknowledged.append(number)
            self.check_kept(things, acknowledged)
            server.stop(signal.SIGKILL)
        with Server(self.data) as server:
            things = self.collection(server)
            self.check_kept(things, acknowledged)
            self.assertTrue(things.database.command("validate", "things")["valid"])
            self.assertEqual(server.stop(), 0)

    def fill_the_rest(self):
        """Somebody else takes every byte there is."""
        with open(self.filler + "2", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\1" * 65536)
            except OSError:
                return

    def test_somebody_else_fills_it(self):
        with Server(self.data, ["--cacheSizeGB", "0.05"]) as server:
            things = self.collection(server)
            acknowledged = []
            for _ in range(3):
                for _ in range(8):
                    self.write_again(things, len(acknowledged))
                    acknowledged.append(len(acknowledged))
                self.fill_the_rest()
                more, error = write_until_refused(things, len(acknowledged))
                acknowledged += more
                self.assertEqual(getattr(error, "code", None), OUT_OF_DISK_SPACE, error)
                self.check_kept(things, acknowledged)
                os.remove(self.filler + "2")
            self.write_again(things, len(acknowledged))
            acknowledged.append(len(acknowledged))
            server.stop(signal.SIGKILL)
        with Server(self.data) as server:
            self.check_kept(self.collection(server), acknowledged)
            self.assertEqual(server.stop(), 0)

    def test_what_was_written_can_be_dropped(self):
        with Server(self.data, ["--cacheSizeGB", "0.05"]) as server:
            things = self.collection(server)
            acknowledged, _ = write_until_refused(things, 0)
            self.assertEqual(things.delete_one({"_id": 0}).deleted_count, 1)
            things.drop()
            self.assertNotIn("things", things.database.list_collection_names())
            self.assertEqual(server.stop(), 0)

    def test_starts_again_on_a_full_disk_given_space(self):
        with Server(self.data, ["--cacheSizeGB", "0.05"]) as server:
            things = self.collection(server)
            acknowledged, _ = write_until_refused(things, 0)
            server.stop(signal.SIGKILL)
        os.remove(self.filler)
        with Server(self.data) as server:
            things = self.collection(server)
            self.check_kept(things, acknowledged)
            self.write_again(things, len(acknowledged))
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    counted.main()
