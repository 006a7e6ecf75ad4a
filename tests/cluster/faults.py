# SPDX-License-Identifier: Apache-2.0
"""Faults, each begun and ended: what happens to a set in the minutes of a round."""
import os
import random
import shutil
import time


def kill(rig, node):
    node.kill()
    yield
    node.start()


def pause(rig, node):
    node.pause()
    yield
    node.resume()


def cut_off(rig, node):
    node.cut_off()
    yield
    node.connect()


def lose_one_way(rig, node):
    other = random.choice([n for n in rig.nodes if n is not node])
    node.lose(other)
    yield
    node.reach(other)


def stop(rig, node):
    node.stop()
    yield
    node.start()


def step_down(rig, node):
    rig.ask(node, "replSetStepDown", 5)
    yield


def wipe(rig, node):
    """The disk is gone."""
    node.kill()
    shutil.rmtree(node.path)
    yield
    os.makedirs(node.path)
    node.start()


PRIMARY = [kill, pause, cut_off, lose_one_way, stop, step_down]
SECONDARY = [kill, pause, cut_off, lose_one_way, stop, wipe]
STORE = [kill, pause, cut_off]


class Storm:
    """One fault after the other, each for a moment; at most one member at a time is away."""

    def __init__(self, rig, seed, log=print):
        self.rig = rig
        self.random = random.Random(seed)
        self.log = log
        self.count = 0

    def once(self, longest=15):
        primary = self.rig.primary()
        kind = self.random.choice(["primary", "primary", "secondary", "store"])
        if kind == "store":
            node, fault = self.rig.etcd, self.random.choice(STORE)
        elif kind == "primary" and primary is not None:
            node, fault = primary, self.random.choice(PRIMARY)
        else:
            node = self.random.choice([m for m in self.rig.members if m is not primary])
            fault = self.random.choice(SECONDARY)
        seconds = self.random.uniform(0.5, longest)
        self.log(f"  {fault.__name__} {node.name} for {seconds:.1f} s", flush=True)
        self.count += 1
        run = fault(self.rig, node)
        next(run)
        time.sleep(seconds)
        next(run, None)
        time.sleep(self.random.uniform(0, 3))
