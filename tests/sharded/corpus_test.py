# SPDX-License-Identifier: Apache-2.0
"""Broadcast equals unsharded: the recorded cases of one server, through a router whose collections all lie on two
shards, hashed by _id. corpus_test.py [AREA [WORD OF A CASE'S NAME]].

What a cluster may answer otherwise by its nature is not compared: plans (each shard has its own), the order of rows
that no sort asks for, and which of them a limit without a sort gives; what of the answer is each shard's own (counts,
changes of indexes), and the index of the shard key. Cases that differ for another reason are named in
corpus_differences.txt, and those that ask for a unique index that the shard key does not begin are left out.
"""
import json
import os
import sys
import unittest

import counted
import rig
from bson import SON
from recorded import VOLATILE, from_json, known_differences
from sharded_case import Router, ShardedCase

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "..", "conformance")
AREAS = ("query", "write", "pipeline", "expressions", "index", "admin")
CUTS = ("$limit", "$skip", "$sample")
# Give their rows in an order of their own.
ORDERS = ("$sort", "$geoNear", "$sortByCount", "$bucket", "$bucketAuto", "$setWindowFields", "$densify", "$fill")


def is_ordered(command):
    if "pipeline" in command:
        stages = [next(iter(stage), "") for stage in command["pipeline"] if isinstance(stage, dict)]
        return any(stage in ORDERS for stage in stages)
    return bool(command.get("sort")) or "$near" in json.dumps(command)


def is_cut(command):
    cursor = command.get("cursor")
    sizes = [command.get("limit"), command.get("skip"), command.get("batchSize")]
    if isinstance(cursor, dict):
        sizes.append(cursor.get("batchSize"))
    stages = [next(iter(stage), "") for stage in command.get("pipeline", []) if isinstance(stage, dict)]
    return any(sizes) or any(stage in CUTS for stage in stages)


def sorted_rows(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


KEY = {"_id": "hashed"}
# Answered by each shard for itself ("raw"), or by the coordinator of the change.
OF_SHARDS = ("createIndexes", "dropIndexes", "deleteIndexes", "collMod", "drop")


def without_shards(reply, command):
    """A reply without what only a cluster or only one server tells."""
    first = next(iter(command), "")
    if reply.get("ok") != 1.0:
        return reply
    if first in OF_SHARDS:
        return {"ok": 1.0}
    shown = {name: value for name, value in reply.items() if not (first == "count" and name == "shards")}
    if first == "listIndexes" and "cursor" in shown:
        batch = [index for index in shown["cursor"]["firstBatch"] if index["key"] != KEY]
        shown["cursor"] = {**shown["cursor"], "firstBatch": batch}
    if first == "mapReduce" and isinstance(shown.get("results"), list):
        shown["results"] = sorted_rows(shown["results"])
    return shown


def wants_unique(case):
    lists = [*case.get("indexes", {}).values(), *(step["run"].get("indexes", []) for step in case["steps"])]
    return any(index.get("unique") and next(iter(index["key"]), "") != "_id"
               for one in lists for index in one if isinstance(index, dict) and isinstance(index.get("key"), dict))


def without_order(reply, command):
    """A reply to be compared whatever the order of its rows."""
    cursor = reply.get("cursor")
    if not isinstance(cursor, dict):
        return reply
    shown = dict(cursor)
    for batch in ("firstBatch", "nextBatch"):
        if isinstance(shown.get(batch), list):
            shown[batch] = len(shown[batch]) if is_cut(command) else sorted_rows(shown[batch])
    return {**reply, "cursor": shown}


class CorpusCase(ShardedCase):
    def name(self, text):
        return text.replace(self.database, "@db")

    def prepare(self):
        ask = self.router.ask
        ask("admin", SON([("enableSharding", self.database), ("primaryShard", self.router.names[0])]))
        for collection in self.names():
            ask("admin", SON([("shardCollection", f"{self.database}.{collection}"), ("key", {"_id": "hashed"})]))
        for collection, documents in self.case.get("setup", {}).items():
            if documents:
                ask(self.database, self.put(from_json({"insert": collection, "documents": documents})))
        for collection, indexes in self.case.get("indexes", {}).items():
            ask(self.database, self.put(from_json({"createIndexes": collection, "indexes": indexes})))

    def names(self):
        """The collections of the setup, and those that a step makes by inserting."""
        names = {name: None for name in [*self.case.get("setup", {}), *self.case.get("indexes", {})]}
        made = set()
        for step in self.case["steps"]:
            command = step["run"]
            if isinstance(command.get("create"), str):
                made.add(command["create"])
            name = command.get("insert")
            if isinstance(name, str) and name and name not in made and not name.startswith("system."):
                names[name] = None
        return [name for name in names if name and "$" not in name and "\0" not in name and len(name) < 100]

    def compared(self, step, reply):
        if step.get("check") == "keys" and reply.get("ok") == 1.0:
            return {"ok": 1, "keys": sorted(name for name in reply if name not in VOLATILE)}
        return super().compared(step, reply)

    def difference(self, step, reply):
        if step.get("drift") or step.get("check") == "plan":
            return None
        command = step["run"]
        want, got = (without_shards(shown, command) for shown in (step["want"], self.compared(step, reply)))
        if not is_ordered(command):
            want, got = without_order(want, command), without_order(got, command)
        if json.dumps(want) == json.dumps(got):
            return None
        return f"{json.dumps(command)[:300]}\n    want {json.dumps(want)[:600]}\n    got  {json.dumps(got)[:600]} {reply.get('errmsg', '')}"


class Corpus(unittest.TestCase):
    """One test for each case; see add_tests."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = rig.Cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.host = cls.cluster.uri.removeprefix("mongodb://").rstrip("/")
        cls.known = {**known_differences(f"{CASES}/known_failures.txt"),
                     **known_differences(f"{HERE}/corpus_differences.txt")}


def test_of(area, number, case):
    def test(self):
        if reason := self.known.get(f"{area}/{case['name']}"):
            self.skipTest(reason)
        if wants_unique(case):
            self.skipTest("a unique index has to begin with the shard key")
        router = Router(self.host)
        self.addCleanup(router.close)
        problem = CorpusCase(router, f"g_{area}_{number}x", case).run()
        self.assertIsNone(problem, problem)
    return test


def add_tests(areas, word):
    for area in areas:
        with open(f"{CASES}/cases/{area}.json", encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        for number, case in enumerate(cases):
            if word in case["name"] and not case.get("drift"):
                name = f"test_{area}_{number:03}_{case['name'].replace('-', '_')}"
                setattr(Corpus, name, test_of(area, number, case))


if __name__ == "__main__":
    chosen = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    add_tests([chosen] if chosen else AREAS, sys.argv.pop(1) if len(sys.argv) > 1 else "")
    counted.main()
