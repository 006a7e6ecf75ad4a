# SPDX-License-Identifier: Apache-2.0
"""Clients work while members and etcd are killed, paused, cut off and wiped; then everything that was promised is
there, once, and all members hold the same."""
import argparse
import contextlib
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
import unittest

import counted
import workloads
from faults import Storm
from rig import Rig

SETTINGS = argparse.Namespace(seconds=60.0, seed=1, rounds=1, keep=False)


def content(database):
    """Of each collection the hash of its documents, and its indexes."""
    hashes = database.command("dbHash")["collections"]
    return {name: (value, json.dumps(list(database[name].list_indexes()), sort_keys=True, default=str))
            for name, value in hashes.items()}


def data_hashes(rig):
    """{member: contents of its databases}, without what members keep of themselves."""
    hashes = {}
    for member in rig.members:
        client = rig.direct(member, socketTimeoutMS=60000)
        names = sorted(set(client.list_database_names()) - {"local", "config"})
        hashes[member.name] = {name: content(client[name]) for name in names}
        client.close()
    return hashes


def invalid_collections(rig):
    for member in rig.members:
        client = rig.direct(member, socketTimeoutMS=60000)
        for name in client.w.list_collection_names():
            reply = client.w.command("validate", name)
            if not reply["valid"]:
                yield f"{member.name}: {name} is not valid: {reply['errors']}"
        client.close()


class Rounds(unittest.TestCase):
    def test_storm(self):
        for seed in range(SETTINGS.seed, SETTINGS.seed + SETTINGS.rounds):
            with self.subTest(seed=seed), self.folder(seed) as folder:
                self.run_round(seed, folder)

    @contextlib.contextmanager
    def folder(self, seed):
        """Of a round; with --keep those of failed rounds stay. What failed is told at once."""
        folder = tempfile.mkdtemp(prefix="quire-cluster-")
        keep = False
        try:
            yield folder
        except Exception:
            keep = SETTINGS.keep
            print(f"seed {seed} failed{' in ' + folder if keep else ''}:\n{traceback.format_exc()}", flush=True)
            raise
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)

    def run_round(self, seed, folder):
        random.seed(seed)
        # Every other round with machines that fail; in the others the disks are real ones.
        with Rig(folder, machines=seed % 2 == 0) as rig:
            rig.up()
            running = [kind(rig.uri, seed) for kind in workloads.ALL]
            for workload in running:
                workload.start()
            storm = Storm(rig, seed)
            until = time.monotonic() + SETTINGS.seconds
            while time.monotonic() < until:
                storm.once(longest=min(15, SETTINGS.seconds / 4))
            rig.mend()
            rig.wait_healthy(120)
            time.sleep(1)
            for workload in running:
                workload.finish()
            rig.wait_healthy(60)
            self.check(rig, running)
            print(f"seed {seed}: {storm.count} faults; " + "; ".join(
                f"{type(w).__name__} {w.done} done, {dict(w.errors)}" for w in running), flush=True)

    def check(self, rig, running):
        found = []
        for workload in running:
            client = workload.client()
            found += [f"{type(workload).__name__}: {p}" for p in workload.check(client, rig)]
            client.close()
            if workload.done == 0:
                found.append(f"{type(workload).__name__}: nothing was ever done")
        hashes = data_hashes(rig)
        first = next(iter(hashes.values()))
        for name, other in hashes.items():
            for database in sorted(set(first) | set(other)):
                if first.get(database) != other.get(database):
                    found.append(f"{name} differs in {database}: {first.get(database)} {other.get(database)}")
        found += invalid_collections(rig)
        self.assertEqual([], found[:20])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=SETTINGS.seconds)
    parser.add_argument("--seed", type=int, default=SETTINGS.seed)
    parser.add_argument("--rounds", type=int, default=SETTINGS.rounds)
    parser.add_argument("--keep", action="store_true")
    known, rest = parser.parse_known_args()
    vars(SETTINGS).update(vars(known))
    sys.argv[1:] = rest
    counted.main()
