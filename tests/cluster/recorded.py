# SPDX-License-Identifier: Apache-2.0
"""Recorded cases: commands and what a real set of three answered, run against a set and compared.

A case has steps {run, db, member, want} and what is compared of the reply: all of it but what no two servers share,
or `pick` (values at paths), `has` (whether there is something at a path), `check` (ok, set, wce), `labels`. Words
that begin with @ stand for names of the set at hand.
"""
import base64
import datetime
import json
import os
import re
import socket
import struct
import time

import bson
from bson import SON, Binary, Code, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.codec_options import CodecOptions

OPTIONS = CodecOptions(document_class=SON, uuid_representation=0)
EPOCH = datetime.datetime(1970, 1, 1)
# Of no two servers the same.
VOLATILE = {"$clusterTime", "operationTime", "opTime", "electionId", "lastCommittedOpTime", "localTime", "connectionId",
            "topologyVersion", "timeMillis", "warning", "notes", "recoveryToken", "readOnly", "numYields", "raw", "millis",
            "collectionUUID", "serverInfo", "serverParameters", "lastWrite", "date", "atClusterTime"}


def date(v):
    """From milliseconds, or a text without a zone."""
    if isinstance(v, str):
        return datetime.datetime.fromisoformat(v.rstrip("Z"))
    return EPOCH + datetime.timedelta(milliseconds=int(v["$numberLong"] if isinstance(v, dict) else v))


def from_json(x):
    """Extended JSON, the canonical form of every type that occurs."""
    if isinstance(x, list):
        return [from_json(v) for v in x]
    if not isinstance(x, dict):
        return x
    if len(x) == 1:
        (name, v), = x.items()
        if name in READERS:
            return READERS[name](v)
    return SON((name, from_json(v)) for name, v in x.items())


READERS = {
    "$oid": ObjectId, "$numberInt": int, "$numberLong": Int64, "$numberDouble": float, "$numberDecimal": Decimal128,
    "$minKey": lambda v: MinKey(), "$maxKey": lambda v: MaxKey(), "$code": Code,
    "$date": lambda v: date(v),
    "$timestamp": lambda v: Timestamp(v["t"], v["i"]),
    "$binary": lambda v: Binary(base64.b64decode(v["base64"]), int(v.get("subType", "00"), 16)),
    "$regularExpression": lambda v: Regex(v["pattern"], v.get("options", "")),
}


def to_json(x):
    if isinstance(x, (list, tuple)):
        return [to_json(v) for v in x]
    if isinstance(x, dict):
        return {name: to_json(v) for name, v in x.items()}
    if x is None or isinstance(x, (bool, str)) and not isinstance(x, Code):
        return x
    if isinstance(x, Int64):
        return {"$numberLong": str(int(x))}
    if isinstance(x, int):
        return x
    if isinstance(x, float):
        text = "NaN" if x != x else repr(x).replace("inf", "Infinity")
        return {"$numberDouble": text}
    if isinstance(x, datetime.datetime):
        return {"$date": {"$numberLong": str((x - EPOCH) // datetime.timedelta(milliseconds=1))}}
    if isinstance(x, Timestamp):
        return {"$timestamp": {"t": x.time, "i": x.inc}}
    if isinstance(x, bytes):
        return {"$binary": {"base64": base64.b64encode(x).decode(), "subType": f"{getattr(x, 'subtype', 0):02x}"}}
    if isinstance(x, Regex):
        letters = [(re.I, "i"), (re.M, "m"), (re.S, "s"), (re.U, "u"), (re.X, "x")]
        options = "".join(letter for flag, letter in letters if x.flags & flag)
        return {"$regularExpression": {"pattern": x.pattern, "options": options}}
    for kind, name in ((ObjectId, "$oid"), (Decimal128, "$numberDecimal"), (Code, "$code")):
        if isinstance(x, kind):
            return {name: str(x)}
    return {"$minKey": 1} if isinstance(x, MinKey) else {"$maxKey": 1} if isinstance(x, MaxKey) else str(x)


class Connection:
    """Sends commands as they are: a driver would add to them."""

    def __init__(self, host):
        name, port = host.rsplit(":", 1)
        self.socket = socket.create_connection((name, int(port)), 60)
        self.requests = 0

    def read(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the member closed the connection")
            data += piece
        return data

    def command(self, database, command):
        self.requests += 1
        body = struct.pack("<IB", 0, 0) + bson.BSON.encode(SON([*command.items(), ("$db", database)]), codec_options=OPTIONS)
        self.socket.sendall(struct.pack("<iiii", 16 + len(body), self.requests, 0, 2013) + body)
        size, = struct.unpack("<i", self.read(16)[:4])
        return bson.BSON(self.read(size - 16)[5:]).decode(OPTIONS)

    def hello(self):
        return self.command("admin", SON(hello=1))

    def close(self):
        self.socket.close()


def at(x, path):
    """The value at a dotted path; # is a length. None: there is none."""
    for part in path.split("."):
        if part == "#":
            x = len(x) if isinstance(x, (list, dict)) else None
        elif isinstance(x, list) and part.isdigit():
            x = x[int(part)] if int(part) < len(x) else None
        else:
            x = x.get(part) if isinstance(x, dict) else None
        if x is None:
            return None
    return x


def as_number(v):
    return float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) else to_json(v)


class Set:
    """The members of a set, the primary first."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.connections = []
        self.find_primary()

    def find_primary(self):
        until = time.monotonic() + 60
        while True:
            self.close()
            self.connections = [Connection(host) for host in self.hosts]
            hellos = [c.hello() for c in self.connections]
            if sum(h["isWritablePrimary"] for h in hellos) == 1:
                break
            assert time.monotonic() < until, "no primary"
            time.sleep(0.2)
        order = sorted(range(len(hellos)), key=lambda i: (not hellos[i]["isWritablePrimary"], hellos[i]["me"]))
        self.connections = [self.connections[i] for i in order]
        self.names = [hellos[i]["me"] for i in order]
        self.set_name = hellos[0]["setName"]

    def close(self):
        for connection in self.connections:
            connection.close()

    def member(self, which):
        """A secondary is asked when it has applied what the primary has; with a ! at once."""
        if which in (None, "primary"):
            return self.connections[0]
        member = self.connections[2 if which.startswith("secondary2") else 1]
        if not which.endswith("!"):
            self.await_level(member)
        return member

    def await_level(self, member):
        wanted = self.connections[0].hello()["lastWrite"]["opTime"]["ts"]
        until = time.monotonic() + 60
        while at(member.hello(), "lastWrite.opTime.ts") < wanted:
            assert time.monotonic() < until, "a secondary does not catch up"
            time.sleep(0.02)


class Case:
    def __init__(self, members, database, case):
        self.set = members
        self.database = database
        self.case = case
        self.session = os.urandom(8)
        self.cursor = Int64(0)
        self.time = self.token = None
        secondaries = [(f"@secondary{'' if i == 0 else i + 1}", name) for i, name in enumerate(members.names[1:])]
        self.words = sorted([("@db", database), ("@set", members.set_name), ("@primary", members.names[0]), *secondaries],
                            key=lambda word: -len(word[0]))

    # --- into a command
    def text(self, text):
        for word, value in self.words:
            text = text.replace(word, value)
        return text

    def put(self, x):
        if isinstance(x, list):
            return [self.put(v) for v in x]
        if isinstance(x, dict):
            if list(x) == ["@reconfig"]:
                return self.reconfig(x["@reconfig"])
            return SON((self.text(name), self.put(v)) for name, v in x.items())
        if isinstance(x, bytes) and x[:8] == b"GOLDCASE":  # sessions are new in every run
            return Binary(self.session + bytes(x)[8:], getattr(x, "subtype", 4))
        if isinstance(x, str) and not isinstance(x, Code):
            known = {"@cursor": self.cursor, "@optime": self.time, "@resume": self.token}
            return known[x] if x in known else self.text(x)
        return x

    def reconfig(self, change):
        """The configuration as it is, changed; members as numbers are those there are, primary first."""
        config = self.set.connections[0].command("admin", SON(replSetGetConfig=1))["config"]
        config["version"] += change.get("bump", 1)
        by_host = {member["host"]: member for member in config["members"]}
        present = [by_host[name] for name in self.set.names]
        wanted = change.get("members", list(range(len(present))))
        if isinstance(wanted, list):
            config["members"] = [self.member(present, one) for one in wanted]
        else:
            config["members"] = wanted
        if "settings" in change:
            config["settings"] = SON([*config.get("settings", {}).items(), *change["settings"].items()])
        config.update(self.put(change.get("set", {})))
        for name in change.get("unset", []):
            config.pop(name, None)
        return config

    def member(self, present, one):
        if isinstance(one, int):
            return present[one]
        if not isinstance(one, list):
            return self.put(one)
        changed = SON(present[one[0]])
        changed.update(self.put(one[1]))
        return SON((name, v) for name, v in changed.items() if v != "@gone")

    # --- out of a reply
    def name(self, text):
        if text == self.set.names[0]:
            return "@primary"
        if text in self.set.names:
            return "@host"
        return "@set" if text == self.set.set_name else text.replace(self.database, "@db")

    def take(self, x):
        if isinstance(x, (list, tuple)):
            return [self.take(v) for v in x]
        if isinstance(x, dict):
            return SON((self.name(name), self.take(v)) for name, v in x.items() if name != "$clusterTime")
        return self.name(x) if isinstance(x, str) and not isinstance(x, Code) else x

    def compared(self, step, reply):
        """Of a reply what the case speaks of."""
        named = self.take(reply)
        has = {path: at(named, path) is not None for path in step.get("has", [])}
        if reply.get("ok") != 1.0:
            out = {"ok": 0, "code": int(reply.get("code", 0)), "codeName": reply.get("codeName")}
            if "has" in step:
                out["has"] = has
            if step.get("labels"):
                out["labels"] = sorted(reply.get("errorLabels", []))
            return out
        if "pick" in step or "has" in step:
            out = {"ok": 1}
            if "pick" in step:
                out["pick"] = {path: as_number(at(named, path)) for path in step["pick"]}
            if "has" in step:
                out["has"] = has
            return out
        check = step.get("check")
        if check == "ok":
            return {"ok": 1}
        if check == "wce":
            error = named.get("writeConcernError") or {}
            return {"ok": 1, "wce": to_json(SON((k, error[k]) for k in ("code", "codeName", "errInfo") if k in error))}
        return self.whole(named, check)

    @staticmethod
    def whole(reply, check):
        out = SON((name, v) for name, v in reply.items() if name not in VOLATILE)
        if "writeErrors" in out:
            out["writeErrors"] = [SON(index=e.get("index"), code=e.get("code")) for e in out["writeErrors"]]
        if "writeConcernError" in out:
            out["writeConcernError"] = SON(code=out["writeConcernError"].get("code"))
        if isinstance(out.get("lastErrorObject"), dict):
            out["lastErrorObject"] = SON(sorted(out["lastErrorObject"].items()))
        if isinstance(out.get("cursor"), dict):
            cursor = {k: v for k, v in sorted(out["cursor"].items()) if k not in ("postBatchResumeToken", "atClusterTime")}
            if "id" in cursor:
                cursor["id"] = int(cursor["id"] != 0)
            out["cursor"] = cursor
        shown = to_json(out)
        for name, v in out.items():  # counters, whatever their width
            if isinstance(v, (int, float)) and not isinstance(v, bool):
                shown[name] = float(v)
        if check == "set":
            cursor = shown.get("cursor", {})
            for rows in (cursor.get("firstBatch"), cursor.get("nextBatch"), shown.get("values")):
                if isinstance(rows, list):
                    rows.sort(key=lambda row: json.dumps(row, sort_keys=True))
        return {name: shown[name] for name in sorted(shown)}

    # --- running
    def special(self, command, member):
        if "$same_hash" in command:
            replies = [self.set.member(which).command(self.database, SON(dbHash=1))
                       for which in ("primary", "secondary", "secondary2")]
            hashes = [(r["md5"], sorted(r["collections"].items())) for r in replies]
            return SON(same=all(h == hashes[0] for h in hashes), members=len(hashes),
                       collections=[name for name, _ in hashes[0][1]], ok=1.0)
        until = time.monotonic() + 60
        while True:  # $state: until the member is what is asked
            hello = member.hello()
            state = "primary" if hello["isWritablePrimary"] else "secondary" if hello["secondary"] else "recovering"
            if state == command["$state"] or time.monotonic() > until:
                return SON(state=state, ok=1.0)
            time.sleep(0.05)

    def send(self, member, database, command):
        return member.command(self.text(database), self.put(from_json(command)))

    def run(self):
        """What differs, or None."""
        primary = self.set.connections[0]
        primary.command(self.database, SON(dropDatabase=1))
        try:
            for collection, documents in self.case.get("setup", {}).items():
                reply = self.send(primary, self.database, {"insert": collection, "documents": documents})
                assert reply["ok"] == 1.0 and "writeErrors" not in reply, reply
            for step in self.case["steps"]:
                if problem := self.step(step):
                    return problem
            return None
        finally:
            for database, command, which in self.case.get("after", []):
                self.send(self.set.member(which.rstrip("!") + "!"), database, command)
            primary.command(self.database, SON(dropDatabase=1))

    def step(self, step):
        member = self.set.member(step.get("member"))
        if list(step["run"])[0] in ("$same_hash", "$state"):
            reply = self.special(step["run"], member)
        else:
            reply = self.send(member, step.get("db", self.database), step["run"])
        self.remember(reply)
        return self.difference(step, reply)

    def remember(self, reply):
        cursor = reply.get("cursor")
        if isinstance(cursor, dict):
            self.cursor = Int64(cursor["id"]) if cursor.get("id") else self.cursor
            self.token = cursor.get("postBatchResumeToken") or self.token
        self.time = reply.get("operationTime") or self.time

    def difference(self, step, reply):
        if step.get("drift"):  # run, not compared: it is another answer since
            return None
        want, got = step["want"], self.compared(step, reply)
        if want.get("ok") == 0 and want.get("code") == 0 and got["ok"] == 0:
            return None
        if json.dumps(want) == json.dumps(got):
            return None
        return f"{json.dumps(step['run'])[:300]}\n    want {json.dumps(want)}\n    got  {json.dumps(got)} {reply.get('errmsg', '')}"


def known_differences(path):
    """{case: reason} of lines `case reason`."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return dict(re.split(r"\s+", line, maxsplit=1) for line in lines)
