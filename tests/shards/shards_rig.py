# SPDX-License-Identifier: Apache-2.0
"""Two shards of one member each, and a real etcd, on loopback."""
import base64
import json
import os
import signal
import subprocess
import time
import urllib.request
import uuid

import pymongo
from bson import Binary, ObjectId, Timestamp, json_util
from pymongo.errors import PyMongoError

QUIRE = os.environ["QUIRE"]
ETCD = 2379
PREFIX = "/quire/quire/"
UNSHARDED = {"e": ObjectId("0" * 24), "t": Timestamp(0, 0), "v": Timestamp(0, 0)}


class Process:
    def __init__(self, folder, name, argv):
        self.argv = argv
        self.log = open(f"{folder}/{name}.log", "ab")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.argv, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def signal(self, number):
        os.kill(self.process.pid, number)


class Rig:
    shards = ("s0", "s1")

    def __init__(self, folder):
        self.folder = folder
        url = f"http://127.0.0.1:{ETCD}"
        peer = "http://127.0.0.1:2380"
        self.etcd = Process(folder, "etcd", [
            "etcd", "--name=quire", f"--data-dir={folder}/etcd", f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}", f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=quire={peer}", "--log-level=warn"])
        self.members = {}
        self.ports = {}
        for i, shard in enumerate(self.shards):
            os.makedirs(f"{folder}/{shard}")
            self.ports[shard] = 27100 + i
            self.members[shard] = Process(folder, shard, [
                QUIRE, "serve", "--dbpath", f"{folder}/{shard}", "--bind_ip", "127.0.0.1", "--port",
                str(self.ports[shard]), "--replSet", shard, "--coord", url, "--nounixsocket", "--cacheSizeGB", "0.1"])
        self.clients = {s: pymongo.MongoClient(f"mongodb://127.0.0.1:{p}/?directConnection=true",
                                               serverSelectionTimeoutMS=2000, socketTimeoutMS=60000, retryWrites=False)
                        for s, p in self.ports.items()}
        self.cluster_id = ObjectId()
        self.versions = {}

    # --- the coordination store
    def etcd_call(self, what, body):
        request = urllib.request.Request(f"http://127.0.0.1:{ETCD}/v3/kv/{what}", json.dumps(body).encode())
        return json.load(urllib.request.urlopen(request, timeout=5))

    def put(self, key, document):
        value = json_util.dumps(document, json_options=json_util.CANONICAL_JSON_OPTIONS)
        self.etcd_call("put", {"key": encode(PREFIX + key), "value": encode(value)})

    def get(self, prefix):
        """The records below the prefix by their keys."""
        end = PREFIX + prefix
        end = end[:-1] + chr(ord(end[-1]) + 1)
        reply = self.etcd_call("range", {"key": encode(PREFIX + prefix), "range_end": encode(end)})
        return {base64.b64decode(kv["key"]).decode()[len(PREFIX):]: json_util.loads(base64.b64decode(kv["value"]))
                for kv in reply.get("kvs", [])}

    # --- the cluster
    def up(self):
        self.etcd.start()
        self.wait(self.etcd_answers, 30, "etcd answers")
        for shard in self.shards:
            self.members[shard].start()
        for shard in self.shards:
            host = f"127.0.0.1:{self.ports[shard]}"
            self.wait(lambda s=shard: self.ask(s, {"ping": 1}), 30, "ping")
            self.ask(shard, {"replSetInitiate": {"_id": shard, "version": 1, "members": [{"_id": 0, "host": host}]}})
            self.wait_primary(shard)
            self.command(shard, {"_shardsvrJoinCluster": shard, "clusterId": self.cluster_id})
            self.put(f"shards/{shard}", {"name": shard, "host": f"{shard}/{host}", "state": 1,
                                         "topologyTime": Timestamp(1, 1), "tags": [], "draining": False})

    def etcd_answers(self):
        try:
            self.etcd_call("range", {"key": encode("x")})
            return True
        except OSError:
            return False

    def create_database(self, name, primary="s0"):
        version = {"uuid": Binary(uuid.uuid4().bytes, 4), "timestamp": Timestamp(int(time.time()), len(self.versions) + 1),
                   "lastMod": 1}
        self.put(f"dbs/{name}", {"name": name, "primary": primary, "version": version, "state": "live"})
        self.versions[name] = version

    def command(self, shard, command, db="admin"):
        return self.clients[shard][db].command(command)

    def ask(self, shard, command):
        try:
            return self.command(shard, command)
        except PyMongoError:
            return None

    def wait_primary(self, shard):
        self.wait(lambda: (self.ask(shard, {"hello": 1}) or {}).get("isWritablePrimary"), 60, f"{shard} is primary")

    def coordinate(self, db, command, on="admin", **more):
        """As a router does: to the primary shard of the database, again after a failover."""
        primary = "s0"
        return self.command(primary, {"_shardsvrCoordinate": command, "db": on, "databaseVersion": self.versions[db], **more})

    def shard_version(self, ns, shard):
        record = self.get(f"colls/{ns}")[f"colls/{ns}"]
        major = next((m["major"] for m in record["majors"] if m["shard"] == shard), 0)
        return {"e": record["epoch"], "t": record["timestamp"], "v": Timestamp(major, 0)}

    def chunks(self, ns):
        record = self.get(f"colls/{ns}").get(f"colls/{ns}")
        if record is None:
            return None
        chunks = []
        for block in self.get(f"chunks/{record['epoch']}/").values():
            chunks += block["chunks"]
        return chunks

    @staticmethod
    def wait(condition, seconds, what):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise AssertionError(f"not within {seconds} s: {what}")
            time.sleep(0.05)

    def restart(self, shard):
        self.members[shard].kill()
        self.members[shard].start()

    def pause(self, process):
        process.signal(signal.SIGSTOP)

    def close(self):
        for client in self.clients.values():
            client.close()
        for process in [*self.members.values(), self.etcd]:
            process.kill()
            process.log.close()


def encode(text):
    return base64.b64encode(text.encode()).decode()
