# SPDX-License-Identifier: Apache-2.0
"""A router that dies within a large $out leaves the target as it was, and nothing else for long."""
import os
import signal
import threading
import time
import unittest

from pymongo.errors import PyMongoError

import counted
import rig

DOCUMENTS = 500_000


class Out(unittest.TestCase):
    def setUp(self):
        self.cluster = rig.Cluster()
        self.addCleanup(self.cluster.close)
        self.shard = self.cluster.direct("s0/0")
        self.addCleanup(self.shard.close)

    def temporary(self):
        return [name for name in self.shard.out.list_collection_names() if name.startswith("tmp.")]

    def test_a_router_that_dies(self):
        client = self.cluster.client
        client.admin.command("enableSharding", "out", primaryShard="s0")
        client.out.target.insert_one({"_id": "old"})
        router = self.cluster.processes()["r0"]["pid"]
        ended = []

        def fill():
            try:
                client.get_database("out").aggregate([
                    {"$documents": {"$map": {"input": {"$range": [0, DOCUMENTS]}, "in": {"_id": "$$this"}}}},
                    {"$out": "target"}], comment="large")
                ended.append("done")
            except PyMongoError:
                ended.append("failed")

        filling = threading.Thread(target=fill)
        filling.start()
        while not self.temporary() and not ended:
            time.sleep(0.005)
        os.kill(router, signal.SIGKILL)
        filling.join()
        self.assertEqual(["failed"], ended)
        self.assertEqual([{"_id": "old"}], list(self.shard.out.target.find()))
        self.assertEqual(1, len(self.temporary()))
        self.cluster.tool("start", "r0")
        for _ in range(600):
            if not self.temporary():
                break
            time.sleep(0.1)
        self.assertEqual([], self.temporary())
        self.assertEqual([{"_id": "old"}], list(client.out.target.find()))
        client.get_database("out").aggregate([
            {"$documents": {"$map": {"input": {"$range": [0, 30_000]}, "in": {"_id": "$$this"}}}}, {"$out": "target"}])
        self.assertEqual(30_000, client.out.target.count_documents({}))


if __name__ == "__main__":
    counted.main()
