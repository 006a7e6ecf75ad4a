# SPDX-License-Identifier: Apache-2.0
"""Access control through pymongo: users, roles, logins, and what each may do."""
import tempfile
import unittest

import pymongo
from pymongo.errors import OperationFailure

import counted
from server import Server


def client(server, user=None, password=None, source="admin", mechanism=None):
    options = {"serverSelectionTimeoutMS": 5000}
    if user:
        options.update(username=user, password=password, authSource=source)
    if mechanism:
        options["authMechanism"] = mechanism
    return pymongo.MongoClient(server.uri, **options)


class Access(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = Server(cls.folder.name, ["--auth"])
        client(cls.server).admin.command(
            "createUser", "root", pwd="secret", roles=["root"])
        cls.root = client(cls.server, "root", "secret")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.folder.cleanup()

    def refused(self, code, function, *arguments, **options):
        with self.assertRaises(OperationFailure) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)

    def test_without_login_only_the_handshake_works(self):
        anonymous = client(self.server)
        self.assertTrue(anonymous.admin.command("ping")["ok"])
        self.assertTrue(anonymous.admin.command("hello")["isWritablePrimary"])
        self.refused(13, anonymous.test.things.find_one)
        self.refused(13, anonymous.test.things.insert_one, {})
        self.refused(13, anonymous.admin.command, "listDatabases")
        self.refused(13, anonymous.admin.command, "createUser", "x", pwd="x", roles=[])

    def test_both_mechanisms_and_wrong_passwords(self):
        for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256", None):
            logged_in = client(self.server, "root", "secret", mechanism=mechanism)
            self.assertEqual(
                logged_in.admin.command("connectionStatus")["authInfo"]["authenticatedUsers"],
                [{"user": "root", "db": "admin"}])
            self.refused(18, client(self.server, "root", "wrong", mechanism=mechanism).admin.command,
                         "ping")
            self.refused(18, client(self.server, "nobody", "secret", mechanism=mechanism)
                         .admin.command, "ping")

    def test_passwords_beyond_ascii(self):
        self.root.admin.command("createUser", "ü,=", pwd="pässwörd☃", roles=[])
        for mechanism in ("SCRAM-SHA-1", "SCRAM-SHA-256"):
            self.assertTrue(client(self.server, "ü,=", "pässwörd☃", mechanism=mechanism)
                            .admin.command("ping")["ok"])

    def test_a_user_with_one_mechanism(self):
        self.root.shop.command("createUser", "old", pwd="x", roles=[], mechanisms=["SCRAM-SHA-1"])
        self.assertTrue(client(self.server, "old", "x", "shop").admin.command("ping")["ok"])
        self.refused(18, client(self.server, "old", "x", "shop", "SCRAM-SHA-256").admin.command,
                     "ping")

    def test_read_and_read_write(self):
        self.root.shop.things.insert_one({"_id": 1})
        self.root.shop.command("createUser", "reader", pwd="r", roles=["read"])
        self.root.shop.command("createUser", "writer", pwd="w", roles=["readWrite"])
        reader = client(self.server, "reader", "r", "shop")
        writer = client(self.server, "writer", "w", "shop")
        self.assertEqual(reader.shop.things.find_one({"_id": 1}), {"_id": 1})
        self.assertEqual(reader.list_database_names(), ["shop"])
        self.refused(13, reader.shop.things.insert_one, {})
        self.refused(13, reader.other.things.find_one)
        self.refused(13, reader.shop.things.aggregate, [{"$out": "copy"}])
        self.refused(9, reader.shop.things.aggregate,  # pipelines stay in their database
                     [{"$lookup": {"from": {"db": "admin", "coll": "system.users"}, "as": "x",
                                   "pipeline": []}}])
        self.refused(13, reader.shop.things.aggregate,
                     [{"$lookup": {"from": "system.profile", "as": "x", "pipeline": []}}])
        self.refused(13, reader.admin.command, "shutdown")
        writer.shop.things.update_one({"_id": 2}, {"$set": {"a": 1}}, upsert=True)
        writer.shop.things.create_index("a")
        self.refused(13, writer.admin["system.users"].find_one)
        self.refused(13, writer.shop.command, "createUser", "y", pwd="y", roles=[])

    def test_changes_reach_open_connections(self):
        self.root.shop.command("createUser", "changing", pwd="c", roles=["read"])
        user = client(self.server, "changing", "c", "shop")
        self.refused(13, user.shop.changing.insert_one, {})
        self.root.shop.command("grantRolesToUser", "changing", roles=["readWrite"])
        user.shop.changing.insert_one({})
        self.root.shop.command("revokeRolesFromUser", "changing", roles=["readWrite"])
        self.refused(13, user.shop.changing.insert_one, {})
        self.root.shop.command("dropUser", "changing")
        self.refused(13, user.shop.changing.find_one)

    def test_roles_of_ones_own(self):
        shop = self.root.shop
        shop.command("createRole", "counter", roles=[], privileges=[
            {"resource": {"db": "shop", "collection": "counts"}, "actions": ["find", "update"]}])
        shop.command("createUser", "clerk", pwd="k", roles=["counter"])
        clerk = client(self.server, "clerk", "k", "shop")
        self.assertIsNone(clerk.shop.counts.find_one())
        self.refused(13, clerk.shop.others.find_one)
        self.refused(13, clerk.shop.counts.update_one, {}, {"$inc": {"n": 1}}, upsert=True)
        shop.command("grantPrivilegesToRole", "counter", privileges=[
            {"resource": {"db": "shop", "collection": "counts"}, "actions": ["insert"]}])
        clerk.shop.counts.update_one({}, {"$inc": {"n": 1}}, upsert=True)
        shop.command("dropRole", "counter")
        self.refused(13, clerk.shop.counts.find_one)
        self.assertEqual(shop.command("usersInfo", "clerk")["users"][0]["roles"], [])

    def test_passwords_change(self):
        self.root.shop.command("createUser", "pw", pwd="one", roles=[])
        self.root.shop.command("updateUser", "pw", pwd="two")
        self.refused(18, client(self.server, "pw", "one", "shop").admin.command, "ping")
        self.assertTrue(client(self.server, "pw", "two", "shop").admin.command("ping")["ok"])

    def test_credentials_are_shown_on_request_only(self):
        info = self.root.admin.command("usersInfo", "root")["users"][0]
        self.assertNotIn("credentials", info)
        self.assertEqual(info["mechanisms"], ["SCRAM-SHA-1", "SCRAM-SHA-256"])
        shown = self.root.admin.command("usersInfo", "root", showCredentials=True)["users"][0]
        self.assertEqual(set(shown["credentials"]), {"SCRAM-SHA-1", "SCRAM-SHA-256"})


class Restart(unittest.TestCase):
    def test_users_survive_a_kill(self):
        with tempfile.TemporaryDirectory() as path:
            with Server(path, ["--auth"]) as server:
                client(server).admin.command("createUser", "root", pwd="s", roles=["root"])
                server.process.kill()
                server.process.wait()
            with Server(path, ["--auth"]) as server:
                self.assertTrue(client(server, "root", "s").admin.command("serverStatus")["ok"])
                with self.assertRaises(OperationFailure):
                    client(server).admin.command("createUser", "again", pwd="s", roles=["root"])

    def test_without_auth_a_login_is_possible_but_not_needed(self):
        with Server() as server:
            client(server).test.command("createUser", "u", pwd="p", roles=[])
            client(server, "u", "p", "test").test.things.insert_one({})
            with self.assertRaises(OperationFailure):
                client(server, "u", "wrong", "test").admin.command("ping")


if __name__ == "__main__":
    counted.main()
