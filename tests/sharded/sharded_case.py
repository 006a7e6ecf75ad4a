# SPDX-License-Identifier: Apache-2.0
"""Recorded cases of a sharded cluster: commands and what a real router over two shards answered.

Steps are those of tests/cluster/recorded.py; a case may also say how its collections are sharded before it begins, and
a step may ask for the placement ($chunks, $count_by_shard, $zones) or for the shards that a command goes to ($targets).
"""
import os

import bson
from bson import SON, Code, Int64

from recorded import OPTIONS, Case, Connection, from_json, to_json

# Of no two clusters the same, wherever it stands in a reply.
DEEP = {"$clusterTime", "connectionString", "collectionUUID", "lastmodEpoch", "versionEpoch", "versionTimestamp",
        "topologyTime", "onCurrentShardSince", "replSetConfigVersion", "lastmod", "serverInfo"}
PLAN_FIELDS = ("stage", "indexName", "direction", "isMultiKey", "indexBounds", "sortPattern", "limitAmount", "skipAmount",
               "filter")
COUNTERS = ("nReturned", "totalKeysExamined", "totalDocsExamined")


def same(a, b):
    return bson.BSON.encode(a, codec_options=OPTIONS) == bson.BSON.encode(b, codec_options=OPTIONS)


class Router:
    """A connection to a router whose balancer is off."""

    def __init__(self, host):
        self.connection = Connection(host)
        shards = sorted(self.ask("admin", SON(listShards=1))["shards"], key=lambda shard: shard["_id"])
        self.names = [shard["_id"] for shard in shards]
        self.hosts = {host for shard in shards for host in shard["host"].split("/")[-1].split(",")}
        self.ask("admin", SON(balancerStop=1))

    def ask(self, database, command):
        reply = self.connection.command(database, command)
        if reply["ok"] != 1.0 or reply.get("writeErrors"):
            raise RuntimeError(f"{command}: {reply}")
        return reply

    def rows(self, database, collection, query, **options):
        command = SON([("find", collection), ("filter", query), ("batchSize", 10000), *options.items()])
        return self.ask(database, command)["cursor"]["firstBatch"]

    def chunks(self, namespace):
        """In the order of their keys."""
        known = self.rows("config", "collections", {"_id": namespace})
        rows = self.rows("config", "chunks", {"uuid": known[0]["uuid"]}, sort=SON(min=1)) if known else []
        return [SON((field, row[field]) for field in ("min", "max", "shard")) for row in rows]

    def arrange(self, namespace, points, owners):
        """Makes the chunks end exactly at the points, each range on its owner."""
        for point in points:
            if not any(same(chunk["min"], point) for chunk in self.chunks(namespace)):
                self.ask("admin", SON([("split", namespace), ("middle", point)]))
        parts = [[]]
        for chunk in self.chunks(namespace):
            if len(parts) <= len(points) and same(chunk["min"], points[len(parts) - 1]):
                parts.append([])
            parts[-1].append(chunk)
        for chunks, owner in zip(parts, owners):
            for chunk in chunks:
                if chunk["shard"] != owner:
                    self.ask("admin", SON([("moveChunk", namespace), ("bounds", [chunk["min"], chunk["max"]]),
                                           ("to", owner), ("_waitForDelete", True)]))
            if len(chunks) > 1:
                self.ask("admin", SON([("mergeChunks", namespace), ("bounds", [chunks[0]["min"], chunks[-1]["max"]])]))

    def close(self):
        self.connection.close()


def stage_tree(stage):
    shown = SON((field, stage[field]) for field in PLAN_FIELDS if field in stage)
    if "inputStage" in stage:
        shown["inputStage"] = stage_tree(stage["inputStage"])
    if "inputStages" in stage:
        shown["inputStages"] = [stage_tree(one) for one in stage["inputStages"]]
    return shown


def plan_of_one(reply):
    if "queryPlanner" not in reply:
        return SON(stages=[list(stage)[0] for stage in reply.get("stages", [])])
    plan = SON(winningPlan=stage_tree(reply["queryPlanner"].get("winningPlan", {})))
    stats = reply.get("executionStats") or {}
    plan.update((name, int(stats[name])) for name in COUNTERS if name in stats)
    return plan


def split_of(reply):
    split = reply.get("splitPipeline")
    if split is None:
        return None
    return SON((part, [list(stage)[0] for stage in split.get(part, []) if list(stage)[0] != "$mergeCursors"])
               for part in ("shardsPart", "mergerPart"))


def plan_of(reply):
    """The router's stage and the stages of every shard."""
    if isinstance(reply.get("shards"), dict):
        return SON([("split", split_of(reply)), *((n, plan_of_one(reply["shards"][n])) for n in sorted(reply["shards"]))])
    winning = reply.get("queryPlanner", {}).get("winningPlan", {})
    if "shards" not in winning:
        return plan_of_one(reply)
    stats = reply.get("executionStats") or {}
    ran = {one["shardName"]: one for one in stats.get("executionStages", {}).get("shards", [])}
    plan = SON(stage=winning.get("stage"))
    for shard in sorted(winning["shards"], key=lambda one: one["shardName"]):
        own = {"queryPlanner": {"winningPlan": shard.get("winningPlan", {})}, "executionStats": ran.get(shard["shardName"])}
        plan[shard["shardName"]] = plan_of_one(own)
    plan.update((name, int(stats[name])) for name in COUNTERS if name in stats)
    return plan


def targets_of(reply):
    if reply.get("ok") != 1.0:
        return reply
    winning = reply.get("queryPlanner", {}).get("winningPlan", {})
    if "shards" in winning:
        return SON(stage=winning.get("stage"), shards=sorted(one["shardName"] for one in winning["shards"]), ok=1.0)
    if isinstance(reply.get("shards"), dict):
        return SON(merged="mergeType" in reply, split=split_of(reply), shards=sorted(reply["shards"]), ok=1.0)
    return SON(merged=False, split=None, shards=["one"], ok=1.0)


class ShardedCase(Case):
    def __init__(self, router, database, case):  # pylint: disable=super-init-not-called
        self.router = router
        self.database = database
        self.case = case
        self.session = os.urandom(8)
        self.cursor = Int64(0)
        self.time = self.token = None
        self.words = [("@db", database), *((f"@s{i}", name) for i, name in enumerate(router.names))]

    # --- out of a reply
    def name(self, text):
        if text in self.router.names:
            return f"@s{self.router.names.index(text)}"
        if text in self.router.hosts or any(text.startswith(name + "/") for name in self.router.names):
            return "@host"
        return text.replace(self.database, "@db")

    def take(self, x):
        if isinstance(x, (list, tuple)):
            return [self.take(v) for v in x]
        if isinstance(x, dict) and not isinstance(x, Code):
            taken = [(self.name(name), self.take(v)) for name, v in x.items() if name not in DEEP]
            if taken and all(name.startswith(("@s", "@host")) for name, _ in taken):
                taken.sort(key=lambda field: field[0])
            return SON(taken)
        return self.name(x) if isinstance(x, str) and not isinstance(x, Code) else x

    def compared(self, step, reply):
        if reply.get("ok") == 1.0 and step.get("check") == "plan":
            return {"ok": 1, "plan": to_json(self.take(plan_of(reply)))}
        return super().compared(step, reply)

    @staticmethod
    def whole(reply, check):
        shards = reply.get("shards")
        if isinstance(shards, list) and shards and isinstance(shards[0], dict) and "host" in shards[0]:
            known = [SON((name, shard[name]) for name in ("_id", "state") if name in shard) for shard in shards]
            reply = SON([*reply.items(), ("shards", sorted(known, key=lambda shard: shard["_id"]))])
        return Case.whole(reply, check)

    # --- running
    def special(self, command, member=None):
        (what, argument), = command.items()
        if what == "$chunks":
            namespace = argument if argument.startswith(self.database + ".") else f"{self.database}.{argument}"
            return SON(chunks=self.router.chunks(namespace), ok=1.0)
        if what == "$count_by_shard":
            stage = {"$collStats": {"count": {}}}
            reply = self.send(None, self.database, {"aggregate": argument, "pipeline": [stage], "cursor": {}})
            if reply["ok"] != 1.0:
                return reply
            counts = [SON(shard=row.get("shard"), count=int(row["count"])) for row in reply["cursor"]["firstBatch"]]
            return SON(counts=sorted(counts, key=lambda one: str(one["shard"])), ok=1.0)
        if what == "$targets":
            return targets_of(self.router.connection.command(
                self.database, SON([("explain", argument), ("verbosity", "queryPlanner")])))
        ranges = self.router.rows("config", "tags", {"ns": {"$regex": f"^{self.database}\\."}}, sort=SON(ns=1, min=1))
        shards = self.router.rows("config", "shards", {}, sort=SON(_id=1))
        return SON(ranges=[SON((field, row[field]) for field in ("ns", "min", "max", "tag")) for row in ranges],
                   shards=[SON(shard=row["_id"], tags=sorted(tag for tag in row.get("tags", []) if tag.startswith("gz")))
                           for row in shards], ok=1.0)

    def send(self, member, database, command):
        return self.router.connection.command(self.text(database), self.put(from_json(command)))

    def clear(self):
        command = self.router.connection.command
        command(self.database, SON(dropDatabase=1))
        if not self.case.get("zones"):
            return
        for row in self.router.rows("config", "tags", {"tag": {"$regex": "^gz"}}):
            command("admin", SON([("updateZoneKeyRange", row["ns"]), ("min", row["min"]), ("max", row["max"]), ("zone", None)]))
        for shard in self.router.rows("config", "shards", {}):
            for zone in shard.get("tags", []):
                if zone.startswith("gz"):
                    command("admin", SON([("removeShardFromZone", shard["_id"]), ("zone", zone)]))

    def prepare(self):
        ask = self.router.ask
        if self.case.get("enable", True):
            ask("admin", SON([("enableSharding", self.database), ("primaryShard", self.router.names[0])]))
        for collection, wanted in self.case.get("sharded", {}).items():
            namespace = f"{self.database}.{collection}"
            ask("admin", SON([("shardCollection", namespace), ("key", from_json(wanted["key"])),
                              *from_json(wanted.get("opts", {})).items()]))
            points = [from_json(point) for point in wanted.get("split", [])]
            owners = wanted.get("owner", [f"@s{i % 2}" for i in range(len(points) + 1)])
            self.router.arrange(namespace, points, [self.text(owner) for owner in owners])
        for collection, documents in self.case.get("setup", {}).items():
            if documents:
                ask(self.database, self.put(from_json({"insert": collection, "documents": documents})))
        for collection, indexes in self.case.get("indexes", {}).items():
            ask(self.database, self.put(from_json({"createIndexes": collection, "indexes": indexes})))

    def run(self):
        """What differs, or None."""
        self.clear()
        sessions = []
        try:
            self.prepare()
            for step in self.case["steps"]:
                if step["run"].get("autocommit") is False and "lsid" in step["run"]:
                    sessions.append(self.put(from_json(step["run"]["lsid"])))
                if problem := self.step(step):
                    return problem
            return None
        except RuntimeError as error:
            return str(error)
        finally:
            if sessions:  # a transaction left open would hold up the drop
                self.router.connection.command("admin", SON(killSessions=sessions))
            self.clear()

    def step(self, step):
        first = next(iter(step["run"]), "")
        if first in ("$chunks", "$count_by_shard", "$targets", "$zones"):
            reply = self.special(self.put(from_json(step["run"])))
        else:
            reply = self.send(None, step.get("db", self.database), step["run"])
        self.remember(reply)
        return self.difference(step, reply)
