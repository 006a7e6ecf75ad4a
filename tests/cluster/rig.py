# SPDX-License-Identifier: Apache-2.0
"""A replica set of real processes, each in a network namespace of its own, and the faults that befall it.

Needs root and ip(8); the tests run in a namespace that they made themselves (see run), so nothing reaches
the machine's network.
"""
import json
import os
import signal
import subprocess
import time

import pymongo
from pymongo.errors import OperationFailure, PyMongoError

QUIRE = os.environ["QUIRE"]
NETWORK = "10.231.0"
PORT = 27017
ALREADY_INITIALIZED = 23
NO_STORE = (6, 89)  # it was not reached, or did not answer in time


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Node:
    """One process with a network of its own: its cable can be pulled."""

    def __init__(self, rig, number, name, argv):
        self.rig = rig
        self.name = name
        self.argv = argv
        self.address = f"{NETWORK}.{number + 10}"
        self.namespace = f"quire{os.getpid()}n{number}"
        self.link = f"q{number}"
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
                                        stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)

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

    def connect(self):
        ip("link", "set", self.link, "up")
        for other in self.rig.nodes:
            if other is not self:
                self.reach(other)
                other.reach(self)

    def lose(self, other):
        """What it sends to `other` is lost."""
        ip("-n", self.namespace, "route", "replace", "blackhole", f"{other.address}/32")

    def reach(self, other):
        subprocess.run(["ip", "-n", self.namespace, "route", "del", "blackhole", f"{other.address}/32"],
                       capture_output=True, check=False)

    def close(self):
        self.kill()
        self.log.close()
        # The link goes with the namespace, but only some time later.
        subprocess.run(["ip", "link", "del", self.link], capture_output=True, check=False)
        subprocess.run(["ip", "netns", "del", self.namespace], capture_output=True, check=False)


class Rig:
    def __init__(self, folder, members=3, options=()):
        self.folder = folder
        self.set = "s0"
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

    def _etcd(self):
        address = f"{NETWORK}.10"
        client, peer = f"http://{address}:2379", f"http://{address}:2380"
        return Node(self, 0, "etcd", [
            "etcd", "--name=quire", f"--data-dir={self.folder}/etcd", f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=quire={peer}", "--log-level=warn"])

    def _member(self, number, options):
        path = f"{self.folder}/m{number}"
        os.makedirs(path, exist_ok=True)
        node = Node(self, number + 1, f"{self.set}/{number}", [])
        node.path = path
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
            node.start()
            node.resume()

    def close(self):
        for node in reversed(self.nodes):
            node.close()
        subprocess.run(["ip", "link", "del", "quire0"], capture_output=True, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
