# SPDX-License-Identifier: Apache-2.0
"""One document is linearizable, also over a server that is killed and started again."""
import argparse
import collections
import itertools
import random
import signal
import sys
import tempfile
import threading
import time
import unittest

import pymongo
from pymongo.errors import PyMongoError

import counted
from history import EXCHANGE, READ, SWAP, WRITE, Event, linearizable
from server import Server

THREADS = 4
EVENTS_PER_DOCUMENT = 14
VALUES = 3
ABSENT = -1  # of a document that is not there yet


class Documents:
    """Hands out the document to work on: each is used until its history is long enough."""

    def __init__(self):
        self.lock = threading.Lock()
        self.tickets = itertools.count()
        self.histories = collections.defaultdict(list)

    def take(self):
        with self.lock:
            return next(self.tickets) // EVENTS_PER_DOCUMENT

    def note(self, number, event):
        with self.lock:
            self.histories[number].append(event)


class Worker:
    def __init__(self, documents, seed):
        self.documents = documents
        self.random = random.Random(seed)

    def run_on(self, server):
        """Works until the server is gone."""
        client = pymongo.MongoClient(server.uri, retryWrites=False, retryReads=False, serverSelectionTimeoutMS=5000)
        try:
            while self.step(client.test.things):
                pass
        finally:
            client.close()

    def step(self, things):
        number = self.documents.take()
        event = Event(self.random.choice((READ, WRITE, SWAP, EXCHANGE)), self.random.randrange(VALUES),
                      self.random.randrange(VALUES))
        event.called = time.monotonic()
        try:
            self.run_event(things, number, event)
            event.returned = time.monotonic()
        except PyMongoError:
            event.done = None
        self.documents.note(number, event)
        return event.done is not None

    @staticmethod
    def run_event(things, number, event):
        change = {"$set": {"v": event.new}}
        if event.kind == READ:
            found = things.find_one({"_id": number})
            event.old = found["v"] if found else ABSENT
        elif event.kind == WRITE:
            things.update_one({"_id": number}, change, upsert=True)
        elif event.kind == SWAP:
            event.done = things.update_one({"_id": number, "v": event.old}, change).matched_count == 1
        else:
            found = things.find_one_and_update({"_id": number}, change, upsert=True)
            event.old = found["v"] if found else ABSENT


def spoilt(events):
    """The history with an answer that was never true."""
    events = [Event(**vars(e)) for e in events]
    last = max(e.returned if e.done is not None else 0 for e in events)
    return events + [Event(READ, VALUES, 0, True, last + 1, last + 2)]


class Histories(unittest.TestCase):
    kills = 8
    seed = None

    def test_the_checker_tells_right_from_wrong(self):
        write = Event(WRITE, 0, 1, True, 1, 2)
        lost = Event(WRITE, 0, 1, None, 1)
        for right, events in (
                (False, [write, Event(READ, 0, 0, True, 3, 4)]),
                (True, [Event(WRITE, 0, 1, True, 1, 4), Event(READ, 0, 0, True, 2, 3)]),
                (False, [Event(SWAP, 0, 1, True, 1, 4), Event(SWAP, 0, 2, True, 2, 3)]),
                (True, [Event(SWAP, 0, 1, True, 1, 4), Event(SWAP, 0, 2, False, 2, 3)]),
                (False, [Event(EXCHANGE, 0, 1, True, 1, 4), Event(EXCHANGE, 0, 2, True, 2, 3)]),
                (True, [lost, Event(READ, 0, 0, True, 3, 4)]),
                (True, [lost, Event(READ, 1, 0, True, 3, 4)]),
                (False, [lost, Event(READ, 1, 0, True, 3, 4), Event(READ, 0, 0, True, 5, 6)])):
            self.assertEqual(linearizable(events), right, events)

    def test_documents_are_linearizable_over_kills(self):
        seed = self.seed if self.seed is not None else random.randrange(1 << 32)
        print(f"seed {seed}", flush=True)
        chance = random.Random(seed)
        documents = Documents()
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(self.kills):
                with Server(folder) as server:
                    self.work(server, documents, chance)
        unanswered = 0
        for number, events in documents.histories.items():
            unanswered += sum(e.done is None for e in events)
            self.assertTrue(linearizable(events, ABSENT), f"document {number}: {events}")
            self.assertFalse(linearizable(spoilt(events), ABSENT))
        print(f"{len(documents.histories)} histories, {unanswered} answers lost", flush=True)
        self.assertGreater(len(documents.histories), self.kills)
        self.assertGreater(unanswered, 0)

    @staticmethod
    def work(server, documents, chance):
        workers = []
        for _ in range(THREADS):
            worker = Worker(documents, chance.random())
            workers.append(threading.Thread(target=worker.run_on, args=(server,), daemon=True))
        for worker in workers:
            worker.start()
        time.sleep(chance.uniform(0.3, 1.0))
        server.stop(signal.SIGKILL)
        for worker in workers:
            worker.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=Histories.kills)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    Histories.kills, Histories.seed = options.kills, options.seed
    sys.argv = sys.argv[:1]
    counted.main()
