# SPDX-License-Identifier: Apache-2.0
"""pymongo reads what the application systems write, and GridFS both ways."""
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
        self.client.drop_database("patterns")
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


if __name__ == "__main__":
    counted.main()
