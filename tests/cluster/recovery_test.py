# SPDX-License-Identifier: Apache-2.0
"""An operator brings a set back that cannot help itself: most members are gone for ever, or the coordination store has
lost or forgotten the keys."""
import shutil
import tempfile
import unittest

import pymongo
from pymongo.errors import OperationFailure, PyMongoError
from pymongo.write_concern import WriteConcern

import counted
from rig import Rig

IN_PROGRESS = 109


class Recovery(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="quire-recovery-")
        self.addCleanup(folder.cleanup)
        self.rig = Rig(folder.name)
        self.addCleanup(self.rig.close)
        self.rig.up()
        client = pymongo.MongoClient(self.rig.uri)
        client.t.c.with_options(write_concern=WriteConcern(3)).insert_one({"_id": 0})
        client.close()

    def reconfigure(self, member, members):
        """With force, at this member; again while another change is under way."""
        client = self.rig.direct(member, socketTimeoutMS=60000)

        def done():
            config = client.admin.command("replSetGetConfig")["config"]
            config["members"] = [m for m in config["members"] if m["host"] in {other.host for other in members}]
            try:
                client.admin.command("replSetReconfig", config, force=True)
            except OperationFailure as error:
                if error.code != IN_PROGRESS:
                    raise
                return False
            return True

        try:
            self.rig.wait(done, 60, f"{member.name} reconfigures")
        finally:
            client.close()

    def writable(self, member):
        self.rig.wait(lambda: self.rig.primary([member]) is member, 60, f"{member.name} leads", self.rig.states)
        client = self.rig.direct(member, socketTimeoutMS=60000)
        client.t.c.with_options(write_concern=WriteConcern("majority", wtimeout=30000)).insert_one({})
        self.assertEqual(1, client.t.c.count_documents({"_id": 0}))
        client.close()

    def add(self, leader, member):
        """Back into the set, with one try again after each answer that another change is under way."""
        def added():
            client = self.rig.direct(leader, socketTimeoutMS=60000)
            try:
                config = client.admin.command("replSetGetConfig")["config"]
                number = self.rig.members.index(member)
                config["members"].append({"_id": number, "host": member.host})
                config["version"] += 1
                client.admin.command("replSetReconfig", config)
                return True
            except OperationFailure as error:
                if error.code != IN_PROGRESS:
                    raise
                return False
            finally:
                client.close()
        self.rig.wait(added, 60, f"{member.name} is a member again")

    def lose_others(self, survivor, fault):
        others = [m for m in self.rig.members if m is not survivor]
        for member in others:
            fault(member)
        return others

    def check_survivor(self, survivor, fault, before=lambda survivor: None, wiped=True):
        """The others come back with empty disks, or with those that they had."""
        others = self.lose_others(survivor, fault)
        before(survivor)
        self.reconfigure(survivor, [survivor])
        self.writable(survivor)
        for member in others:
            if wiped:
                member.wipe()
            member.connect()
            member.start()
            self.rig.wait(lambda m=member: self.rig.ask(m, "ping"), 60, f"{member.name} answers")
            self.add(survivor, member)
        self.rig.wait_healthy(120)

    def follower(self):
        primary = self.rig.primary()
        return next(m for m in self.rig.members if m is not primary)

    def test_a_secondary_survives_processes_that_end(self):
        self.check_survivor(self.follower(), lambda m: m.kill(), wiped=False)

    def test_a_secondary_survives_machines_that_vanish(self):
        self.check_survivor(self.follower(), lambda m: m.cut_off())

    def test_a_secondary_that_starts_again(self):
        def restart(survivor):
            survivor.kill()
            survivor.start()
            self.rig.wait(lambda: self.rig.ask(survivor, "ping"), 60, "the survivor answers")
        self.check_survivor(self.follower(), lambda m: m.cut_off(), restart)

    def test_the_primary_survives_processes_that_end(self):
        self.check_survivor(self.rig.primary(), lambda m: m.kill())

    def test_the_primary_survives_and_has_stepped_down(self):
        def wait(survivor):
            self.rig.wait(lambda: self.rig.primary([survivor]) is None, 60, "the survivor has stepped down")
        self.check_survivor(self.rig.primary(), lambda m: m.cut_off(), wait)

    def anyone_brings_the_keys(self):
        """At the member with the newest log; another one refuses."""
        def done():
            for member in self.rig.members:
                try:
                    self.reconfigure(member, self.rig.members)
                    return True
                except PyMongoError:
                    continue
            return False
        self.rig.wait(done, 120, "a member brings the keys", self.rig.states)
        self.rig.wait_healthy(120)
        self.writable(self.rig.primary())

    def restart_members(self):
        for member in self.rig.members:
            member.kill()
        for member in self.rig.members:
            member.start()
        for member in self.rig.members:
            self.rig.wait(lambda m=member: self.rig.ask(m, "ping"), 60, f"{member.name} answers")

    def test_the_store_is_empty(self):
        self.rig.etcd.kill()
        shutil.rmtree(f"{self.rig.folder}/etcd")
        self.rig.etcd.start()
        primary = self.rig.primary()
        self.writable(primary)  # goes on without it
        self.restart_members()
        self.anyone_brings_the_keys()

    def test_the_store_comes_from_an_old_copy(self):
        self.rig.etcd.stop()
        shutil.copytree(f"{self.rig.folder}/etcd", f"{self.rig.folder}/old")
        self.rig.etcd.start()
        for _ in range(2):
            primary = self.rig.primary()
            self.rig.wait(lambda p=primary: self.rig.ask(p, "replSetStepDown", 5), 60, "the primary steps down")
            self.rig.wait_healthy(60)
        self.writable(self.rig.primary())
        self.rig.etcd.kill()
        shutil.rmtree(f"{self.rig.folder}/etcd")
        shutil.move(f"{self.rig.folder}/old", f"{self.rig.folder}/etcd")
        self.rig.etcd.start()
        self.writable(self.rig.primary())
        self.restart_members()
        self.anyone_brings_the_keys()


if __name__ == "__main__":
    counted.main()
