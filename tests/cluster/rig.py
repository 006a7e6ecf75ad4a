# SPDX-License-Identifier: Apache-2.0
"""A replica set of real processes, each in a network namespace of its own, and the faults that befall it.

Needs root, ip(8), tc(8), nft(8) and a C compiler; the tests run in a namespace that they made themselves (see run), so
nothing reaches the machine's network.
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import time

import pymongo
from pymongo import helpers
from pymongo.errors import OperationFailure, PyMongoError

QUIRE = os.environ["QUIRE"]
NETWORK = "10.231.0"
PORT = 27017
MACHINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machine.c")
DISK_MEGABYTES = 800  # of a member with a disk of its own
ALREADY_INITIALIZED = 23
NO_STORE = (6, 89)  # it was not reached, or did not answer in time

# The driver's housekeeping would print a traceback for each connection that a dead member refuses.
helpers._handle_exception = lambda: None  # pylint: disable=protected-access


def run(*argv, check=True):
    return subprocess.run(argv, check=check, capture_output=True)


def ip(*arguments):
    run("ip", *arguments)


class Node:
    """One process with a network of its own: its cable can be pulled."""

    def __init__(self, rig, number, name, argv):
        self.rig = rig
        self.name = name
        self.argv = argv
        self.address = f"{NETWORK}.{number + 10}"
        self.namespace = f"quire{os.getpid()}n{number}"
        self.link = f"q{number}"
        self.path = None  # of its data
        self.environment = {}
        self.process = None
        self.paused = False
        self.log = open(f"{rig.folder}/{name.replace('/', '-')}.log", "ab")
        rig.nodes.append(self)
        ip("netns", "add", self.namespace)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        ip("link", "set", self.link, "master", "quire0", "up")
        ip("-n", self.namespace, "addr", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.namespace, "link", "set", "eth0", "up")
        ip("-n", self.namespace, "link", "set", "lo", "up")

    @property
    def host(self):
        return f"{self.address}:{PORT}"

    def start(self):
        if self.running():
            return
        self.paused = False
        self.process = subprocess.Popen(["ip", "netns", "exec", self.namespace, *self.argv],
                                        env={**os.environ, **self.environment}, stdout=self.log,
                                        stderr=subprocess.STDOUT, start_new_session=True)

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        if self.running():
            os.kill(self.process.pid, number)  # ip has become the program itself

    def kill(self):
        self.paused = False
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def stop(self):
        self.resume()
        self.signal(signal.SIGTERM)
        if self.process is not None:
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.kill()
                raise

    def pause(self):
        self.signal(signal.SIGSTOP)
        self.paused = True

    def resume(self):
        self.signal(signal.SIGCONT)
        self.paused = False

    def cut_off(self):
        """Nobody reaches it and it reaches nobody."""
        ip("link", "set", self.link, "down")

    def slow_down(self, kilobits):
        """So much a second passes, in either direction; what does not fit into a short queue is lost."""
        shape = ("root", "tbf", "rate", f"{kilobits}kbit", "burst", "16kb", "latency", "500ms")
        run("tc", "qdisc", "replace", "dev", self.link, *shape)
        run("tc", "-n", self.namespace, "qdisc", "replace", "dev", "eth0", *shape)

    def lose_some(self, percent):
        """Of all that it sends and is sent."""
        rules = "".join(f"add chain inet lossy {hook} {{ type filter hook {hook} priority 0; }}\n"
                        f"add rule inet lossy {hook} numgen random mod 100 < {percent} drop\n" for hook in ("input", "output"))
        subprocess.run(["ip", "netns", "exec", self.namespace, "nft", "-f", "-"], check=True, capture_output=True,
                       input=f"add table inet lossy\n{rules}".encode())

    def connect(self):
        ip("link", "set", self.link, "up")
        run("tc", "qdisc", "del", "dev", self.link, "root", check=False)
        run("tc", "-n", self.namespace, "qdisc", "del", "dev", "eth0", "root", check=False)
        run("ip", "netns", "exec", self.namespace, "nft", "delete", "table", "inet", "lossy", check=False)
        for other in self.rig.nodes:
            if other is not self:
                self.reach(other)
                other.reach(self)

    def lose(self, other):
        """What it sends to `other` is lost."""
        ip("-n", self.namespace, "route", "replace", "blackhole", f"{other.address}/32")

    def reach(self, other):
        run("ip", "-n", self.namespace, "route", "del", "blackhole", f"{other.address}/32", check=False)

    def lose_power(self):
        """It ends, and its files lose what was not synced."""
        self.kill()
        self.rig.disk_lost = time.monotonic()
        cut = run(self.rig.tool("cut"), self.path, self.environment["QUIRE_SYNCED"])
        self.log.write(cut.stdout)
        self.log.flush()

    def set_clock(self, seconds):
        """The wall clock is wrong by so much."""
        with open(self.environment["QUIRE_CLOCK"], "r+b") as file:
            file.write(struct.pack("<q", int(seconds * 1e9)))

    def fill_disk(self):
        """But for a little that the member may take meanwhile."""
        free = os.statvfs(self.path)
        with open(f"{self.path}/../filler", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail * free.f_frsize - (4 << 20)))

    def empty_disk(self):
        if os.path.exists(f"{self.path}/../filler"):
            os.unlink(f"{self.path}/../filler")

    def wipe(self):
        """The disk is gone, and there is another one."""
        self.kill()
        self.rig.disk_lost = time.monotonic()
        shutil.rmtree(self.path)
        os.makedirs(self.path)

    def close(self):
        self.kill()
        self.log.close()
        # The link goes with the namespace, but only some time later.
        run("ip", "link", "del", self.link, check=False)
        run("ip", "netns", "del", self.namespace, check=False)


class Rig:
    def __init__(self, folder, members=3, options=(), machines=False):
        """With `machines` each member has a disk of its own, small and without a platter, and power and a clock that
        can fail."""
        self.folder = folder
        self.machines = machines
        self.set = "s0"
        self.disk_lost = 0  # when a disk last was, whole or its unsynced end
        self.nodes = []
        self.members = []
        try:
            ip("link", "add", "quire0", "type", "bridge")
            ip("addr", "add", f"{NETWORK}.1/24", "dev", "quire0")
            ip("link", "set", "quire0", "up")
            self.etcd = self._etcd()
            self.members = [self._member(i, options) for i in range(members)]
        except BaseException:
            self.close()
            raise

    def tool(self, name):
        """machine.c as the library `machine.so` or the program `cut`."""
        path = f"{self.folder}/{name}"
        if not os.path.exists(path):
            kind = ("-DCUT",) if name == "cut" else ("-shared", "-fPIC")
            run("cc", "-O1", *kind, "-o", path, MACHINE)
        return path

    def _etcd(self):
        address = f"{NETWORK}.10"
        client, peer = f"http://{address}:2379", f"http://{address}:2380"
        return Node(self, 0, "etcd", [
            "etcd", "--name=quire", f"--data-dir={self.folder}/etcd", f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=quire={peer}", "--log-level=warn"])

    def _member(self, number, options):
        disk = f"{self.folder}/m{number}"
        path = f"{disk}/data"
        os.makedirs(disk, exist_ok=True)
        node = Node(self, number + 1, f"{self.set}/{number}", [])
        node.path = path
        if self.machines:
            run("mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "none", disk)
            node.environment = {"LD_PRELOAD": self.tool("machine.so"), "QUIRE_CLOCK": f"{self.folder}/clock{number}",
                                "QUIRE_SYNCED": f"{self.folder}/synced{number}"}
            with open(node.environment["QUIRE_CLOCK"], "wb") as file:
                file.write(bytes(8))
        os.makedirs(path, exist_ok=True)
        node.argv = [QUIRE, "serve", "--dbpath", path, "--bind_ip", f"127.0.0.1,{node.address}", "--port", str(PORT),
                     "--replSet", self.set, "--coord", f"http://{self.etcd.host.split(':')[0]}:2379",
                     "--nounixsocket", "--cacheSizeGB", "0.1", *options]
        return node

    @property
    def uri(self):
        return f"mongodb://{','.join(m.host for m in self.members)}/?replicaSet={self.set}"

    def up(self):
        self.etcd.start()
        for member in self.members:
            member.start()
        for member in self.members:
            self.wait(lambda m=member: self.ask(m, "ping") is not None, 60, f"{member.name} answers")
        config = {"_id": self.set, "members": [{"_id": i, "host": m.host} for i, m in enumerate(self.members)]}
        self.wait(lambda: self.initiated(config), 120, "the set is initiated")
        self.wait_healthy(120)

    def initiated(self, config):
        """Whether it is; on a busy machine etcd may take longer than the member waits for it."""
        client = self.direct(self.members[0], socketTimeoutMS=60000)
        try:
            client.admin.command("replSetInitiate", config)
            return True
        except OperationFailure as error:
            if error.code == ALREADY_INITIALIZED:
                return True
            if error.code not in NO_STORE:
                raise
            return False
        finally:
            client.close()

    def direct(self, member, **options):
        options = {"serverSelectionTimeoutMS": 2000, "socketTimeoutMS": 5000, "connectTimeoutMS": 2000, **options}
        return pymongo.MongoClient(f"mongodb://{member.host}/?directConnection=true", **options)

    def ask(self, member, command, value=1):
        """The reply, or None when the member does not answer or refuses."""
        client = self.direct(member)
        try:
            return client.admin.command(command, value)
        except PyMongoError:
            return None
        finally:
            client.close()

    def primary(self, among=None):
        for member in among or self.members:
            if member.running() and not member.paused:
                hello = self.ask(member, "hello")
                if hello and hello.get("isWritablePrimary"):
                    return member
        return None

    def lead(self, member):
        """Makes it the primary of a healthy set."""
        def leads():
            if self.primary() is not member:
                self.ask(member, "replSetStepUp")
            return self.primary() is member
        self.wait(leads, 60, f"{member.name} leads", self.states)

    def wait_healthy(self, seconds):
        """Until one member is primary and all others follow, level with it."""
        self.wait(self._healthy, seconds, "one primary, the others secondary and level", self.states)

    def _healthy(self):
        hellos = [self.ask(m, "hello") for m in self.members]
        if not all(hellos) or sum(bool(h.get("isWritablePrimary")) for h in hellos) != 1:
            return False
        if not all(h.get("isWritablePrimary") or h.get("secondary") for h in hellos):
            return False
        primary = next(m for m, h in zip(self.members, hellos) if h["isWritablePrimary"])
        try:
            client = self.direct(primary)
            reply = client.admin.command("appendOplogNote", 1, data={"msg": "level"},
                                         writeConcern={"w": len(self.members), "wtimeout": 2000})
            voters = client.admin.command("replSetGetStatus")["votingMembersCount"]
            return "writeConcernError" not in reply and voters == len(self.members)
        except PyMongoError:
            return False

    def states(self):
        return json.dumps({m.name: self._state(m) for m in self.members})

    def _state(self, member):
        if not member.running():
            return "ended"
        status = self.ask(member, "replSetGetStatus")
        return status and {"state": status["myState"], "term": str(status.get("term")),
                           "optimes": str(status.get("optimes"))}

    @staticmethod
    def wait(condition, seconds, what, describe=lambda: ""):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise AssertionError(f"not within {seconds} s: {what} {describe()}")
            time.sleep(0.1)

    def mend(self):
        """Ends every fault."""
        for node in self.nodes:
            node.connect()
            if self.machines and node is not self.etcd:
                node.empty_disk()
                node.set_clock(0)
            node.start()
            node.resume()

    def close(self):
        for node in reversed(self.nodes):
            node.close()
        for number in range(len(self.members) if self.machines else 0):
            run("umount", "-l", f"{self.folder}/m{number}", check=False)
        run("ip", "link", "del", "quire0", check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
