# SPDX-License-Identifier: Apache-2.0
"""Random documents, shard keys, chunks, zones, indexes and commands: a router's answers against those of one server.

model_test.py [--seed N] [--seconds N] [--commands N]: rounds of one collection each, whose seeds are printed; a round is
repeated by its seed and `--seconds 0`. What a router refuses on purpose (docs/sharding.md) is counted, not compared.
"""
import argparse
import collections
import datetime
import math
import os
import random
import sys
import time

import bson
import pymongo
from bson import json_util
from pymongo.errors import BulkWriteError, OperationFailure, PyMongoError

import rig
import server

# Errors of a router that one server does not have, by code: changes of the shard key and what needs it.
REFUSED = {20: "IllegalOperation", 61: "ShardKeyNotFound", 66: "ImmutableField", 31025: "ShardKeyUpdate",
           263: "OperationNotSupportedInTransaction"}


# --- comparing ---

def canonical(value, loose=False):
    """Equal for what counts as the same; `loose`: the order of arrays is free."""
    if isinstance(value, bool) or value is None:
        return ("v", repr(value))
    if isinstance(value, (int, float)):
        number = float(value)
        if math.isnan(number) or math.isinf(number):
            return ("n", repr(number))
        return ("n", f"{number:.9g}")
    if isinstance(value, bson.Decimal128):
        return canonical(float(value.to_decimal()))
    if isinstance(value, dict):
        return ("d",) + tuple((name, canonical(field, loose or name.startswith("any"))) for name, field in value.items())
    if isinstance(value, list):
        items = [canonical(item, loose) for item in value]
        return ("l",) + tuple(sorted(items, key=repr) if loose else items)
    return ("o", repr(value))


def bag(documents):
    return collections.Counter(canonical(d) for d in documents)


def field(document, path):
    for part in path.split("."):
        if not isinstance(document, dict) or part not in document:
            return "missing"
        document = document[part]
    return document


class Different(Exception):
    pass


# --- one round ---

class Round:
    """A collection on both sides, laid out and filled by a seed."""

    def __init__(self, routed, single, seed, tally):
        self.random = random.Random(seed)
        self.seed = seed
        self.tally = tally
        self.routed, self.single = routed, single
        self.name = "c"
        self.next_id = 0
        for client in (routed, single):
            client.drop_database("model")
        self.lay_out()
        self.fill(self.random.randint(30, 250))
        for _ in range(self.random.randint(0, 3)):
            self.index()

    # values

    def scalar(self):
        r = self.random
        return r.choice([
            lambda: r.randint(-20, 20), lambda: r.randint(-20, 20), lambda: float(r.randint(-10, 10)) / 2,
            lambda: r.choice("abcdeABCDE") * r.randint(1, 2), lambda: None, lambda: r.random() < 0.5,
            lambda: datetime.datetime(2020, 1, 1 + r.randint(0, 20)), lambda: bson.Int64(r.randint(-5, 5))])()

    def key_value(self, path):
        """Of a shard key's field: mostly numbers, so that ranges mean something."""
        r = self.random
        if r.random() < 0.75:
            return r.randint(-20, 20)
        return r.choice([None, float(r.randint(-10, 10)) / 2, r.choice("abcAB"), datetime.datetime(2020, 1, 1)])

    def value(self, depth=0):
        r = self.random
        if depth < 2 and r.random() < 0.15:
            return [self.value(depth + 1) for _ in range(r.randint(0, 3))]
        if depth < 2 and r.random() < 0.15:
            return {name: self.value(depth + 1) for name in r.sample(["p", "q", "r"], r.randint(0, 2))}
        return self.scalar()

    def document(self):
        r = self.random
        self.next_id += 1
        out = {"_id": self.next_id}
        for path in self.key:
            if path == "_id" or r.random() < 0.05:
                continue
            if "." in path:
                out[path.split(".")[0]] = {path.split(".")[1]: self.key_value(path)}
            else:
                out[path] = self.key_value(path)
        for name in ("f", "g", "t"):
            if r.random() < 0.85:
                out[name] = self.value()
        if r.random() < 0.5:
            out["rows"] = [{"k": r.randint(0, 4), "v": r.randint(0, 9)} for _ in range(r.randint(0, 4))]
        out["n"] = r.randint(0, 9)
        return out

    # layout

    def lay_out(self):
        r = self.random
        admin = self.routed.admin
        self.key = r.choice([{"a": 1}, {"a": "hashed"}, {"a": 1, "b": 1}, {"a": 1, "b": "hashed"}, {"k.a": 1},
                             {"_id": 1}, {"_id": "hashed"}, {"b": "hashed", "a": 1}])
        ns = "model." + self.name
        admin.command("enableSharding", "model", primaryShard=r.choice(["s0", "s1"]))
        options = {}
        if r.random() < 0.2:
            options["collation"] = {"locale": "en", "strength": 2}
        for client in (self.routed, self.single):
            client.model.create_collection(self.name, **options)
            client.model.create_collection("other")
        self.collated = bool(options)
        first = next(iter(self.key))
        ranged = self.key[first] == 1
        zones = ranged and r.random() < 0.3
        if zones:
            border = r.randint(-10, 10)
            low = {f: bson.MinKey() for f in self.key}
            high = {f: bson.MaxKey() for f in self.key}
            middle = dict(low, **{first: border})
            for shard in ("s0", "s1"):
                admin.command("addShardToZone", shard, zone="zone" + shard)
            admin.command("updateZoneKeyRange", ns, min=low, max=middle, zone="zones0")
            admin.command("updateZoneKeyRange", ns, min=middle, max=high, zone="zones1")
        more = {"collation": {"locale": "simple"}} if options else {}
        admin.command("shardCollection", ns, key=self.key, **more)
        if r.random() < 0.3:
            admin.command("shardCollection", "model.other", key={"_id": "hashed"})
        for client in (self.routed, self.single):
            client.model.other.insert_many([{"_id": i, "k": i % 7, "w": i * 1.5} for i in range(20)])
        if ranged and not zones:
            for border in sorted(r.sample(range(-18, 18), r.randint(1, 5))):
                at = {f: (border if f == first else bson.MinKey()) for f in self.key}
                admin.command("split", ns, middle=at)
                if r.random() < 0.6:
                    admin.command("moveChunk", ns, find=at, to=r.choice(["s0", "s1"]))
        self.kind = f"{self.key} zones={zones} collation={bool(options)}"

    def fill(self, count):
        documents = [self.document() for _ in range(count)]
        for client in (self.routed, self.single):
            client.model[self.name].insert_many(documents)

    def index(self):
        r = self.random
        keys = [(path, r.choice([1, -1])) for path in r.sample(["f", "g", "n", "t", "a"], r.randint(1, 2))]
        for client in (self.routed, self.single):
            try:
                client.model[self.name].create_index(keys, name="i" + repr(keys))  # not that of the key's own
            except OperationFailure as error:  # two arrays, or it is the shard key's
                if error.code not in (171, 85):
                    raise

    # queries

    def filter(self, depth=0):
        r = self.random
        kind = r.random()
        if depth < 2 and kind < 0.15:
            return {r.choice(["$and", "$or", "$nor"]): [self.filter(depth + 1) for _ in range(r.randint(1, 3))]}
        if kind < 0.25:
            return {}
        if kind < 0.35:
            return self.key_filter()
        out = {}
        for path in r.sample(list(self.key) + ["f", "g", "n", "_id", "f.p", "rows.k"], r.randint(1, 2)):
            value = r.randint(1, self.next_id + 3) if path == "_id" else (
                self.key_value(path) if path in self.key else self.scalar())
            out[path] = r.choice([
                lambda v: v, lambda v: v, lambda v: {"$gt": v}, lambda v: {"$lte": v}, lambda v: {"$ne": v},
                lambda v: {"$in": [v, self.scalar(), self.key_value("a")]}, lambda v: {"$nin": [v]},
                lambda v: {"$exists": r.random() < 0.5}, lambda v: {"$gte": v, "$lt": 15},
                lambda v: {"$type": r.choice(["number", "string", "null", "array"])}])(value)
        return out

    def key_filter(self):
        """Points and ranges of a prefix of the shard key, alone or as alternatives."""
        r = self.random

        def of_prefix():
            out = {}
            for path in list(self.key)[:r.randint(1, len(self.key))]:
                value = r.randint(1, self.next_id + 3) if path == "_id" else self.key_value(path)
                low = r.randint(-20, 15)
                out[path] = r.choice([
                    lambda: value, lambda: {"$in": [value, self.key_value("a"), low]}, lambda: {"$gte": low, "$lt": low + 8},
                    lambda: {"$gt": low, "$lte": low + 3}, lambda: {"$eq": value}])()
            return out

        if r.random() < 0.4:
            return {"$or": [of_prefix() for _ in range(r.randint(2, 3))]}
        return of_prefix()

    def sort(self):
        r = self.random
        return {path: r.choice([1, -1]) for path in r.sample(
            list(self.key) + ["f", "g", "n", "_id", "f.p", "rows.v"], r.randint(1, 3))}

    def collation(self):
        return {"collation": {"locale": "en", "strength": self.random.choice([1, 2, 3])}} if self.random.random() < 0.15 else {}

    # both sides

    def run(self, command):
        """The replies or errors of both."""
        replies = []
        for client in (self.routed, self.single):
            try:
                reply = client.model.command(command)
                if "cursor" in reply:
                    batch, cursor_id = list(reply["cursor"]["firstBatch"]), reply["cursor"]["id"]
                    while cursor_id:
                        more = client.model.command({"getMore": cursor_id, "collection": self.name, **self.batch_size(command)})
                        batch += more["cursor"]["nextBatch"]
                        cursor_id = more["cursor"]["id"]
                    reply = {"batch": batch}
                replies.append(reply)
            except OperationFailure as error:
                replies.append(error)
        return replies

    @staticmethod
    def batch_size(command):
        size = command.get("batchSize") or command.get("cursor", {}).get("batchSize")
        return {"batchSize": size} if size else {}

    def agree(self, command, check):
        routed, single = self.run(command)
        if isinstance(routed, OperationFailure) or isinstance(single, OperationFailure):
            codes = [r.code if isinstance(r, OperationFailure) else 0 for r in (routed, single)]
            if codes[0] == codes[1]:
                return False
            if codes[0] in REFUSED and codes[1] == 0:
                self.tally[REFUSED[codes[0]]] += 1
                self.resync()
                return False
            raise Different(f"errors {codes}: {routed if codes[0] else single}")
        check(routed, single)
        return True

    def explain(self, command):
        try:
            self.routed.model.command({"explain": command, "verbosity": self.random.choice(
                ["queryPlanner", "executionStats"])})
        except OperationFailure as error:
            raise Different(f"explain fails: {error.code} {error}") from error

    @staticmethod
    def same_rows(routed, single):
        a, b = bag(routed["batch"]), bag(single["batch"])
        if a != b:
            raise Different(f"only routed {dict(a - b)!r:.600}\nonly single {dict(b - a)!r:.600}")

    def resync(self):
        """After a write whose document is free to choose: both have the router's."""
        documents = list(self.routed.model[self.name].find())
        self.single.model[self.name].delete_many({})
        if documents:
            self.single.model[self.name].insert_many(documents)

    def same_documents(self):
        a, b = (bag(client.model[self.name].find()) for client in (self.routed, self.single))
        if a != b:
            raise Different(f"documents: only routed {dict(a - b)!r:.600}\nonly single {dict(b - a)!r:.600}")

    # commands

    def find(self):
        r = self.random
        command = {"find": self.name, "filter": self.filter(), **self.collation()}
        sort = self.sort() if r.random() < 0.6 else None
        if sort:
            command["sort"] = sort
        cut = r.random() < 0.4
        if cut:
            command["limit"] = r.randint(1, 30)
            command["skip"] = r.randint(0, 10)
        projected = r.random() < 0.3
        if projected:
            command["projection"] = r.choice([{"f": 1}, {"n": 0}, {"f": 1, "_id": 0}, {"x": {"$add": ["$n", 1]}, "n": 1}])
        if r.random() < 0.3:
            command["batchSize"] = r.randint(1, 20)

        def check(routed, single):
            a, b = routed["batch"], single["batch"]
            if len(a) != len(b):
                raise Different(f"{len(a)} rows, one server has {len(b)}")
            total = sort and "_id" in sort
            if cut and not total:  # which rows is free
                if sort and not projected and not self.arrays(sort) and "collation" not in command and not self.collated:
                    keys = [[canonical(field(d, p)) for p in sort] for d in a], [[canonical(field(d, p)) for p in sort] for d in b]
                    if self.nulls(keys[0]) != self.nulls(keys[1]):
                        raise Different(f"sort keys {keys[0]}\n{keys[1]}")
                return
            if total and [canonical(d) for d in a] != [canonical(d) for d in b]:
                raise Different(f"order {[d.get('_id') for d in a]}\n{[d.get('_id') for d in b]}")
            self.same_rows(routed, single)

        agreed = self.agree(command, check)
        if agreed and r.random() < 0.3:
            self.explain(command)
        return command

    @staticmethod
    def nulls(keys):
        """A missing field sorts as null."""
        nothing = ("v", "None")
        return [[nothing if part == canonical("missing") else part for part in key] for key in keys]

    @staticmethod
    def arrays(sort):
        return any(path.split(".")[0] in ("f", "g", "t", "rows") for path in sort)

    def count(self):
        command = {"count": self.name, "query": self.filter(), **self.collation()}
        if self.random.random() < 0.3:
            command.update(limit=self.random.randint(1, 20), skip=self.random.randint(0, 10))

        def check(routed, single):
            if routed["n"] != single["n"]:
                raise Different(f"n {routed['n']}, one server {single['n']}")

        agreed = self.agree(command, check)
        if agreed and self.random.random() < 0.2:
            self.explain({k: v for k, v in command.items()})
        return command

    def distinct(self):
        command = {"distinct": self.name, "key": self.random.choice(["f", "g", "n", "a", "f.p", "_id", "rows.k", "rows"]),
                   "query": self.filter(), **self.collation()}

        def check(routed, single):
            folds = "collation" in command or self.collated
            a, b = (len(x["values"]) if folds else bag({"v": v} for v in x["values"]) for x in (routed, single))
            if a != b:
                raise Different(f"values {routed['values']}\n{single['values']}")

        agreed = self.agree(command, check)
        if agreed and self.random.random() < 0.2:
            self.explain(command)
        return command

    def accumulators(self):
        r = self.random
        table = {
            "sum": {"$sum": "$n"}, "avg": {"$avg": "$n"}, "min": {"$min": "$n"}, "max": {"$max": "$a"},
            "anySet": {"$addToSet": "$n"}, "anyPush": {"$push": "$_id"}, "count": {"$count": {}},
            "dev": {"$stdDevPop": "$n"}, "devS": {"$stdDevSamp": "$n"}, "sums": {"$sum": {"$multiply": ["$n", 0.5]}},
            "top": {"$top": {"sortBy": {"_id": 1}, "output": "$n"}},
            "anyTops": {"$topN": {"n": 3, "sortBy": {"_id": -1}, "output": "$_id"}},
            "anyMins": {"$minN": {"n": 2, "input": "$n"}}, "anyMaxs": {"$maxN": {"n": 2, "input": "$_id"}},
            "bottom": {"$bottom": {"sortBy": {"_id": 1}, "output": "$_id"}},
            "median": {"$median": {"input": "$n", "method": "approximate"}},
        }
        return {name: table[name] for name in r.sample(sorted(table), r.randint(1, 4))}

    def stages(self):
        r = self.random
        by = r.choice(["$n", "$a", {"$mod": ["$n", 3]}, None, {"$type": "$f"}])
        whole = {"$sort": {"_id": 1}}
        table = [
            lambda: [{"$match": self.filter()}],
            lambda: [{"$project": {"n": 1, "f": 1, "a": 1, "m": {"$add": ["$n", 1]}}}],
            lambda: [{"$addFields": {"m": {"$cond": [{"$gt": ["$n", 4]}, "big", "small"]}}}],
            lambda: [{"$unwind": {"path": "$f", "preserveNullAndEmptyArrays": r.random() < 0.5}}],
            lambda: [{"$group": {"_id": by, **self.accumulators()}}],
            lambda: [whole, {"$group": {"_id": by, "first": {"$first": "$_id"}, "last": {"$last": "$n"}}}],
            lambda: [whole, {"$skip": r.randint(0, 9)}, {"$limit": r.randint(1, 40)}],
            lambda: [{"$sort": {"n": -1, "_id": 1}}, {"$limit": r.randint(1, 40)}],
            lambda: [{"$count": "count"}],
            lambda: [{"$sortByCount": "$n"}],
            lambda: [{"$bucket": {"groupBy": "$n", "boundaries": [0, 3, 6], "default": "rest",
                                  "output": {"c": {"$sum": 1}, "s": {"$sum": "$n"}}}}],
            lambda: [{"$facet": {"anyA": [{"$match": {"n": {"$lt": 5}}}, {"$project": {"_id": 1}}],
                                 "b": [{"$count": "c"}]}}],
            lambda: [{"$lookup": {"from": "other", "localField": "n", "foreignField": "k", "as": "anyJoined"}}],
            lambda: [{"$lookup": {"from": "other", "let": {"v": "$n"}, "as": "anyJoined",
                                  "pipeline": [{"$match": {"$expr": {"$eq": ["$k", "$$v"]}}}, {"$project": {"w": 1}}]}}],
            lambda: [{"$unionWith": {"coll": "other", "pipeline": [{"$match": {"k": r.randint(0, 6)}}]}}],
            lambda: [{"$replaceRoot": {"newRoot": {"_id": "$_id", "n": "$n", "z": {"$ifNull": ["$a", "none"]}}}}],
            # By the documents joined before, too: rows that stand equal may come in any order.
            lambda: [{"$setWindowFields": {"partitionBy": "$n", "sortBy": {"_id": 1, "j._id": 1, "k": 1}, "output": {
                "run": {"$sum": "$n", "window": {"documents": ["unbounded", "current"]}}, "rank": {"$documentNumber": {}}}}}],
            lambda: [{"$unset": ["f", "g"]}],
            lambda: [{"$redact": {"$cond": [{"$gt": ["$n", 2]}, "$$KEEP", "$$PRUNE"]}}],
            lambda: [{"$graphLookup": {"from": "other", "startWith": "$n", "connectFromField": "k", "connectToField": "_id",
                                       "maxDepth": 2, "as": "anyGraph"}}],
            lambda: [{"$bucketAuto": {"groupBy": "$_id", "buckets": r.randint(1, 5)}}],
            lambda: [{"$unwind": "$rows"}, {"$group": {"_id": "$rows.k", "v": {"$sum": "$rows.v"}, "c": {"$sum": 1}}}],
            lambda: [{"$lookup": {"from": "other", "localField": "n", "foreignField": "k", "as": "j"}}, {"$unwind": "$j"},
                     {"$match": {"j.w": {"$gt": r.randint(0, 20)}}}],
            lambda: [{"$sort": {"g": r.choice([1, -1]), "_id": 1}}, {"$skip": r.randint(0, 9)}, {"$limit": r.randint(1, 30)}],
            lambda: [{"$group": {"_id": by, "s": {"$sum": "$n"}}}, {"$sort": {"s": -1, "_id": 1}}, {"$limit": r.randint(1, 4)}],
            lambda: [{"$unionWith": {"coll": self.name, "pipeline": [{"$group": {"_id": "$n", "c": {"$sum": 1}}}]}}],
            lambda: [{"$facet": {"b": [{"$group": {"_id": "$n", "s": {"$sum": "$n"}}}, {"$sort": {"_id": 1}}, {"$limit": 3}],
                                 "c": [{"$sort": {"_id": -1}}, {"$limit": 2}, {"$project": {"_id": 1}}]}}],
            lambda: [{"$densify": {"field": "n", "range": {"step": 1, "bounds": [0, 12]}}}],
        ]
        out = []
        for _ in range(r.randint(1, 4)):
            out += r.choice(table)()
        return out

    def aggregate(self):
        command = {"aggregate": self.name, "pipeline": self.stages(),
                   "cursor": {} if self.random.random() < 0.7 else {"batchSize": self.random.randint(1, 20)},
                   **self.collation()}
        agreed = self.agree(command, self.same_rows)
        if agreed and self.random.random() < 0.2:
            self.explain(command)
        return command

    def change(self):
        """What an update does; never to the shard key."""
        r = self.random
        return r.choice([
            {"$inc": {"n": 1}}, {"$set": {"f": self.scalar()}}, {"$unset": {"g": ""}}, {"$set": {"m.q": r.randint(0, 5)}},
            {"$max": {"n": 5}}, {"$push": {"list": r.randint(0, 3)}}, [{"$set": {"m": {"$add": ["$n", 1]}}}],
            {"$rename": {"t": "u"}}, {"$mul": {"n": 2}}, {"$min": {"n": 3}}, {"$pull": {"rows": {"k": r.randint(0, 4)}}},
            {"$addToSet": {"list": {"$each": [r.randint(0, 3), r.randint(0, 3)]}}}, {"$inc": {"rows.$[].v": 1}},
            {"$push": {"rows": {"$each": [{"k": 9, "v": r.randint(0, 9)}], "$sort": {"v": 1}, "$slice": 3}}},
            [{"$set": {"total": {"$sum": "$rows.v"}}}, {"$unset": "g"}]])

    def statement(self, query, multi):
        """An update's statement; some change chosen elements of an array alone."""
        r = self.random
        if r.random() < 0.2:
            return {"q": dict(query, rows={"$type": "array"}), "u": {"$set": {"rows.$[e].v": r.randint(10, 20)}},
                    "arrayFilters": [{"e.k": {"$gte": r.randint(0, 4)}}], "multi": multi}
        return {"q": query, "u": self.change(), "multi": multi}

    def update(self):
        r = self.random
        multi = r.random() < 0.5
        query = self.filter() if multi or r.random() < 0.3 else {"_id": r.randint(1, self.next_id + 2)}
        command = {"update": self.name, "updates": [self.statement(query, multi)]}
        free = not multi and not isinstance(query.get("_id"), int)

        def check(routed, single):
            nonlocal free
            errors = [[e["code"] for e in x.get("writeErrors", [])] for x in (routed, single)]
            if free and any(errors):  # another document may be no error
                return
            if multi and errors[0] and errors[0] == errors[1]:  # how many were changed before is free
                free = True
                return
            names = ("n",) if free else ("n", "nModified")
            a, b = ([x.get(name) for name in names] for x in (routed, single))
            if a != b or errors[0] != errors[1]:
                raise Different(f"reply {routed}\n{single}")

        agreed = self.agree(command, check)
        self.resync() if free else self.same_documents()
        if agreed and r.random() < 0.2:
            self.explain(command)
        return command

    def delete(self):
        r = self.random
        limit = r.choice([0, 1])
        query = {"_id": r.randint(1, self.next_id + 2)} if limit or r.random() < 0.5 else dict(self.filter(), n=r.randint(0, 9))
        command = {"delete": self.name, "deletes": [{"q": query, "limit": limit}]}

        def check(routed, single):
            if routed["n"] != single["n"]:
                raise Different(f"reply {routed}\n{single}")

        agreed = self.agree(command, check)
        self.same_documents()
        if agreed and r.random() < 0.2:
            self.explain(command)
        return command

    def find_and_modify(self):
        r = self.random
        sorted_one = r.random() < 0.5
        query = self.filter() if sorted_one else {"_id": r.randint(1, self.next_id + 2)}
        command = {"findAndModify": self.name, "query": query}
        if sorted_one:
            command["sort"] = {"n": r.choice([1, -1]), "_id": 1}
        if r.random() < 0.3:
            command["remove"] = True
        else:
            command["update"] = self.change()
            command["new"] = r.random() < 0.5

        def check(routed, single):
            a, b = ((canonical(x.get("value")), canonical(x.get("lastErrorObject"))) for x in (routed, single))
            if a != b:
                raise Different(f"reply {routed}\n{single}")

        self.agree(command, check)
        self.same_documents()
        return command

    def upsert(self):
        r = self.random
        self.next_id += 1
        if r.random() < 0.3:  # with a key of another document the _id would be there twice, on two shards
            query = {"_id": r.randint(1, self.next_id)}
        else:
            query = {"_id": self.next_id}
            query.update({path: r.randint(-20, 20) for path in self.key if path != "_id" and r.random() < 0.8})
        command = {"update": self.name, "updates": [{"q": query, "u": {"$set": {"f": self.scalar()}, "$inc": {"n": 1}},
                                                     "upsert": True}]}

        def check(routed, single):
            a, b = ((x["n"], x["nModified"], canonical(x.get("upserted")), [e["code"] for e in x.get("writeErrors", [])])
                    for x in (routed, single))
            errors = {e["code"] for e in routed.get("writeErrors", [])}
            if errors & set(REFUSED):
                self.tally["upsert " + str(errors)] += 1
                return
            if a != b:
                raise Different(f"reply {routed}\n{single}")

        self.agree(command, check)
        self.resync()
        return command

    def insert(self):
        r = self.random
        documents = [self.document() for _ in range(r.randint(1, 10))]
        if r.random() < 0.3:
            documents.append(dict(documents[0]))
        command = {"insert": self.name, "documents": documents, "ordered": r.random() < 0.5}

        def check(routed, single):
            a, b = ((x["n"], [(e["index"], e["code"]) for e in x.get("writeErrors", [])]) for x in (routed, single))
            if a != b:
                raise Different(f"reply {routed}\n{single}")

        self.agree(command, check)
        self.same_documents()
        return command

    def bulk(self):
        r = self.random
        operations = []
        for _ in range(r.randint(1, 6)):
            at = {"_id": r.randint(1, self.next_id + 2)}
            operations.append(r.choice([
                lambda: pymongo.UpdateOne(at, {"$inc": {"n": 1}}), lambda: pymongo.DeleteOne(at),
                lambda: pymongo.UpdateMany({"n": r.randint(0, 9)}, {"$set": {"t": r.randint(0, 5)}}),
                lambda: pymongo.InsertOne(self.document())])())
        ordered = r.random() < 0.5
        results = []
        for client in (self.routed, self.single):
            try:
                done, errors = client.model[self.name].bulk_write(operations, ordered=ordered).bulk_api_result, []
            except BulkWriteError as error:  # a document that an index does not take
                done, errors = error.details, error.details["writeErrors"]
            counts = [done[name] for name in ("nInserted", "nMatched", "nModified", "nRemoved")]
            results.append((counts, sorted((error["index"], error["code"]) for error in errors)))
        if results[0] != results[1]:
            raise Different(f"bulk {results}")
        self.same_documents()
        return operations

    def bulk_write(self):
        """The command over several collections, whose _ids say which documents are meant."""
        r = self.random
        names = ["model." + self.name, "model.other"]
        operations = []
        for _ in range(r.randint(1, 6)):
            on, at = r.randint(0, 1), {"_id": r.randint(1, self.next_id + 2)}
            operations.append(r.choice([
                lambda: {"update": on, "filter": at, "updateMods": {"$inc": {"n": 1}}},
                lambda: {"update": on, "filter": {"n": r.randint(0, 9)}, "updateMods": {"$set": {"w": 1}}, "multi": True},
                lambda: {"delete": on, "filter": at},
                lambda: {"insert": 0, "document": self.document()}])())
        command = {"bulkWrite": 1, "ops": operations, "nsInfo": [{"ns": name} for name in names],
                   "ordered": r.random() < 0.5, "errorsOnly": r.random() < 0.3}
        replies = [client.admin.command(command) for client in (self.routed, self.single)]
        self.last = json_util.dumps(command)[:1500]
        shown = []
        for reply in replies:
            rows = [(row["idx"], row["ok"], row.get("code"), row["n"], row.get("nModified")) for row in reply["cursor"]["firstBatch"]]
            shown.append((rows, [reply[name] for name in sorted(reply) if name.startswith("n")]))
        if shown[0] != shown[1]:
            raise Different(f"bulkWrite {shown[0]}\n{shown[1]}")
        self.same_documents()
        return command

    def transaction(self):
        """Reads and writes of the documents of one key, which lie on one shard."""
        r = self.random
        key = {path: r.randint(1, self.next_id) if path == "_id" else r.randint(-20, 20) for path in self.key}
        nested = {}
        for path, value in key.items():
            parts = path.split(".")
            nested[parts[0]] = {parts[1]: value} if len(parts) > 1 else value
        self.next_id += 1
        fresh = dict(nested, n=r.randint(0, 9)) if "_id" in nested else dict(nested, _id=self.next_id, n=r.randint(0, 9))
        inserts = "_id" not in nested or self.routed.model[self.name].count_documents(key) == 0
        change, commits = self.change(), r.random() < 0.7
        seen = []
        for client in (self.routed, self.single):
            collection = client.model[self.name]
            with client.start_session() as session:
                session.start_transaction()
                try:
                    steps = [collection.update_many(key, change, session=session).modified_count]
                    if inserts:
                        collection.insert_one(dict(fresh), session=session)
                    steps.append(sorted(map(repr, map(canonical, collection.find(key, session=session)))))
                    steps.append(collection.delete_many(dict(key, n={"$gt": 7}), session=session).deleted_count)
                    steps.append(list(collection.aggregate([{"$match": key}, {"$count": "n"}], session=session)))
                    (session.commit_transaction if commits else session.abort_transaction)()
                except OperationFailure as error:
                    steps = [error.code]
                seen.append(steps)
        self.last = f"transaction {key} {change} {fresh if inserts else ''} commits={commits}"
        if seen[0] != seen[1]:
            raise Different(f"transaction {seen[0]}\n{seen[1]}")
        self.same_documents()

    def play(self, commands):
        table = [self.find] * 8 + [self.aggregate] * 8 + [self.count] * 2 + [self.distinct] * 2 + [self.update] * 3 + [
            self.delete, self.find_and_modify, self.find_and_modify, self.upsert, self.insert, self.bulk,
            self.bulk_write, self.transaction]
        for i in range(commands):
            state = self.random.getstate()
            chosen = self.random.choice(table)
            try:
                chosen()
            except (Different, PyMongoError) as error:
                text = error.args[0] if isinstance(error, Different) else repr(error)
                self.random.setstate(state)
                return f"seed {self.seed} command {i} ({chosen.__name__}) key {self.kind}: {text}\n  {self.last}"
        return None

    last = None


def watch_commands(round_type):
    """Keeps the command that ran last, for the report."""
    run = round_type.run

    def kept(self, command):
        self.last = json_util.dumps(command)[:1500]
        return run(self, command)

    round_type.run = kept


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(os.environ.get("MODEL_SEED", 5000)))
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("MODEL_SECONDS", 20)))
    parser.add_argument("--commands", type=int, default=60)
    arguments = parser.parse_args()
    watch_commands(Round)
    cluster = rig.Cluster()
    passed = failed = 0
    tally = collections.Counter()
    one = server.Server()
    try:
        single = pymongo.MongoClient(one.uri, directConnection=True)
        end = time.time() + arguments.seconds
        seed = arguments.seed
        while True:
            try:
                problem = Round(cluster.client, single, seed, tally).play(arguments.commands)
            except PyMongoError as error:
                problem = f"seed {seed}: the layout fails: {error!r}"
            print(f"seed {seed}: {'ok' if problem is None else 'DIFFERS'}", flush=True)
            if problem is not None:
                print(problem, flush=True)
            passed, failed = passed + (problem is None), failed + (problem is not None)
            seed += 1
            if time.time() >= end:
                break
    finally:
        one.stop()
        cluster.close()
    for name, count in sorted(tally.items()):
        print(f"refused by the router: {name}: {count}")
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
