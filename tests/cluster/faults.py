# SPDX-License-Identifier: Apache-2.0
"""Faults, each begun and ended: what happens to a set in the minutes of a round."""
import random
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
    node.wipe()
    yield
    node.start()


def slow(rig, node):
    node.slow_down(random.choice((300, 1000, 3000)))
    yield
    node.connect()


def lossy(rig, node):
    node.lose_some(random.choice((5, 20, 50)))
    yield
    node.connect()


def stutter(rig, node):
    """Stands still most of the time."""
    until = time.monotonic() + random.uniform(1, 10)
    while time.monotonic() < until:
        node.pause()
        time.sleep(random.uniform(0.2, 1.2))
        node.resume()
        time.sleep(random.uniform(0.05, 0.3))
    yield


def lose_power(rig, node):
    node.lose_power()
    yield
    node.start()


def lose_power_everywhere(rig, node):
    """As in a building: the members come back one after the other."""
    for member in rig.members:
        member.lose_power()
    for member in random.sample(rig.members, len(rig.members)):
        member.start()
        time.sleep(random.uniform(0, 2))
    yield


def wrong_clock(rig, node):
    node.set_clock(random.choice((-3600, -30, -2, 2, 30, 200)))
    yield
    node.set_clock(0)


def full_disk(rig, node):
    node.fill_disk()
    yield
    node.empty_disk()


PRIMARY = [kill, pause, cut_off, lose_one_way, stop, step_down, slow, lossy, stutter]
SECONDARY = [kill, pause, cut_off, lose_one_way, stop, wipe, slow, lossy, stutter]
STORE = [kill, pause, cut_off, slow, lossy, stutter]
# Of members with a machine of their own.
MACHINE = [lose_power, lose_power, lose_power_everywhere, wrong_clock, full_disk]


class Storm:
    """One fault after the other, each for a moment; at most one member at a time is away."""

    def __init__(self, rig, seed, log=print):
        self.rig = rig
        self.random = random.Random(seed)
        self.log = log
        self.count = 0

    def choose(self):
        primary = self.rig.primary()
        kind = self.random.choice(["primary", "primary", "secondary", "store"])
        if kind == "store":
            return self.rig.etcd, self.random.choice(STORE)
        if kind == "primary" and primary is not None:
            node, faults = primary, PRIMARY
        else:
            node, faults = self.random.choice([m for m in self.rig.members if m is not primary]), SECONDARY
        if self.rig.machines and self.random.random() < 0.5:
            faults = MACHINE
        return node, self.random.choice(faults)

    def once(self, longest=15):
        node, fault = self.choose()
        seconds = self.random.uniform(0.5, longest)
        self.log(f"  {fault.__name__} {node.name} for {seconds:.1f} s", flush=True)
        self.count += 1
        run = fault(self.rig, node)
        next(run)
        time.sleep(seconds)
        next(run, None)
        time.sleep(self.random.uniform(0, 3))
