# SPDX-License-Identifier: Apache-2.0
"""A server's data moved to another: by mongodump and mongorestore where the folder $MONGO_TOOLS has them, and
always by the commands mongorestore sends."""
import os
import subprocess
import tempfile
import threading
import unittest
import uuid

import bson
import pymongo

import counted
from server import Server

TOOLS = os.environ.get("MONGO_TOOLS")


def client(server, user=None):
    """Logged in as `user`, whose password is its name, where there is one."""
    login = {"username": user, "password": user} if user else {}
    return pymongo.MongoClient(server.uri, serverSelectionTimeoutMS=10_000, uuidRepresentation="standard", **login)


def guarded(path, role):
    """A server with access control, with root and a user who may what `role` allows. Only one server has a user of
    that name: a restored one of the same name ends the login of the one who restores."""
    server = Server(path, ["--auth"])
    client(server).admin.command("createUser", "root", pwd="root", roles=["root"])
    client(server, "root").admin.command("createUser", role, pwd=role, roles=[role])
    return server


def binary(value):
    """A UUID as `command` sends it right."""
    return bson.Binary(value.bytes, 4)


def fill(node):
    """Collections of several kinds, a view, indexes, users and a role."""
    shop = node.shop
    shop.orders.insert_many([{"_id": i, "total": i * 1.5, "tags": [str(i), None]} for i in range(500)])
    shop.orders.create_index([("total", -1)], name="by total")
    shop.orders.create_index("tags", sparse=True)
    shop.create_collection("events", capped=True, size=100_000, max=50)
    shop.events.insert_many([{"n": i} for i in range(80)])
    shop.create_collection("big", viewOn="orders", pipeline=[{"$match": {"total": {"$gt": 700}}}])
    shop.create_collection("checked", validator={"a": {"$type": "int"}}, collation={"locale": "fr"})
    shop.command("createRole", "seller", roles=[], privileges=[
        {"resource": {"db": "shop", "collection": "orders"}, "actions": ["find"]}])
    shop.command("createUser", "ann", pwd="secret", roles=["seller", "readWrite"])


def content(node):
    """What must be the same afterwards."""
    shop = node.shop
    return {
        "collections": sorted((c["name"], str(c["options"])) for c in shop.list_collections()),
        "indexes": {c: sorted(str(dict(i)) for i in shop[c].list_indexes())
                    for c in ("orders", "events", "checked")},
        "documents": {c: list(shop[c].find(sort=[("_id", 1)])) for c in ("orders", "events", "big")},
        "users": [{k: u[k] for k in ("_id", "user", "roles")} for u in shop.command("usersInfo")["users"]],
        "roles": [r["role"] for r in shop.command("rolesInfo", 1)["roles"]],
    }


def credentials(node):
    return list(node.admin["system.users"].find({}, {"credentials": 1}))


class Restore(unittest.TestCase):
    def test_the_documents_tools_look_for(self):
        with tempfile.TemporaryDirectory() as path:
            for start in (1, 2):
                with Server(path) as server:
                    node = client(server)
                    versions = {v["_id"]: v for v in node.admin["system.version"].find()}
                    self.assertEqual(versions["featureCompatibilityVersion"]["version"], "8.0")
                    self.assertEqual("authSchema" in versions, start == 2)
                    starts = list(node.local.startup_log.find())
                    self.assertEqual(len(starts), start)
                    self.assertEqual(starts[-1]["buildinfo"]["version"], node.server_info()["version"])
                    config = node.local["system.replset"].find_one()
                    self.assertEqual(config["members"][0]["host"].split(":")[0], "127.0.0.1")
                    node.shop.command("createUser", f"ann{start}", pwd="p", roles=[])
                    self.assertEqual(node.admin["system.version"].find_one("authSchema")["currentVersion"], 5)
                    server.stop()

    def test_the_commands_of_mongorestore(self):
        with Server() as source, Server() as target:
            old, new = client(source), client(target)
            fill(old)
            wanted = content(old)
            for info in old.shop.list_collections():
                if info["name"].startswith("system."):
                    continue
                ui = {"ui": binary(info["info"]["uuid"])} if "uuid" in info["info"] else {}
                new.admin.command("applyOps", [{"op": "c", "ns": "shop.$cmd", **ui,
                                                "o": {"create": info["name"], **info["options"]}}])
                if info["type"] == "view":
                    continue
                documents = list(old.shop[info["name"]].find())
                if documents:
                    new.shop[info["name"]].insert_many(documents)
                indexes = [i for i in old.shop.command("listIndexes", info["name"])["cursor"]["firstBatch"]
                           if i["name"] != "_id_"]
                if indexes:
                    new.shop.command("createIndexes", info["name"], indexes=indexes)
            new.admin.tempusers.insert_many(list(old.admin["system.users"].find()))
            new.admin.temproles.insert_many(list(old.admin["system.roles"].find()))
            new.admin.command("_mergeAuthzCollections", 1, tempUsersCollection="admin.tempusers",
                              tempRolesCollection="admin.temproles", drop=False, db="")
            self.assertEqual(content(new), wanted)
            self.assertEqual(credentials(new), credentials(old))
            uuids = [{c["name"]: c["info"].get("uuid") for c in n.shop.list_collections()
                      if c["type"] == "collection" and not c["name"].startswith("system.")} for n in (old, new)]
            self.assertEqual(uuids[0], uuids[1])

    def test_an_oplog_is_replayed(self):
        with Server() as source, Server() as target:
            old, new = client(source), client(target)
            old.shop.orders.insert_many([{"_id": i, "n": 0} for i in range(100)])
            for i in range(100):
                if i % 3 == 0:
                    old.shop.orders.delete_one({"_id": i})
                else:
                    old.shop.orders.update_one({"_id": i}, {"$inc": {"n": i}, "$push": {"l": i}})
            old.shop.orders.replace_one({"_id": 1}, {"whole": True})
            entries = list(old.local["oplog.rs"].find({"ns": {"$regex": "^shop"}}))
            for _ in range(2):  # entries may come twice: a dump goes on while it reads them
                for entry in entries:
                    entry = {k: binary(v) if k == "ui" else v for k, v in entry.items()
                             if k in ("op", "ns", "o", "o2", "ui")}
                    if entry["op"] == "c" and "shop" in new.list_database_names():
                        continue
                    self.assertEqual(new.admin.command("applyOps", [entry])["ok"], 1)
            order = [("_id", 1)]
            self.assertEqual(list(new.shop.orders.find(sort=order)), list(old.shop.orders.find(sort=order)))

    def test_the_roles_backup_and_restore_suffice(self):
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b, \
                guarded(a, "backup") as source, guarded(b, "restore") as target:
            fill(client(source, "root"))
            old, new = client(source, "backup"), client(target, "restore")
            for info in old.shop.list_collections(filter={"type": "collection"}):
                name = info["name"]
                if name.startswith("system."):
                    continue
                old.shop.command("collStats", name)
                new.shop.command("create", name, **info["options"])
                documents = list(old.shop[name].find())
                if documents:
                    new.shop.command("insert", name, documents=documents, bypassDocumentValidation=True)
                indexes = [i for i in old.shop.command("listIndexes", name)["cursor"]["firstBatch"]
                           if i["name"] != "_id_"]
                if indexes:
                    new.shop.command("createIndexes", name, indexes=indexes)
            old.shop["system.js"].find_one()
            old.local["oplog.rs"].find_one()
            new.admin.tempusers.insert_many(list(old.admin["system.users"].find({"db": "shop"})))
            new.admin.temproles.insert_many(list(old.admin["system.roles"].find()))
            new.admin.command("_mergeAuthzCollections", 1, tempUsersCollection="admin.tempusers",
                              tempRolesCollection="admin.temproles", drop=False, db="")
            new.admin.tempusers.drop()
            new.admin.temproles.drop()
            wanted = content(client(source, "root"))
            client(target, "root").shop.create_collection(
                "big", viewOn="orders", pipeline=[{"$match": {"total": {"$gt": 700}}}])
            self.assertEqual(content(client(target, "root")), wanted)
            for refused in (lambda: new.shop.orders.find_one(), lambda: old.shop.orders.insert_one({}),
                            lambda: old.shop.orders.drop()):
                with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                    refused()
                self.assertEqual(caught.exception.code, 13)

    @unittest.skipUnless(TOOLS, "no $MONGO_TOOLS")
    def test_the_tools_with_access_control(self):
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b, \
                tempfile.TemporaryDirectory() as folder, guarded(a, "backup") as source, guarded(b, "restore") as target:
            fill(client(source, "root"))
            backup = ["--username=backup", "--password=backup", "--authenticationDatabase=admin"]
            restore = ["--username=restore", "--password=restore", "--authenticationDatabase=admin"]
            self.run_tool("mongodump", source, "-o", folder + "/all", *backup)
            self.run_tool("mongorestore", target, folder + "/all", *restore)
            old, new = client(source, "root"), client(target, "root")
            self.assertEqual(content(new), content(old))
            self.assertEqual(new.shop.command("usersInfo", "ann", showCredentials=True)["users"][0]["credentials"],
                             old.shop.command("usersInfo", "ann", showCredentials=True)["users"][0]["credentials"])
            self.assertIsNotNone(pymongo.MongoClient(
                target.uri, username="ann", password="secret", authSource="shop").shop.orders.find_one())
            self.run_tool("mongodump", source, "-d", "shop", "--dumpDbUsersAndRoles", "-o", folder + "/shop", *backup)
            new.drop_database("shop")
            new.shop.command("dropAllUsersFromDatabase")
            new.shop.command("dropAllRolesFromDatabase")
            self.run_tool("mongorestore", target, "-d", "shop", "--restoreDbUsersAndRoles", folder + "/shop/shop",
                          *restore)
            self.assertEqual(content(new), content(old))

    def test_the_oplog_is_a_capped_collection(self):
        with Server() as server:
            node = client(server)
            node.shop.orders.insert_many([{"n": i} for i in range(10)])
            stats = node.local.command("collStats", "oplog.rs")
            self.assertTrue(stats["capped"])
            self.assertGreaterEqual(stats["count"], 10)
            self.assertEqual(stats["count"], node.local["oplog.rs"].count_documents({}))
            listed = next(node.local.list_collections(filter={"name": "oplog.rs"}))
            self.assertEqual(listed["options"]["size"], stats["maxSize"])
            self.assertIsInstance(listed["info"]["uuid"], uuid.UUID)

    @unittest.skipUnless(TOOLS, "no $MONGO_TOOLS")
    def test_mongodump_and_mongorestore(self):
        for extra in ([], ["--gzip"]):
            with Server() as source, Server() as target, tempfile.TemporaryDirectory() as folder:
                old, new = client(source), client(target)
                fill(old)
                self.run_tool("mongodump", source, "--archive=" + folder + "/dump", *extra)
                self.run_tool("mongorestore", target, "--archive=" + folder + "/dump", *extra)
                self.assertEqual(content(new), content(old))
                self.assertEqual(credentials(new), credentials(old))
                self.run_tool("mongorestore", target, "--archive=" + folder + "/dump", "--drop",
                              "--preserveUUID", *extra)
                self.assertEqual(content(new), content(old))
                self.run_tool("mongodump", source, "-d", "shop", "--dumpDbUsersAndRoles", "-o", folder + "/shop",
                              *extra)
                new.drop_database("shop")
                new.shop.command("dropAllUsersFromDatabase")
                self.run_tool("mongorestore", target, "-d", "shop", "--restoreDbUsersAndRoles", *extra,
                              folder + "/shop/shop")
                self.assertEqual(content(new), content(old))

    @unittest.skipUnless(TOOLS, "no $MONGO_TOOLS")
    def test_a_dump_under_load(self):
        with Server() as source, Server() as target, tempfile.TemporaryDirectory() as folder:
            old, new = client(source), client(target)
            fill(old)
            end = threading.Event()

            def load():
                n = 0
                while not end.is_set():
                    n += 1
                    old.shop.orders.insert_one({"_id": 1000 + n, "n": n})
                    old.shop.orders.update_one({"_id": n % 500}, {"$inc": {"hits": 1}}, upsert=True)
                    old.shop.orders.delete_one({"_id": 1000 + n - 5})

            worker = threading.Thread(target=load)
            worker.start()
            try:
                self.run_tool("mongodump", source, "--oplog", "-o", folder)
            finally:
                end.set()
                worker.join()
            self.run_tool("mongorestore", target, "--oplogReplay", folder)
            self.assertGreaterEqual(new.shop.orders.count_documents({}), 500)
            self.assertEqual(len(list(new.shop.orders.list_indexes())), 3)

    def run_tool(self, name, server, *arguments):
        done = subprocess.run([os.path.join(TOOLS, name), "--uri", server.uri, *arguments],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Failed", done.stderr)


if __name__ == "__main__":
    counted.main()
