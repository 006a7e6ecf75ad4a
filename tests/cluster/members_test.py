# SPDX-License-Identifier: Apache-2.0
"""Members come, go and return while clients write."""
import shutil
import tempfile
import unittest

import pymongo
from pymongo.errors import OperationFailure, PyMongoError

import counted
import workloads
from rig import Rig

PASSING = (109, 308)  # another change is under way, or the last one is not committed yet


class Members(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="quire-members-")
        self.addCleanup(folder.cleanup)
        self.rig = Rig(folder.name)
        self.addCleanup(self.rig.close)
        self.rig.up()

    def reconfigure(self, change):
        """What rs.add and rs.remove do; again while another change is under way."""
        def done():
            client = pymongo.MongoClient(self.rig.uri)
            try:
                config = client.admin.command("replSetGetConfig")["config"]
                change(config)
                config["version"] += 1
                client.admin.command("replSetReconfig", config)
                return True
            except OperationFailure as error:
                if error.code not in PASSING:
                    raise
                return False
            finally:
                client.close()
        self.rig.wait(done, 60, "the set is changed")

    def remove(self, member):
        self.reconfigure(lambda c: c.update(members=[m for m in c["members"] if m["host"] != member.host]))

    def add(self, member):
        """Under a new number, as a newcomer."""
        self.reconfigure(lambda c: c["members"].append({"_id": max(m["_id"] for m in c["members"]) + 1, "host": member.host}))

    def state(self, member):
        status = self.rig.ask(member, "replSetGetStatus")
        return status and status["myState"]

    def follower(self):
        primary = self.rig.primary()
        return next(m for m in self.rig.members if m is not primary)

    def test_added_and_removed_under_load(self):
        running = [kind(self.rig.uri, 7) for kind in (workloads.Inserts, workloads.Bank, workloads.Stream)]
        for workload in running:
            workload.start()
        for wiped in (False, True):
            member = self.follower()
            self.remove(member)
            self.rig.wait(lambda m=member: not (self.rig.ask(m, "hello") or {"secondary": True}).get("secondary"), 60,
                          "the removed member is none")
            if wiped:
                member.wipe()
                member.start()
                self.rig.wait(lambda m=member: self.rig.ask(m, "ping"), 60, "the member answers")
            self.add(member)
            self.rig.wait_healthy(120)
        for workload in running:
            workload.finish()
        client = pymongo.MongoClient(self.rig.uri)
        self.addCleanup(client.close)
        for workload in running:
            self.assertEqual([], list(workload.check(client, self.rig)))
            self.assertGreater(workload.done, 0)

    def test_all_start_again_at_once(self):
        client = pymongo.MongoClient(self.rig.uri, w="majority")
        self.addCleanup(client.close)
        client.t.c.insert_many([{"_id": i} for i in range(1000)])
        for end in ("kill", "stop"):
            for node in [*self.rig.members, self.rig.etcd]:
                getattr(node, end)()
            for node in self.rig.nodes:
                node.start()
            self.rig.wait_healthy(120)
            self.assertEqual(1000, client.t.c.count_documents({}))
            client.t.c.update_one({"_id": 1}, {"$inc": {end: 1}})


if __name__ == "__main__":
    counted.main()
