# SPDX-License-Identifier: Apache-2.0
"""mongosh's helpers at a set print what they printed at a recorded one: the same fields of the same types, and the same
values where no two sets differ."""
import json
import os
import re
import subprocess
import tempfile
import unittest

import counted

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = os.path.join(HERE, "../drivers/node")
QUIRE = os.environ["QUIRE"]

# What a set of version 8.0 answers otherwise than the recorded one of 4.4; a dot in front: at any depth.
GONE = {
    ".slaveDelay": "secondaryDelaySecs since 5.0",
    "rs.status.optimes.readConcernMajorityWallTime": "not told since 5.0",
}
NEW = {
    ".secondaryDelaySecs": "int64", ".$clusterTime": "document", ".operationTime": "timestamp",
    "rs.status.optimes.writtenOpTime": "document", ".lastWrittenWallTime": "date", ".optimeWritten": "document",
    ".optimeWrittenDate": "date", ".lastSeenWrittenOpTimeAtElection": "document",
}
# Values that are the same in every set of three whose first member leads its first term.
SAME = ["rs.conf.term", "rs.conf.protocolVersion", "rs.conf.writeConcernMajorityJournalDefault",
        "rs.conf.members.1.arbiterOnly", "rs.conf.members.1.buildIndexes", "rs.conf.members.1.hidden",
        "rs.conf.members.1.priority", "rs.conf.members.1.tags", "rs.conf.members.1.votes", "rs.conf.settings.chainingAllowed",
        "rs.conf.settings.heartbeatTimeoutSecs", "rs.conf.settings.electionTimeoutMillis",
        "rs.conf.settings.catchUpTimeoutMillis", "rs.conf.settings.catchUpTakeoverDelayMillis",
        "rs.conf.settings.getLastErrorModes", "rs.conf.settings.getLastErrorDefaults", "rs.status.myState", "rs.status.term",
        "rs.status.syncSourceHost", "rs.status.syncSourceId", "rs.status.majorityVoteCount", "rs.status.writeMajorityCount",
        "rs.status.votingMembersCount", "rs.status.writableVotingMembersCount",
        "rs.status.electionCandidateMetrics.lastElectionReason", "rs.status.electionCandidateMetrics.electionTerm",
        "rs.status.electionCandidateMetrics.lastSeenOpTimeAtElection.t",
        "rs.status.electionCandidateMetrics.lastCommittedOpTimeAtElection.t",
        "rs.status.electionCandidateMetrics.numVotesNeeded", "rs.status.electionCandidateMetrics.electionTimeoutMillis",
        "rs.status.electionCandidateMetrics.numCatchUpOps", "rs.status.members.0.health", "rs.status.members.0.state",
        "rs.status.members.0.stateStr", "rs.status.members.0.infoMessage", "rs.status.members.0.self",
        "rs.status.members.1.health", "rs.status.members.1.state", "rs.status.members.1.stateStr",
        "rs.status.members.1.lastHeartbeatMessage", "rs.status.ok", "db.hello.isWritablePrimary", "db.hello.secondary",
        "db.hello.electionId", "db.hello.maxBsonObjectSize", "db.hello.maxMessageSizeBytes", "db.hello.maxWriteBatchSize",
        "db.hello.logicalSessionTimeoutMinutes", "db.hello.minWireVersion", "db.hello.readOnly", "db.hello.ok"]
SCRIPT = """
  print(EJSON.stringify({"rs.conf": rs.conf(), "rs.status": rs.status(), "db.hello": db.hello(),
                         log: rs.printReplicationInfo().value, lag: rs.printSecondaryReplicationInfo().value},
                        {relaxed: false}))
"""


def kind(x):
    """The BSON type of canonical extended JSON."""
    if isinstance(x, dict) and len(x) == 1 and next(iter(x)).startswith("$"):
        name = next(iter(x))[1:]
        return {"numberInt": "int32", "numberLong": "int64", "numberDouble": "double", "oid": "objectId"}.get(name, name)
    return {dict: "document", list: "array", str: "string", bool: "bool", type(None): "null"}[type(x)]


def flat(x, path):
    """(path, type) of everything in it, in its order."""
    yield path, kind(x)
    if kind(x) in ("document", "array"):
        for name, value in x.items() if isinstance(x, dict) else enumerate(x):
            yield from flat(value, f"{path}.{name}")


def at(x, path):
    root = next(name for name in x if path.startswith(name + "."))
    x = x[root]
    for part in path[len(root) + 1:].split("."):
        x = x[int(part)] if isinstance(x, list) else x[part]
    return x


def listed(path, names):
    """The name in `names` of the path or of what it lies in; None: there is none."""
    parts = re.split(r"\.(?=[^.])", path)
    for i in range(len(parts)):
        if (whole := ".".join(parts[:i + 1])) in names:
            return whole
        if (last := "." + parts[i]) in names:
            return last
    return None


class Mongosh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([os.path.join(NODE, "install")], check=True)
        cls.folder = tempfile.TemporaryDirectory(prefix="quire-mongosh-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(lambda: cls.cluster("down"))
        cls.uri = cls.cluster("up", "--members", "3", "--port", "0").splitlines()[-1]
        with open(f"{HERE}/cases/mongosh.json", encoding="utf-8") as file:
            cls.recorded = json.load(file)
        cls.now = cls.shell(cls.uri)

    @classmethod
    def cluster(cls, *job):
        return subprocess.run([QUIRE, "cluster", *job, "--dir", cls.folder.name + "/c"], check=True, capture_output=True,
                              text=True, timeout=180).stdout

    @classmethod
    def shell(cls, uri):
        done = subprocess.run([f"{NODE}/node_modules/.bin/mongosh", uri, "--quiet", "--eval", SCRIPT],
                              env={**os.environ, "HOME": cls.folder.name}, capture_output=True, text=True, timeout=120,
                              check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_the_same_fields_of_the_same_types(self):
        for helper, recorded in self.recorded.items():
            # Doubles that are whole are printed as integers.
            integers = {"double": "int32"}
            then = [(p, integers.get(k, k)) for p, k in flat(recorded, helper) if not listed(p, GONE)]
            now = [(p, integers.get(k, k)) for p, k in flat(self.now[helper], helper)]
            for path, found in now:
                if (name := listed(path, NEW)) and path.endswith(name):
                    self.assertEqual(NEW[name], found, path)
            # Since 5.0 the configuration tells its members before the rest.
            self.assertEqual(sorted(then), sorted(entry for entry in now if not listed(entry[0], NEW)))

    def test_the_same_values(self):
        for path in SAME:
            now, then = at(self.now, path), at(self.recorded, path)
            if kind(now) in ("int32", "double") and kind(then) in ("int32", "double"):
                now, then = float(*now.values()), float(*then.values())
            self.assertEqual(then, now, path)

    def test_what_is_new_is_there(self):
        paths = [path for helper in self.recorded for path, _ in flat(self.now[helper], helper)]
        for name in NEW:
            self.assertTrue(any(path.endswith(name) for path in paths), name)

    def test_the_log_and_the_lag(self):
        self.assertEqual({"actual oplog size", "configured oplog size", "log length start to end", "oplog first event time",
                          "oplog last event time", "now"}, set(self.now["log"]))
        self.assertRegex(json.dumps(self.now["lag"]), r"0 secs \(0 hrs\) behind the primary")

    def test_at_a_secondary(self):
        host = next(m["name"] for m in self.now["rs.status"]["members"] if m["stateStr"] == "SECONDARY")
        told = self.shell(f"mongodb://{host}/?directConnection=true")
        status = told["rs.status"]
        self.assertEqual({"$numberInt": "2"}, status["myState"])
        self.assertNotIn("electionCandidateMetrics", status)
        self.assertNotIn("electionId", told["db.hello"])
        self.assertEqual(self.now["db.hello"]["primary"], told["db.hello"]["primary"])
        self.assertEqual(self.now["rs.conf"], told["rs.conf"])


if __name__ == "__main__":
    counted.main()
