# SPDX-License-Identifier: Apache-2.0
"""Everything that a server can hold is the same on every member: on those that followed, on one that stood still
meanwhile, and on one that copied it all."""
import datetime
import tempfile
import unittest

import pymongo
from bson import Code, json_util
from pymongo import ReadPreference

import counted
import workloads
from rig import Rig

MEGABYTE = 1 << 20
LARGEST = "x" * (16 * MEGABYTE - 64)  # with its _id a document of nearly 16 MB


def documents(t):
    things = t.things
    things.insert_many([{"_id": i, "n": i, "words": [f"w{i % 7}"], "at": [i % 90, i % 45]} for i in range(2000)])
    things.update_many({"n": {"$lt": 500}}, {"$inc": {"n": 1}, "$currentDate": {"d": True}, "$push": {
        "words": {"$each": ["a", "b"], "$sort": 1, "$slice": 2}}})
    things.update_many({"n": {"$gt": 1500}}, [{"$set": {"r": {"$rand": {}}, "now": "$$NOW"}}])
    things.delete_many({"n": {"$mod": [11, 3]}})
    things.find_one_and_replace({"_id": 1000}, {"replaced": True})
    things.update_one({"_id": "new"}, {"$setOnInsert": {"made": 1}}, upsert=True)
    things.aggregate([{"$match": {"n": {"$lt": 300}}}, {"$out": "copied"}])
    things.aggregate([{"$project": {"n": 1}}, {"$merge": {"into": "merged"}}])


def large(t):
    t.large.insert_one({"_id": 1, "s": LARGEST[:-1024]})
    t.large.update_one({"_id": 1}, {"$set": {"small": 1}})
    t.large.replace_one({"_id": 1}, {"s": LARGEST})
    with t.client.start_session() as session, session.start_transaction():
        for i in range(5):
            t.large.insert_one({"_id": 10 + i, "s": "y" * (13 * MEGABYTE)}, session=session)
        t.large.delete_one({"_id": 1}, session=session)
        t.things.update_one({"_id": "new"}, {"$inc": {"made": 1}}, session=session)
    t.large.update_many({}, {"$set": {"s": "short"}})


def schema(t):
    things = t.things
    things.create_index("n")
    things.create_index([("words", 1), ("n", -1)], partialFilterExpression={"n": {"$gt": 10}}, name="some")
    things.create_index([("$**", 1)], name="all", wildcardProjection={"words": 1})
    things.create_index([("at", "2d")])
    things.create_index([("words", "text")])
    things.create_index("r", sparse=True)
    t.command("collMod", "things", index={"name": "n_1", "hidden": True})
    things.drop_index("r_1")
    t.create_collection("checked", validator={"n": {"$type": "int"}}, collation={"locale": "de", "strength": 2})
    t.checked.create_index("n", unique=True)
    t.checked.insert_many([{"n": i} for i in range(10)])
    t.command("collMod", "checked", validationAction="warn", changeStreamPreAndPostImages={"enabled": True})
    t.checked.update_one({"n": 1}, {"$set": {"seen": 1}})
    t.command("create", "clustered", clusteredIndex={"key": {"_id": 1}, "unique": True, "name": "c"})
    t.clustered.insert_many([{"_id": -i} for i in range(50)])
    t.create_collection("view", viewOn="things", pipeline=[{"$match": {"n": 1}}])
    t.create_collection("view2", viewOn="view", pipeline=[])
    t.command("collMod", "view2", viewOn="things", pipeline=[{"$limit": 5}])
    t.create_collection("gone").drop()
    t.create_collection("empty")
    t.copied.rename("renamed")
    t.merged.rename("renamed2")
    t.client.admin.command("renameCollection", "t.renamed2", to="u.moved")
    t.client.v.c.insert_one({})
    t.client.drop_database("v")


def capped(t):
    t.create_collection("ring", capped=True, size=64 << 10, max=50)
    t.ring.insert_many([{"_id": i, "s": "z" * (i % 3000)} for i in range(400)])
    t.command("convertToCapped", "renamed", size=4096)


def accounts(t):
    admin = t.client.admin
    admin.command("createRole", "reader", privileges=[{"resource": {"db": "t", "collection": ""}, "actions": ["find"]}],
                  roles=[])
    t.command("createUser", "ada", pwd="secret", roles=[{"role": "reader", "db": "admin"}])
    t.command("createUser", "left", pwd="secret", roles=[])
    t.command("updateUser", "ada", customData={"n": 1})
    t.command("dropUser", "left")
    t["system.js"].insert_one({"_id": "twice", "value": Code("function(n) { return 2 * n; }")})


def expiring(t):
    t.old.create_index("d", expireAfterSeconds=1)
    t.old.insert_many([{"_id": i, "d": datetime.datetime(2020, 1, 1)} for i in range(50)] + [{"_id": "stays"}])
    Rig.wait(lambda: t.old.count_documents({}) == 1, 60, "what expired is gone")


class Content(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="quire-content-")
        cls.addClassCleanup(folder.cleanup)
        cls.rig = Rig(folder.name, options=["--setParameter", "ttlMonitorSleepSecs=1"])
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()

    def client(self, **options):
        client = pymongo.MongoClient(self.rig.uri, w="majority", **options)
        self.addCleanup(client.close)
        return client

    def followers(self):
        primary = self.rig.primary()
        return [m for m in self.rig.members if m is not primary]

    def content(self, member):
        """All that the member shows, of every database."""
        client = self.rig.direct(member, socketTimeoutMS=60000)
        shown = {}
        for name in sorted(set(client.list_database_names()) - {"local", "config"}):
            database = client[name]
            collections = sorted(database.list_collections(), key=lambda c: c["name"])
            stored = [c["name"] for c in collections if c["type"] == "collection" and c["name"] != "system.views"]
            shown[name] = json_util.dumps({
                "collections": collections, "hashes": database.command("dbHash")["collections"],
                "counts": {c: database[c].estimated_document_count() for c in stored},
                "indexes": {c: list(database[c].list_indexes()) for c in stored}}, sort_keys=True)
            for collection in stored:
                self.assertTrue(database.command("validate", collection, full=True)["valid"], f"{member.name} {collection}")
        accounts_of = client.t.command("usersInfo", {"forAllDBs": True}, showCredentials=True, showCustomData=True)["users"]
        roles = client.admin.command("rolesInfo", 1, showPrivileges=True)["roles"]
        shown["config"] = json_util.dumps(list(client["local"]["system.replset"].find()))
        shown["accounts"] = json_util.dumps([accounts_of, roles], sort_keys=True)
        shown["view"] = list(client.t.get_collection("view2", read_preference=ReadPreference.SECONDARY_PREFERRED).find(
            {}, {"_id": 1}))
        client.close()
        return shown

    def check_same(self):
        self.rig.wait_healthy(120)
        members = {m.name: self.content(m) for m in self.rig.members}
        first = members[self.rig.primary().name]
        for name, shown in members.items():
            for database in sorted(set(first) | set(shown)):
                self.assertEqual(first.get(database), shown.get(database), f"{name}: {database}")

    def test_everything_arrives(self):
        away = self.followers()[0]
        t = self.client().t
        documents(t)
        large(t)
        away.stop()
        for step in (schema, capped, accounts, expiring):
            step(t)
        away.start()
        self.check_same()
        self.rig.lead(away)
        self.client().t.things.insert_one({"_id": "after"})
        self.check_same()

    def test_a_stream_stands_at_its_last_event(self):
        c = self.client().stream.c
        c.insert_one({})

        def stands():
            with c.watch(max_await_time_ms=1000) as stream:
                c.insert_one({})
                return next(stream)["_id"] == stream.resume_token  # unless something else was logged meanwhile
        self.rig.wait(stands, 20, "a stream's token is its event's")

    def test_under_load(self):
        """A member copies everything, another is built from it, while clients write and indexes are made."""
        client = self.client()
        c = client.load.c
        c.insert_many([{"_id": f"seed{i}", "n": i, "s": "s" * 500} for i in range(20000)])
        running = [kind(self.rig.uri, 1) for kind in (workloads.Inserts, workloads.Bank)]
        for workload in running:
            workload.start()
        for number, follower in enumerate(self.followers()):
            follower.wipe()
            follower.start()
            c.create_index([("n", 1), (f"s{number}", 1)])
            c.update_many({"n": {"$lt": 1000}}, {"$inc": {"n": 100000}})
            self.rig.wait_healthy(120)
        for workload in running:
            workload.finish()
        for workload in running:
            self.assertEqual([], list(workload.check(client, self.rig)))
            self.assertGreater(workload.done, 0)
        self.check_same()


if __name__ == "__main__":
    counted.main()
