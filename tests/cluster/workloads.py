# SPDX-License-Identifier: Apache-2.0
"""What clients do while a set fails, and what must hold of their answers afterwards."""
import collections
import glob
import itertools
import random
import threading
import time

import bson
import pymongo
from bson import SON, Binary, Int64
from pymongo import ReadPreference
from pymongo.errors import ConnectionFailure, OperationFailure, PyMongoError, WTimeoutError
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

import cycles
from history import EXCHANGE, READ, SWAP, WRITE, Event, linearizable
from recorded import Connection

MAJORITY = WriteConcern("majority")
NEVER = (10107, 13435, 13436)  # the member did nothing: it is not the primary
# What clients are told when members go away, are slow, or conflict.
EXPECTED = (None, *NEVER, 50, 64, 91, 112, 189, 251, 11600, 11602)


class Workload:
    """Threads with a client each. Answers are noted under `lock`."""
    threads = 2
    pause = 0.005

    def __init__(self, uri, seed):
        self.uri = uri
        self.seed = seed
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.errors = collections.Counter()
        self.workers = []
        self.done = 0

    def client(self, **options):
        return pymongo.MongoClient(self.uri, **{"serverSelectionTimeoutMS": 20000, "socketTimeoutMS": 20000,
                                                "connectTimeoutMS": 3000, **options})

    def start(self):
        self.prepare(self.client())
        for i in range(self.threads):
            worker = threading.Thread(target=self._work, args=(i,), daemon=True)
            worker.start()
            self.workers.append(worker)

    def _work(self, number):
        rng = random.Random(f"{self.seed}/{type(self).__name__}/{number}")
        client = self.client()
        while not self.ended.is_set():
            try:
                self.step(client, rng)
                self.done += 1
            except PyMongoError as error:
                code = getattr(error, "code", None)
                told = "" if code in EXPECTED else f": {str(error)[:300]}"
                self.errors[f"{type(error).__name__} {code}{told}"] += 1
                time.sleep(0.05)
            time.sleep(self.pause)

    def finish(self):
        self.ended.set()
        for worker in self.workers:
            worker.join(timeout=60)
            if worker.is_alive():
                raise AssertionError(f"{type(self).__name__}: a client waits for ever")

    def prepare(self, client):
        pass


class Inserts(Workload):
    """Acknowledged with majority: there. Also through retries: once, which a counter beside each shows."""
    pause = 0.002

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ids = itertools.count()
        self.acknowledged = set()
        self.open = set()

    def prepare(self, client):
        client.w.create_collection("inserts")
        client.w.create_collection("counters")

    def step(self, client, rng):
        number = next(self.ids)
        with self.lock:
            self.open.add(number)
        client.w.inserts.with_options(write_concern=MAJORITY).insert_one({"_id": number, "text": "x" * rng.randrange(300)})
        client.w.counters.with_options(write_concern=MAJORITY).update_one(
            {"_id": number}, {"$inc": {"n": 1}}, upsert=True)
        with self.lock:
            self.open.discard(number)
            self.acknowledged.add(number)

    def check(self, client, rig):
        found = {d["_id"] for d in client.w.inserts.find({}, {"_id": 1})}
        for number in sorted(self.acknowledged - found)[:5]:
            yield f"insert {number} was acknowledged and is lost"
        for number in sorted(found - self.acknowledged - self.open)[:5]:
            yield f"insert {number} was never made"
        counters = {d["_id"]: d["n"] for d in client.w.counters.find()}
        for number in self.acknowledged:
            if counters.get(number) != 1:
                yield f"counter {number} was raised once and is {counters.get(number)}"
        for number, n in counters.items():
            if n != 1:
                yield f"counter {number}: {n}"


class Registers(Workload):
    """Single documents, linearizable."""
    threads = 4
    length = 14

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.tickets = itertools.count()
        self.histories = collections.defaultdict(list)

    def client(self, **options):
        return super().client(retryWrites=False, retryReads=False, **options)

    def step(self, client, rng):
        things = client.w.get_collection("registers", write_concern=MAJORITY, read_concern=ReadConcern("linearizable"))
        number = next(self.tickets) // self.length
        kind = rng.choice((READ, WRITE, SWAP, EXCHANGE))
        event = Event(kind, rng.randrange(3), rng.randrange(3), None, time.monotonic())
        with self.lock:
            self.histories[number].append(event)
        try:
            self.apply(things, number, event)
        except OperationFailure as error:
            if error.code in NEVER and kind != READ:
                with self.lock:
                    self.histories[number].remove(event)
            raise
        event.returned = time.monotonic()

    @staticmethod
    def apply(things, number, event):
        if event.kind == READ:
            found = things.find_one({"_id": number}, max_time_ms=10000)
            event.old = found["v"] if found else -1
            event.done = True
        elif event.kind == WRITE:
            things.update_one({"_id": number}, {"$set": {"v": event.new}}, upsert=True)
            event.done = True
        elif event.kind == SWAP:
            result = things.update_one({"_id": number, "v": event.old}, {"$set": {"v": event.new}})
            event.done = result.matched_count == 1
        else:
            before = things.find_one_and_update({"_id": number}, {"$set": {"v": event.new}}, upsert=True)
            event.old = before["v"] if before else -1
            event.done = True

    def check(self, client, rig):
        for number, history in self.histories.items():
            if not linearizable(history, -1):
                yield f"register {number} is not linearizable: {history}"


class Bank(Workload):
    """Transfers in transactions: every reader of a snapshot sees the same sum."""
    accounts = 8
    total = 800

    def prepare(self, client):
        # At every member, so that a reader of one that is late sees no time before the accounts.
        client.w.bank.with_options(write_concern=WriteConcern(3)).insert_many(
            [{"_id": i, "balance": self.total // self.accounts} for i in range(self.accounts)])
        self.wrong = []

    def step(self, client, rng):
        with client.start_session() as session:
            if rng.random() < 0.3:
                with session.start_transaction(read_concern=ReadConcern("snapshot"), write_concern=MAJORITY):
                    self.see(list(client.w.bank.find({}, session=session)), "snapshot")
                return
            if rng.random() < 0.2:
                majority = client.w.get_collection("bank", read_concern=ReadConcern("majority"),
                                                   read_preference=ReadPreference.SECONDARY_PREFERRED)
                self.see(list(majority.find({})), "majority")
                return
            source, target = rng.sample(range(self.accounts), 2)
            amount = rng.randrange(1, 20)

            def transfer(session):
                bank = client.w.bank
                bank.update_one({"_id": source}, {"$inc": {"balance": -amount}}, session=session)
                bank.update_one({"_id": target}, {"$inc": {"balance": amount}}, session=session)

            session.with_transaction(transfer, read_concern=ReadConcern("snapshot"), write_concern=MAJORITY)

    def see(self, documents, how):
        total = sum(d["balance"] for d in documents)
        if total != self.total:
            with self.lock:
                self.wrong.append(f"a {how} read sees {total} instead of {self.total}: {documents}")

    def check(self, client, rig):
        yield from self.wrong
        total = sum(d["balance"] for d in client.w.bank.find())
        if total != self.total:
            yield f"the accounts hold {total} instead of {self.total}"


class Lists(Workload):
    """Transactions that append to lists and read them: no cycle that snapshots exclude."""
    keys = 6

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.numbers = itertools.count(1)
        self.transactions = []

    def prepare(self, client):
        client.w.create_collection("lists")

    def step(self, client, rng):
        base = next(self.numbers) // 200 * self.keys  # lists stay short
        actions = [(rng.choice(("append", "read")), base + rng.randrange(self.keys), next(self.numbers))
                   for _ in range(rng.randrange(1, 4))]
        done = []
        record = cycles.Transaction(done)
        with self.lock:
            self.transactions.append(record)
        lists = client.w.lists
        with client.start_session() as session:
            def run(session):
                done.clear()
                for action, key, number in actions:
                    if action == "append":
                        lists.update_one({"_id": key}, {"$push": {"l": number}}, upsert=True, session=session)
                        done.append(("append", key, number))
                    else:
                        found = lists.find_one({"_id": key}, session=session)
                        done.append(("read", key, tuple(found["l"]) if found else ()))
            session.with_transaction(run, read_concern=ReadConcern("snapshot"), write_concern=MAJORITY)
        record.committed = True

    def check(self, client, rig):
        final = {d["_id"]: tuple(d["l"]) for d in client.w.lists.find()}
        yield from cycles.problems(self.transactions, final)


class Causal(Workload):
    """A session reads its own writes at any member."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.numbers = itertools.count()
        self.wrong = []

    def step(self, client, rng):
        number = next(self.numbers)
        with client.start_session(causal_consistency=True) as session:
            client.w.causal.with_options(write_concern=MAJORITY).insert_one({"_id": number}, session=session)
            read = client.w.get_collection("causal", read_concern=ReadConcern("majority"),
                                           read_preference=ReadPreference.SECONDARY_PREFERRED)
            if read.find_one({"_id": number}, session=session, max_time_ms=15000) is None:
                with self.lock:
                    self.wrong.append(f"a session does not see its own write {number}")

    def check(self, client, rig):
        yield from self.wrong


class Stream(Workload):
    """A change stream that is resumed shows every acknowledged write once, in the order of time."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ids = itertools.count()
        self.acknowledged = set()
        self.seen = []

    def prepare(self, client):
        client.w.create_collection("streamed")
        opened = threading.Event()
        reader = threading.Thread(target=self.read, args=(opened,), daemon=True)
        reader.start()
        self.reader = reader
        if not opened.wait(30):
            raise AssertionError("the change stream does not open")

    def read(self, opened):
        token = None
        client = self.client()
        while not self.ended.is_set():
            try:
                with client.w.streamed.watch(resume_after=token, max_await_time_ms=500) as stream:
                    opened.set()
                    token = token or stream.resume_token
                    while not self.ended.is_set():
                        change = stream.try_next()
                        if change is not None:
                            self.seen.append((change["clusterTime"], change["documentKey"]["_id"]))
                        token = stream.resume_token
            except PyMongoError as error:
                self.errors[f"stream {type(error).__name__} {getattr(error, 'code', None)}"] += 1
                time.sleep(0.1)
        self.token = token

    def step(self, client, rng):
        number = next(self.ids)
        client.w.streamed.with_options(write_concern=MAJORITY).insert_one({"_id": number})
        with self.lock:
            self.acknowledged.add(number)

    def finish(self):
        super().finish()
        self.reader.join(60)

    def check(self, client, rig):
        with client.w.streamed.watch(resume_after=self.token, max_await_time_ms=500) as stream:
            quiet = 0
            while quiet < 3:
                change = stream.try_next()
                if change is None:
                    quiet += 1
                else:
                    self.seen.append((change["clusterTime"], change["documentKey"]["_id"]))
        ids = [i for _, i in self.seen]
        times = [(t.time, t.inc) for t, _ in self.seen]
        if times != sorted(times):
            yield "events are not in the order of their times"
        for number, count in collections.Counter(ids).items():
            if count != 1:
                yield f"write {number} was shown {count} times"
        for number in sorted(self.acknowledged - set(ids))[:5]:
            yield f"write {number} was acknowledged and never shown"
        there = {d["_id"] for d in client.w.streamed.find()}
        for number in sorted(set(ids) - there)[:5]:
            yield f"write {number} was shown and is not there"


class Unsafe(Workload):
    """w: 1 may be lost, but then a rollback file has it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ids = itertools.count()
        self.acknowledged = {}  # and when

    def client(self, **options):
        return super().client(retryWrites=False, **options)

    def prepare(self, client):
        client.w.create_collection("unsafe")

    def step(self, client, rng):
        number = next(self.ids)
        client.w.unsafe.with_options(write_concern=WriteConcern(1)).insert_one({"_id": number})
        with self.lock:
            self.acknowledged[number] = time.monotonic()

    def check(self, client, rig):
        found = {d["_id"] for d in client.w.unsafe.find()}
        kept = set()
        for member in rig.members:
            for path in glob.glob(f"{member.path}/rollback/*unsafe*/*.bson"):
                with open(path, "rb") as file:
                    kept |= {d["_id"] for d in bson.decode_all(file.read())}
        # A disk that was lost, whole or its unsynced end, took with it what only it had.
        lost = (number for number, when in self.acknowledged.items() if when > rig.disk_lost)
        for number in sorted(set(lost) - found - kept)[:5]:
            yield f"w: 1 write {number} is neither there nor in a rollback file"


class Sessions(Workload):
    """A statement that was answered is remembered by every member, under whoever leads."""
    threads = 1
    pause = 0.2

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.ids = itertools.count(1)
        self.acknowledged = []

    def prepare(self, client):
        client.w.create_collection("sessions")

    def step(self, client, rng):
        statement = SON(update="sessions", updates=[SON(q={"_id": next(self.ids)}, u={"$inc": {"n": 1}}, upsert=True)],
                        lsid={"id": Binary(rng.getrandbits(128).to_bytes(16, "big"), 4)}, txnNumber=Int64(1),
                        writeConcern={"w": "majority", "wtimeout": 10000})
        reply = self.send("{}:{}".format(*client.primary or ("", 0)), statement)
        if reply.get("ok") == 1 and "writeConcernError" not in reply:
            with self.lock:
                self.acknowledged.append(statement)

    @staticmethod
    def send(host, statement):
        """As it is, to this member."""
        try:
            connection = Connection(host)
            try:
                return connection.command("w", statement)
            finally:
                connection.close()
        except (OSError, OverflowError) as error:
            raise ConnectionFailure(str(error)) from error

    def check(self, client, rig):
        some = self.acknowledged[:: max(1, len(self.acknowledged) // 20)]
        for member in rig.members:
            rig.lead(member)
            for statement in some:
                reply = self.send(member.host, statement)
                if reply.get("n") != 1:
                    yield f"{member.name} answers {reply} to a statement that was done"
        for document in client.w.sessions.find({"n": {"$ne": 1}}):
            yield f"a statement ran again: {document}"


ALL = [Inserts, Registers, Bank, Lists, Causal, Stream, Unsafe, Sessions]
