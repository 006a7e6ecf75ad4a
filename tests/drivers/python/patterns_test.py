# SPDX-License-Identifier: Apache-2.0
"""pymongo reads what the application systems write, and GridFS both ways."""
import datetime
import os
import subprocess
import unittest

import gridfs
import pymongo

import counted

URI = os.environ["QUIRE_URI"]
TOOL = os.environ["QUIRE_PATTERNS"]
CHUNK = 255 * 1024


def run(*arguments, data=b""):
    done = subprocess.run([TOOL, URI, *arguments], input=data, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return done.stdout


class Patterns(unittest.TestCase):
    def setUp(self):
        self.client = pymongo.MongoClient(URI)
        for name in self.client.list_database_names():
            if name.startswith("patterns"):
                self.client.drop_database(name)
        self.database = self.client.patterns

    def test_gridfs_reads_ours(self):
        bucket = gridfs.GridFSBucket(self.database)
        for size in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 77):
            data = os.urandom(size)
            run("put", "patterns", "ours", data=data)
            with bucket.open_download_stream_by_name("ours") as stream:
                self.assertEqual(stream.length, size)
                self.assertEqual(stream.chunk_size, CHUNK)
                self.assertEqual(stream.read(), data)
        self.assertEqual(len(list(bucket.find({"filename": "ours"}))), 6)
        with bucket.open_download_stream_by_name("ours", revision=0) as stream:
            self.assertEqual(stream.read(), b"")
        newest = bucket.find({"filename": "ours"}).sort("uploadDate", -1)[0]
        bucket.delete(newest._id)
        self.assertIsNone(self.database.fs.chunks.find_one({"files_id": newest._id}))
        indexes = self.database.fs.chunks.index_information()
        self.assertTrue(indexes["files_id_1_n_1"]["unique"])

    def test_we_read_gridfs(self):
        bucket = gridfs.GridFSBucket(self.database)
        for size in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 77):
            data = os.urandom(size)
            bucket.upload_from_stream("theirs", data, metadata={"a": 1})
            self.assertEqual(run("get", "patterns", "theirs"), data)
            for start, end in ((0, 10), (CHUNK - 5, CHUNK + 5), (size - 3, size + 9)):
                start = max(start, 0)
                self.assertEqual(run("range", "patterns", "theirs", str(start), str(end)),
                                 data[start:end])
        small = gridfs.GridFSBucket(self.database, chunk_size_bytes=7)
        small.upload_from_stream("small", b"0123456789" * 5)
        self.assertEqual(run("get", "patterns", "small"), b"0123456789" * 5)

    def test_documents_of_the_systems(self):
        run("fill", "patterns")
        product = self.database.products.find_one({"sku": "s1"})
        self.assertEqual(product["pricing"],
                         {"list": 1200, "retail": 1100, "savings": 100, "pct_savings": 8})
        self.assertEqual(product["details"]["genre"], ["Jazz"])
        bop = self.database.categories.find_one({"slug": "bop"})
        self.assertEqual([a["name"] for a in bop["ancestors"]], ["Ragtime"])
        self.assertEqual(bop["parent"], bop["ancestors"][0]["_id"])
        stock = self.database.product.find_one({"_id": "s1"})
        self.assertEqual((stock["qty"], stock["carted"], stock["sold"]), (7, [], 3))
        cart = self.database.cart.find_one()
        self.assertEqual((cart["status"], cart["settled"]), ("complete", True))
        node = self.database["cms.nodes"].find_one({"metadata.slug": "start"})
        self.assertEqual(node["metadata"]["detail"], {"text": "hello"})
        page = self.database.comment_pages.find_one({"discussion_id": "d"})
        self.assertEqual((page["page"], page["count"]), (1, 1))
        self.assertEqual(page["comments"][0]["text"], "First!")

    def test_documents_of_the_toolkit(self):
        run("fill", "patterns")
        contacts = self.database.contacts
        self.assertEqual(contacts.find_one({"numbers": "867-5309"}),
                         {"_id": "3", "name": "Jenny", "zip_code": "01209",
                          "numbers": ["867-5309", "555-1212"]})
        self.assertEqual(contacts.find_one("4"), {"_id": "4", "name": "Jenny", "zip_code": "01209"})
        self.assertEqual({n["number"] for n in self.database.numbers.find({"contact_id": "4"})},
                         {"867-5309", "555-1212"})
        node = self.database.nodes.find_one({"url": "/a"})
        self.assertEqual((node["type"], node["schema_version"], node["short"]), ("page", 1, "none"))
        migration = self.database.migrations.find_one("short")
        self.assertEqual((migration["state"], migration["done"], migration["last_id"]),
                         ("complete", 1, node["_id"]))
        products = self.client.patterns_attributes.products
        self.assertEqual([p["properties"] for p in products.find().sort("_id")],
                         [{"Seek Time": "5ms"}, [["Seek Time", "5ms"]],
                          [{"k": "Seek Time", "v": "5ms"}]])
        self.assertEqual(products.find_one({"properties": ["Seek Time", "5ms"]})["_id"], "disk1")

    def test_documents_of_transfers_and_orders(self):
        run("fill", "patterns")
        accounts = {a["_id"]: a for a in self.database.accounts.find()}
        self.assertEqual([(accounts[a]["balance"], accounts[a]["txns"]) for a in "ab"],
                         [(40, []), (60, [])])
        self.assertEqual(accounts["a"]["voided"], ["too much"])
        done = self.database.transactions.find_one("invoice")
        self.assertEqual((done["state"], done["amt"], done["src"], done["dst"]),
                         ("done", 60, "a", "b"))
        self.assertIsInstance(done["ended"], datetime.datetime)
        refused = self.database.transactions.find_one("too much")
        self.assertEqual((refused["state"], refused["error"]), ("rolled_back", "InsufficientFunds"))
        order = self.database.orders.find_one("o")
        self.assertEqual((order["total"], order["items"]),
                         (33066, [{"sku": "x", "qty": 3, "price": 11022}]))

    def test_documents_of_the_event_log(self):
        run("fill", "patterns")
        event = self.database.events_20001010.find_one()
        self.assertEqual(len(event.pop("_id")), 16)
        self.assertIsInstance(event.pop("ssk"), int)
        self.assertEqual(event, {
            "host": "127.0.0.1", "logname": None, "user": "frank",
            "time": datetime.datetime(2000, 10, 10, 20, 55, 36),
            "request": "GET /apache_pb.gif HTTP/1.0", "method": "GET", "path": "/apache_pb.gif",
            "protocol": "HTTP/1.0", "status": 200, "response_size": 2326,
            "referrer": "http://www.example.com/start.html",
            "user_agent": "Mozilla/4.08 [en] (Win98; I ;Nav)"})
        self.assertIn("path_1_time_1__id_1", self.database.events_20001010.index_information())

    def test_documents_of_reports_and_roll_ups(self):
        run("fill", "patterns")
        daily = self.database["stats.daily"].find_one("20001010/site-1/apache_pb.gif")
        self.assertEqual(daily["metadata"], {"site": "site-1", "page": "/apache_pb.gif",
                                             "date": datetime.datetime(2000, 10, 10)})
        self.assertEqual((daily["hourly"], daily["minute"]), ({"23": 1}, {"23": {"59": 1}}))
        monthly = self.database["stats.monthly"].find_one("200010/site-1/apache_pb.gif")
        self.assertEqual(monthly["daily"], {"10": 1})
        rollups = self.client.patterns_rollups
        for level, start in (("hourly", datetime.datetime(2000, 10, 10, 23)),
                             ("daily", datetime.datetime(2000, 10, 10)),
                             ("weekly", datetime.datetime(2000, 10, 8)),
                             ("monthly", datetime.datetime(2000, 10, 1)),
                             ("yearly", datetime.datetime(2000, 1, 1))):
            one = rollups["stats." + level].find_one({"_id.u": "rick", "_id.d": start})
            value = {name: one["value"][name] for name in ("total", "count", "mean", "min", "max")}
            self.assertEqual(value, {"total": 95, "count": 1, "mean": 95, "min": 95, "max": 95})
        self.assertEqual(rollups.my_sequence.find_one("s")["inc"], 50)
        self.assertEqual(rollups.jobs.find_one("rollups")["owner"], "")


if __name__ == "__main__":
    counted.main()
