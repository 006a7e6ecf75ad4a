# SPDX-License-Identifier: Apache-2.0
"""Changes of collections while a process ends at a step of them: they are on all shards or on none, names can be used
again, and no acknowledged write is lost.

A fail point holds the change at its nth step on the coordinator's or on another shard's primary; then processes are
killed, or one is stopped for a while, or stays away until others have taken over. change_test.py --all goes through
every step; without, a few that have gone wrong before are tried, and then some that are drawn by --seed.
"""
import argparse
import os
import random
import signal
import sys
import threading
import time

import bson
import pymongo
from pymongo.errors import OperationFailure, PyMongoError

import rig

HELD = "A change is held by a fail point"
POINT = "hangAtStepOfShardedChange"
SOON = "takeOverShardedChangesSoon"
TAKEN_OVER = "A change is taken over"
PATIENCE = 90  # seconds until all has come to rest
PAUSE = 2
DOCUMENTS = 20
MOST_STEPS = 40


def wait(what, why, seconds=PATIENCE):
    until = time.monotonic() + seconds
    while True:
        try:
            if result := what():
                return result
        except PyMongoError:
            pass
        if time.monotonic() > until:
            raise AssertionError(f"waited in vain: {why}")
        time.sleep(0.05)


class Writer:
    """Inserts documents while the change runs, and remembers which ones were acknowledged."""

    def __init__(self, uri, namespace):
        self.client = pymongo.MongoClient(uri, serverSelectionTimeoutMS=2000, socketTimeoutMS=5000)
        self.collection = self.client.get_database(namespace[0])[namespace[1]]
        self.acknowledged = set()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        i = 1000
        while not self.ended.wait(0.005):
            i += 1
            try:
                self.collection.insert_one({"_id": i, "x": i if i % 2 else -i})
                self.acknowledged.add(i)
            except PyMongoError:
                pass

    def stop(self):
        self.ended.set()
        self.thread.join()
        self.client.close()


class Kind:
    """A change: how its collection is before, the command, and how to tell that it is done."""
    collection = "c"  # where the writer writes; documents of c must be there afterwards
    keeps = ("c",)

    def __init__(self, play):
        self.play = play
        self.db = play.client[play.database]
        self.admin = play.client.admin

    def ns(self, name="c"):
        return f"{self.db.name}.{name}"

    def prepare(self):
        self.admin.command("enableSharding", self.db.name, primaryShard="s0")
        self.admin.command("shardCollection", self.ns(), key={"x": 1})
        self.admin.command("split", self.ns(), middle={"x": 0})
        self.admin.command("moveChunk", self.ns(), find={"x": 1}, to="s1")
        self.admin.command("split", self.ns(), middle={"x": 10**6})
        self.db.c.insert_many([{"_id": i, "x": i if i % 2 else -i} for i in range(DOCUMENTS)])

    def owners(self):
        uuid = self.play.client.config.collections.find_one({"_id": self.ns()})["uuid"]
        return [(c["min"]["x"], c["shard"]) for c in self.play.client.config.chunks.find({"uuid": uuid}).sort("min", 1)]

    def indexes(self):
        return set(self.db.c.index_information())

    def names(self):
        return set(self.db.list_collection_names())

    # A change has to be done or not at all: what is seen of it must be one of two.
    def seen(self):
        raise NotImplementedError
    before = after = None


class ShardCollection(Kind):
    collection, keeps = "n", ("c", "n")

    def prepare(self):
        super().prepare()
        self.db.n.create_index("x")
        self.db.n.insert_many([{"_id": i, "x": i if i % 2 else -i} for i in range(DOCUMENTS)])

    def run(self):
        self.admin.command("shardCollection", self.ns("n"), key={"x": 1})

    def seen(self):
        return self.play.client.config.collections.count_documents({"_id": self.ns("n")})
    before, after = 0, 1


class ShardHashed(ShardCollection):
    collection, keeps = "c", ("c",)

    def prepare(self):
        Kind.prepare(self)

    def run(self):
        self.admin.command("shardCollection", self.ns("n"), key={"x": "hashed"}, numInitialChunks=3000)


class CreateIndexes(Kind):
    def run(self):
        self.db.command("createIndexes", "c", indexes=[{"key": {"y": 1}, "name": "y"},
                                                       {"key": {"x": 1, "y": 1}, "name": "u", "unique": True}])

    def seen(self):
        return self.indexes()
    before, after = {"_id_", "x_1"}, {"_id_", "x_1", "y", "u"}


class DropIndexes(Kind):
    def prepare(self):
        super().prepare()
        self.db.c.create_index("y", name="y")
        self.db.c.create_index("z", name="z")

    def run(self):
        self.db.command("dropIndexes", "c", index="*")

    def seen(self):
        return self.indexes()
    before, after = {"_id_", "x_1", "y", "z"}, {"_id_", "x_1"}


class CollMod(Kind):
    def run(self):
        self.db.command("collMod", "c", validator={"x": {"$type": "number"}})

    def seen(self):
        return "validator" in self.db.c.options()
    before, after = False, True


class Drop(Kind):
    collection, keeps = "w", ()

    def run(self):
        self.db.c.drop()

    def seen(self):
        return "c" in self.names()
    before, after = True, False


class DropDatabase(Kind):
    collection, keeps = None, ()

    def prepare(self):
        super().prepare()
        self.db.plain.insert_one({})
        self.admin.command("shardCollection", self.ns("h"), key={"x": "hashed"})

    def run(self):
        self.play.client.drop_database(self.db.name)

    def seen(self):
        return self.names()
    before, after = {"c", "h", "plain"}, set()


class Rename(Kind):
    collection, keeps = "c", ("c", "d")

    def run(self):
        self.db.c.rename("d")

    def seen(self):
        return self.play.client.config.collections.distinct("_id", {"_id": {"$regex": f"^{self.db.name}\\."}})

    @property
    def before(self):
        return [self.ns("c")]

    @property
    def after(self):
        return [self.ns("d")]


class RenameOver(Rename):
    """Over a sharded collection that has zones of its own."""
    def prepare(self):
        super().prepare()
        self.admin.command("shardCollection", self.ns("d"), key={"x": 1})
        self.admin.command("addShardToZone", "s0", zone="z")
        for name, low, high in (("c", -10, -5), ("d", -7, -2)):
            self.admin.command("updateZoneKeyRange", self.ns(name), min={"x": low}, max={"x": high}, zone="z")

    def run(self):
        self.db.c.rename("d", dropTarget=True)

    def seen(self):
        tags = [(tag["ns"], tag["min"]["x"], tag["max"]["x"])
                for tag in self.play.client.config.tags.find({"ns": {"$in": [self.ns("c"), self.ns("d")]}}).sort("min", 1)]
        return super().seen(), tags

    @property
    def before(self):
        return [self.ns("c"), self.ns("d")], [(self.ns("c"), -10, -5), (self.ns("d"), -7, -2)]

    @property
    def after(self):
        return [self.ns("d")], [(self.ns("d"), -10, -5)]


class Move(Kind):
    def run(self):
        self.admin.command("moveRange", self.ns(), min={"x": 10**6}, max={"x": bson.MaxKey()}, toShard="s0")

    def seen(self):
        return [shard for _, shard in self.owners()]
    before, after = ["s0", "s1", "s1"], ["s0", "s1", "s0"]


class Split(Kind):
    def run(self):
        self.admin.command("split", self.ns(), middle={"x": 500})

    def seen(self):
        return [low for low, _ in self.owners()]
    before, after = [bson.MinKey(), 0, 10**6], [bson.MinKey(), 0, 500, 10**6]


class Merge(Kind):
    def run(self):
        self.admin.command("mergeChunks", self.ns(), bounds=[{"x": 0}, {"x": bson.MaxKey()}])

    def seen(self):
        return [low for low, _ in self.owners()]
    before, after = [bson.MinKey(), 0, 10**6], [bson.MinKey(), 0]


KINDS = [ShardCollection, ShardHashed, CreateIndexes, DropIndexes, CollMod, Drop, DropDatabase, Rename, RenameOver, Move,
         Split, Merge]
# What happens, and the shard on which the change is held meanwhile.
FAULTS = {"coordinator killed": "s0", "coordinator paused": "s0", "participant killed": "s1", "participant paused": "s1",
          "router killed": "s0", "etcd killed": "s0", "etcd paused": "s0", "all killed": "s1", "coordinator dead": "s0"}
# Nobody goes on for the client: whether it hears of what is done is open.
UNHEARD = ("router killed", "all killed", "coordinator dead")
FIXED = [(CreateIndexes, "all killed", 1), (ShardCollection, "all killed", 1), (Rename, "coordinator killed", 8),
         (Split, "coordinator killed", 1), (RenameOver, "participant killed", 1), (Rename, "coordinator dead", 6)]


class Play:
    """One change with one fault."""

    def __init__(self, cluster, number, kind, fault, skip):
        self.cluster = cluster
        self.client = pymongo.MongoClient(cluster.uri, serverSelectionTimeoutMS=20000, socketTimeoutMS=60000,
                                          uuidRepresentation="standard")
        self.database = f"k{number}"
        self.kind = kind(self)
        self.fault = fault
        self.skip = skip
        self.place = None  # where it was held
        self.error = None  # that the client got

    def primary(self, shard):
        def found():
            for name, process in self.cluster.processes().items():
                if name.startswith(shard + "/") and process["pid"]:
                    direct = self.cluster.direct(name)
                    try:
                        if direct.admin.command("hello")["isWritablePrimary"]:
                            return name
                    finally:
                        direct.close()
            return None
        return wait(found, f"a primary of {shard}")

    def victims(self):
        who = self.fault.split()[0]
        return {"coordinator": lambda: [self.primary("s0")], "participant": lambda: [self.primary("s1")],
                "router": lambda: ["r0"], "etcd": lambda: ["etcd"],
                "all": lambda: ["r0", self.primary("s0"), self.primary("s1")]}[who]()

    def strike(self, victims):
        """Returns what ends it."""
        if self.fault.endswith("paused"):
            pid = self.cluster.processes()[victims[0]]["pid"]
            os.kill(pid, signal.SIGSTOP)
            return lambda: os.kill(pid, signal.SIGCONT)
        for victim in victims:
            self.cluster.tool("kill", victim)

        def start():
            for victim in reversed(victims):
                self.cluster.tool("start", victim)
        return start

    def await_takeover(self):
        """Whatever the other shard was prepared for is no longer held up there, though its coordinator is away."""
        other = self.primary("s1")
        direct = self.cluster.direct(other)
        try:
            prepared = {"_id": {"$regex": f"^c:{self.database}\\."}, "phase": 1}
            if direct.config.shardState.count_documents(prepared) == 0:
                return
            direct.admin.command("configureFailPoint", SOON, mode="alwaysOn")
            wait(lambda: direct.config.shardState.count_documents(prepared) == 0, "the other shard goes on")
            assert TAKEN_OVER in self.cluster.log(other)
            direct.admin.command("configureFailPoint", SOON, mode="off")
        finally:
            direct.close()

    def set_point(self, name, mode):
        direct = self.cluster.direct(name)
        direct.admin.command("configureFailPoint", POINT, mode=mode)
        direct.close()

    def try_change(self):
        try:
            self.kind.run()
        except PyMongoError as error:
            self.error = error

    def play(self):
        self.kind.prepare()
        writer = Writer(self.cluster.uri, (self.database, self.kind.collection)) if self.kind.collection else None
        try:
            self.run_with_fault()
            self.await_rest()
        finally:
            if writer:
                writer.stop()
        self.check(writer)
        self.client.drop_database(self.database)
        self.client.close()

    def run_with_fault(self):
        holder = self.primary(FAULTS[self.fault])
        victims = self.victims()
        seen = self.cluster.log(holder).count(HELD)
        self.set_point(holder, {"skip": self.skip})
        change = threading.Thread(target=self.try_change)
        change.start()
        while change.is_alive() and self.cluster.log(holder).count(HELD) == seen:
            time.sleep(0.01)
        lines = [line for line in self.cluster.log(holder).splitlines() if HELD in line]
        if len(lines) == seen:
            self.set_point(holder, "off")
            change.join()
            return
        self.place = lines[seen]
        end = self.strike(victims)
        if holder not in victims:
            self.set_point(holder, "off")
        if self.fault.endswith("dead"):
            self.await_takeover()
        time.sleep(PAUSE if "paused" in self.fault else 0.2)
        end()
        if holder in victims and "paused" in self.fault:
            wait(lambda: self.set_point(holder, "off") is None, "the point is off")
        change.join()

    def await_rest(self):
        for shard in ("s0", "s1"):
            self.primary(shard)
        wait(lambda: self.client.admin.command("ping"), "the router answers")
        store = self.cluster.processes()["etcd"]["host"]

        def rests():
            try:
                return all(lock["over"] for lock in rig.etcd_values(store, f"ddl/{self.database}").values())
            except OSError:
                return False
        wait(rests, "every change ends")

    # --- what has to be true
    def stored(self, shard):
        """Collections of a shard: uuid, options, names of indexes."""
        direct = self.cluster.direct(self.primary(shard))
        try:
            database = direct[self.database]
            return {one["name"]: (one["info"]["uuid"], one["options"], sorted(database[one["name"]].index_information()))
                    for one in database.list_collections()}
        finally:
            direct.close()

    def check_equal(self):
        config = self.client.config
        sharded = list(config.collections.find({"_id": {"$regex": f"^{self.database}\\."}}))
        stored = {shard: self.stored(shard) for shard in ("s0", "s1")}
        known = {record["_id"].partition(".")[2]: record for record in sharded}
        for name, record in known.items():
            assert stored["s0"].get(name) == stored["s1"].get(name), (name, stored)
            assert stored["s0"][name][0] == record["uuid"], (name, stored)
            chunks = list(config.chunks.find({"uuid": record["uuid"]}).sort("min", 1))
            assert all(isinstance(v, bson.MinKey) for v in chunks[0]["min"].values()), chunks
            assert all(isinstance(v, bson.MaxKey) for v in chunks[-1]["max"].values()), chunks
            assert all(a["max"] == b["min"] for a, b in zip(chunks, chunks[1:])), chunks
        extra = set(stored["s1"]) - set(known)
        assert not extra, ("not sharded, and yet on the other shard", extra)
        store = self.cluster.processes()["etcd"]["host"]
        generations = {str(record["epoch"]) for record in rig.etcd_values(store, "colls/").values()}
        left = {key.partition("/")[0] for key in rig.etcd_values(store, "chunks/")} - generations
        assert not left, ("chunks of no collection", left)

    def documents(self):
        return {d["_id"] for name in self.kind.keeps for d in self.client[self.database][name].find().max_time_ms(20000)}

    def check(self, writer):
        self.client.admin.command("flushRouterConfig")
        self.check_equal()
        seen = self.kind.seen()
        assert seen in (self.kind.before, self.kind.after), ("neither before nor after", seen)
        if self.fault not in UNHEARD:
            assert (self.error is None) == (seen == self.kind.after), ("the client hears something else", self.error, seen)
        if seen == self.kind.before:
            wait(lambda: self.kind.run() is None, "the change can be made again", 30)
            self.check_equal()
            assert self.kind.seen() == self.kind.after, ("made again", self.kind.seen())
        if self.kind.keeps:
            expected = set(range(DOCUMENTS)) | (writer.acknowledged if writer else set())
            lost = expected - self.documents()
            assert not lost, ("lost", sorted(lost)[:10], len(lost))
        self.check_names_can_be_used()

    def check_names_can_be_used(self):
        admin = self.client.admin
        for name in ("c", "d", "n"):
            self.client[self.database][name].drop()
            admin.command("shardCollection", f"{self.database}.{name}", key={"_id": "hashed"})
            collection = self.client[self.database][name]
            collection.insert_many([{"_id": i} for i in range(10)])
            assert collection.count_documents({}) == 10, name
        self.check_equal()


def every_step(kinds, faults):
    """Told by send() whether the step was reached."""
    for kind in kinds:
        for fault in faults:
            for skip in range(MOST_STEPS):
                reached = yield kind, fault, skip
                if not reached:
                    break


def drawn(kinds, faults, seed, seconds):
    chance = random.Random(seed)
    until = time.monotonic() + seconds
    yield from (one for one in FIXED if one[0] in kinds and one[1] in faults)
    while time.monotonic() < until:
        yield chance.choice(kinds), chance.choice(faults), chance.randrange(12)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="every step of every kind with every fault")
    parser.add_argument("--kind", action="append", choices=[k.__name__ for k in KINDS])
    parser.add_argument("--fault", action="append", choices=list(FAULTS))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CHANGE_SEED", 1)))
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("CHANGE_SECONDS", 30)))
    parser.add_argument("--members", type=int, default=1)
    arguments = parser.parse_args()
    kinds = [k for k in KINDS if not arguments.kind or k.__name__ in arguments.kind]
    faults = arguments.fault or list(FAULTS)
    cluster = rig.Cluster(members=arguments.members, options=["--setParameter=enableTestCommands=1"])
    cases = every_step(kinds, faults) if arguments.all else drawn(kinds, faults, arguments.seed, arguments.seconds)
    passed = failed = 0
    reached = None
    try:
        while True:
            try:
                kind, fault, skip = cases.send(reached) if reached is not None else next(cases)
            except StopIteration:
                break
            play = Play(cluster, passed + failed, kind, fault, skip)
            began = time.monotonic()
            try:
                play.play()
                verdict = "ok"
                passed += 1
            except (AssertionError, PyMongoError, OperationFailure) as error:
                verdict = f"FAILED: {error!r}"
                failed += 1
            reached = play.place is not None
            where = play.place.split("place")[-1].strip('"=: }') if reached else "not reached"
            print(f"{kind.__name__}, {fault} at step {skip} ({where}), {time.monotonic() - began:.1f} s: {verdict}", flush=True)
    finally:
        cluster.close()
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
