# SPDX-License-Identifier: Apache-2.0
"""A sharded cluster of real processes on loopback, and collections that are placed by hand."""
import base64
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.request

import bson
import pymongo
from bson import json_util

QUIRE = os.environ["QUIRE"]


class Cluster:
    """`quire cluster up` in a folder of its own."""

    def __init__(self, shards=2, members=1, routers=1, options=()):
        """`options`: further ones of every member."""
        self.folder = tempfile.TemporaryDirectory(prefix="quire-sharded-")
        self.uri = self.tool("up", "--port", "0", "--shards", str(shards), "--members", str(members),
                             "--routers", str(routers), *(f"--option={o}" for o in options)).splitlines()[-1]
        self.client = pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=20000)

    def tool(self, *arguments):
        result = subprocess.run([QUIRE, "cluster", *arguments, "--dir", self.folder.name + "/c"],
                                capture_output=True, text=True, timeout=180, check=False)
        if result.returncode != 0:
            raise RuntimeError(result.stdout + result.stderr)
        return result.stdout

    def processes(self):
        return {p["name"]: p for p in json.loads(self.tool("status", "--json"))["processes"]}

    def log(self, name):
        """What the process has written so far, whichever of its lives it is."""
        path = f"{self.folder.name}/c/{name.replace('/', '-')}.log"
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def direct(self, name):
        """A client of one process alone."""
        return pymongo.MongoClient("mongodb://" + self.processes()[name]["host"], directConnection=True,
                                   uuidRepresentation="standard")

    def close(self):
        self.client.close()
        self.tool("down")
        self.folder.cleanup()


def start(running, *arguments):
    """The host of a process that ends with the stack."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = running.enter_context(subprocess.Popen(
        [QUIRE, *arguments, "--bind_ip", "127.0.0.1", "--port", str(port), "--nounixsocket"],
        stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT))
    running.callback(process.kill)
    return f"127.0.0.1:{port}"


def new_set(running, name, store, *options):
    """The address of a set of one member that ends with the stack."""
    folder = running.enter_context(tempfile.TemporaryDirectory(prefix="quire-sharded-"))
    host = start(running, "serve", "--dbpath", folder, "--replSet", name, "--coord", store, "--cacheSizeGB", "0.1", *options)
    with pymongo.MongoClient(host, directConnection=True) as member:
        member.admin.command("replSetInitiate", {"_id": name, "members": [{"_id": 0, "host": host}]})
        while not member.admin.command("hello")["isWritablePrimary"]:
            time.sleep(0.05)
    return f"{name}/{host}"


def etcd(host, what, body):
    request = urllib.request.Request(f"http://{host}/v3/kv/{what}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def etcd_values(host, prefix):
    """The documents of the cluster whose keys begin with the prefix, by the rest of the key."""
    key = "/quire/quire/" + prefix
    found = etcd(host, "range", {"key": text(key), "range_end": text(key[:-1] + chr(ord(key[-1]) + 1))})
    return {base64.b64decode(kv["key"]).decode("latin-1")[len(key):]: json_util.loads(base64.b64decode(kv["value"]))
            for kv in found.get("kvs", [])}


def text(value):
    return base64.b64encode(value.encode()).decode()


class Placed:
    """Puts collections onto shards by writing the records of the coordination store, without a coordinator."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.store = cluster.processes()["etcd"]["host"]
        self.shards = {name: cluster.direct(name + "/0") for name in ("s0", "s1")}

    def close(self):
        for client in self.shards.values():
            client.close()

    def put(self, key, document):
        value = json_util.dumps(document, json_options=json_util.CANONICAL_JSON_OPTIONS)
        etcd(self.store, "put", {"key": text("/quire/quire/" + key), "value": text(value)})

    def shard(self, database, collection, key, borders, owners):
        """The collection's chunks end at the borders, each range on its owner; its database is there."""
        namespace = f"{database}.{collection}"
        for client in self.shards.values():
            client[database][collection].drop()
            client[database].create_collection(collection)
        low = {field: bson.MinKey() for field in key}
        high = {field: bson.MaxKey() for field in key}
        points = [low, *borders, high]
        epoch, now = bson.ObjectId(), bson.Timestamp(int(time.time()), 1)
        chunks = [{"min": points[i], "max": points[i + 1], "shard": owners[i], "ver": bson.Timestamp(1, i),
                   "history": [{"since": now, "shard": owners[i]}]} for i in range(len(owners))]
        self.put(f"chunks/{epoch}/00", {"chunks": chunks})
        self.put(f"colls/{namespace}", {
            "ns": namespace, "uuid": bson.Binary(os.urandom(16), 4), "key": key, "unique": False, "epoch": epoch,
            "timestamp": now, "ver": bson.Timestamp(1, len(owners)),
            "majors": [{"shard": s, "major": 1} for s in sorted(set(owners))], "layout": 0, "noBalance": False,
            "allowMigrations": True, "enableAutoMerge": True, "state": "live"})
        self.cluster.client.admin.command("flushRouterConfig")

    def stored(self, database, collection):
        """How many documents each shard has."""
        return {name: client[database][collection].count_documents({}) for name, client in self.shards.items()}
