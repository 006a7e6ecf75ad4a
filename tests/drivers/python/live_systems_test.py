# SPDX-License-Identifier: Apache-2.0
"""pymongo reads what ads, social network, inbox, game and monitoring write."""
import datetime
import os
import subprocess
import unittest

import pymongo

import counted

URI = os.environ["QUIRE_URI"]
TOOL = os.environ["QUIRE_PATTERNS"]


class LiveSystems(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = pymongo.MongoClient(URI)
        for name in cls.client.list_database_names():
            if name.startswith("live"):
                cls.client.drop_database(name)
        subprocess.run([TOOL, URI, "fill_live", "live"], check=True, timeout=60)
        cls.database = cls.client.live

    def test_nested_comments(self):
        thread = self.database.discussions.find_one("thread")
        self.assertEqual(thread["count"], 2)
        (root,) = thread["replies"]
        (reply,) = root["replies"]
        self.assertEqual((root["text"], reply["text"], reply["replies"]), ("one", "two", []))
        self.assertTrue(reply["slug"].startswith(root["slug"] + "/"))
        self.assertTrue(reply["full_slug"].startswith(root["full_slug"] + "/"))

    def test_ads(self):
        zone = self.database["ad.zone"].find_one({"site_id": "cnn", "zone_id": "banner"})
        self.assertEqual([(ad["campaign_id"], ad["ad_unit_id"], ad["ecpm"]) for ad in zone["ads"]],
                         [("mercedes:c1", "23a", 250), ("bmw:c9", "12", 200)])
        user = self.database["ad.user"].find_one("cookie")
        self.assertEqual(len(user["caps"]["mercedes:23a"]), 1)
        profile = user["advertisers"]["mercedes"]
        self.assertEqual(profile["clicks"][0]["id"], profile["impressions"][0]["id"])
        campaign = self.database["campaign.metadata"].find_one("audi:c1")
        self.assertEqual((campaign["state"], campaign["zones"]["top"]["limit"]),
                         ("active", {"type": "cpm", "value": 300}))
        stats = self.database["campaign.stats"].find_one("audi:c1")
        self.assertEqual(stats["daily_spent"], {"20130522": 600})
        self.assertEqual(stats["zones"]["top"]["daily_stats"]["20130522"]["total"]["impressions"], 3)

    def test_social_network(self):
        users = {u["name"]: u for u in self.database["social.user"].find()}
        self.assertEqual(users["Max"]["circles"],
                         {"10gen": {users["Jared"]["_id"]: {"name": "Jared"}}})
        self.assertEqual(users["Jared"]["followers"],
                         {users["Max"]["_id"]: {"name": "Max", "circles": ["10gen"]}})
        post = self.database["social.post"].find_one()
        self.assertEqual((post["fanout"]["state"], post["comments_total"]), ("done", 4))
        news = self.database["social.news"].find_one({"user_id": users["Jared"]["_id"]})
        self.assertEqual((news["month"], news["seq"], news["count"]),
                         (post["ts"].strftime("%Y%m"), 0, 1))
        (entry,) = news["posts"]
        self.assertEqual((entry["id"], entry["comments_total"], entry["comments_shown"]),
                         (post["_id"], 4, 3))
        self.assertEqual([c["text"] for c in entry["comments"]], ["2", "3", "4"])
        self.assertEqual(self.database["social.wall"].find_one()["user_id"], users["Max"]["_id"])

    def test_inbox(self):
        message = self.client.live_inbox1.inbox_read.find_one()
        self.assertEqual((message["from"], message["to"], message["message"]),
                         ("john", ["mike", "billie"], "hello"))
        flag = self.client.live_inbox1.inbox_flags.find_one()
        self.assertEqual((flag["user"], flag["msg"], flag["read"]), ("mike", message["_id"], True))
        copies = {c["recipient"]: c for c in self.client.live_inbox2.inbox_write.find()}
        self.assertEqual({name: c["read"] for name, c in copies.items()},
                         {"mike": True, "billie": False})
        bucket = self.client.live_inbox3.inbox_bucket.find_one({"owner": "mike"})
        self.assertEqual((bucket["sequence"], len(bucket["messages"])), (0, 1))
        self.assertEqual((bucket["messages"][0]["n"], bucket["messages"][0]["read"]), (1, True))
        outbox = self.client.live_inbox3.outbox.find_one()
        self.assertEqual((outbox["state"], outbox["n"]), ("done", {"mike": 1, "billie": 1}))

    def test_game(self):
        tim = self.database.character.find_one("tim")
        self.assertEqual((tim["gold"], tim["load"], tim["txns"], tim["transit"]), (363, 1, [], []))
        (scroll,) = tim["inventory"]
        self.assertEqual((scroll["tmpl"], scroll["name"], scroll["qty"]),
                         ("scroll", "scroll of light", 1))
        self.assertEqual(self.database.character.find_one("keeper")["gold"], 160)
        shop = self.database.location.find_one("shop")
        self.assertEqual((shop["inventory"], {p["id"] for p in shop["players"]}),
                         ([], {"tim", "keeper"}))
        amounts = {a["_id"]: a["amount"] for a in self.database.ledger.find()}
        self.assertEqual(amounts, {"gold": 523, "item:scroll": 1})

    def test_performance_monitoring(self):
        sample = self.database.perf_20130522.find_one()
        self.assertEqual(len(sample["_id"]), 16)
        self.assertEqual((sample["Host"], sample["ParameterName"]), ("sardar", "IFU"))
        self.assertEqual(sample["GeneratedOn"],
                         datetime.datetime(2013, 5, 22, 11, 13, 43, 384000))
        self.assertEqual(self.database.perf_catalog.find_one("20130522")["count"], 2)
        for collection, start in (("perf_daily", datetime.datetime(2013, 5, 22)),
                                  ("perf_monthly", datetime.datetime(2013, 5, 1))):
            one = self.database[collection].find_one({"_id.h": "sardar", "_id.p": "IFU"})
            self.assertEqual((one["_id"]["d"], one["count"], one["sum"], one["min"], one["max"]),
                             (start, 2, 2.0, 0.5, 1.5))


if __name__ == "__main__":
    counted.main()
