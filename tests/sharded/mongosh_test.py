# SPDX-License-Identifier: Apache-2.0
"""mongosh on a router over two sets of three: the walk through docs/sharding.md word for word, its helpers for shards, and
what they print by shape."""
import json
import os
import re
import subprocess
import tempfile
import unittest

import counted
import rig

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
NODE = os.path.join(ROOT, "tests/drivers/node")
CLUSTER = None

# What a helper gives by its name; the function tells whether that is right.
HELPERS = """
  sh.enableSharding("helped", "s1")                                       => r => r.ok === 1
  sh.shardCollection("helped.c", {"a.b": 1, at: 1})                       => r => r.collectionsharded === "helped.c"
  sh.splitAt("helped.c", {"a.b": 100, at: MinKey()})                      => r => r.ok === 1
  sh.moveChunk("helped.c", {"a.b": 150, at: 0}, "s0")                     => r => r.ok === 1
  sh.moveRange("helped.c", "s0", {"a.b": 10, at: 0}, {"a.b": 20, at: 0})  => r => r.ok === 1
  db.getSiblingDB("helped").c.insertMany([...Array(200).keys()].map(i => ({a: {b: i}, at: 1}))) => r => r.acknowledged
  sh.splitFind("helped.c", {"a.b": 150, at: 0})                           => r => r.ok === 1
  chunks("helped.c")                                                      => r => r.join() === "s1,s0,s1,s0,s0"
  sh.addShardTag("s1", "EU")                                              => r => r.ok === 1
  sh.addTagRange("helped.c", {"a.b": 0}, {"a.b": 10}, "EU")               => r => r.ok === 1
  db.getSiblingDB("config").tags.findOne({ns: "helped.c"})                => r => r.tag === "EU" && r.min.at instanceof MinKey
  sh.status().value.databases.find(d => d.database._id === "helped").collections["helped.c"].tags => r => r.length === 1
  sh.removeTagRange("helped.c", {"a.b": 0}, {"a.b": 10}, "EU")            => r => r.ok === 1
  sh.removeShardTag("s1", "EU")                                           => r => r.ok === 1
  sh.addShardToZone("s0", "US")                                           => r => r.ok === 1
  sh.updateZoneKeyRange("helped.c", {"a.b": 0}, {"a.b": 10}, "US")        => r => r.ok === 1
  sh.removeRangeFromZone("helped.c", {"a.b": 0}, {"a.b": 10})             => r => r.ok === 1
  sh.removeShardFromZone("s0", "US")                                      => r => r.ok === 1
  sh.stopBalancer()                                                       => r => r.ok === 1
  sh.getBalancerState()                                                   => r => r === false
  sh.startBalancer()                                                      => r => r.ok === 1
  sh.getBalancerState()                                                   => r => r === true
  sh.isBalancerRunning()                                                  => r => r.mode === "full" && r.inBalancerRound === false
  sh.disableBalancing("helped.c")                                         => r => r.modifiedCount === 1
  sh.balancerCollectionStatus("helped.c")                                 => r => r.ok === 1 && r.chunkSize === 128
  sh.enableBalancing("helped.c")                                          => r => r.modifiedCount === 1
  sh.disableAutoMerger("helped.c")                                        => r => r.modifiedCount === 1
  sh.enableAutoMerger("helped.c")                                         => r => r.modifiedCount === 1
  sh.listShards()                                                         => r => r.map(s => s._id).join() === "s0,s1"
  db.adminCommand({getShardMap: 1})                                       => r => Object.keys(r.hosts).length === 6
  db.adminCommand({flushRouterConfig: 1})                                 => r => r.flushed
  db.getSiblingDB("helped").c.getShardVersion()                           => r => r.version instanceof Timestamp
  db.getSiblingDB("helped").c.stats()                                     => r => r.sharded && r.count === 200
  db.getSiblingDB("helped").c.getShardDistribution().value.Totals         => r => r.docs === 200 && r.chunks === 5
  db.printShardingStatus().value.balancer["Currently enabled"]            => r => r === "yes"
  db.adminCommand({mergeChunks: "helped.c", bounds: [{"a.b": 150, at: 1}, {"a.b": MaxKey(), at: MaxKey()}]}) => r => r.ok === 1
  db.getSiblingDB("config").changelog.countDocuments({ns: "helped.c"})    => r => r >= 4
  db.getSiblingDB("helped").dropDatabase()                                => r => r.ok === 1
"""
FUNCTIONS = """
  function chunks(ns) {
    const config = db.getSiblingDB("config");
    return config.chunks.find({uuid: config.collections.findOne({_id: ns}).uuid}).sort({min: 1}).toArray().map(c => c.shard);
  }
"""
STATUS = ["shardingVersion", "shards", "active mongoses", "autosplit", "balancer", "shardedDataDistribution", "databases"]


def setUpModule():
    global CLUSTER
    subprocess.run([os.path.join(NODE, "install")], check=True)
    CLUSTER = rig.Cluster(members=3)


def tearDownModule():
    CLUSTER.close()


def mongosh(script):
    """What it prints."""
    with tempfile.TemporaryDirectory(prefix="quire-mongosh-") as home:
        path = home + "/script.js"
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        done = subprocess.run([os.path.join(NODE, "node_modules/.bin/mongosh"), CLUSTER.uri, "--quiet", path],
                              env={**os.environ, "HOME": home}, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


def walk():
    """The lines of the walk through docs/sharding.md, and what its comments say that they print."""
    with open(os.path.join(ROOT, "docs/sharding.md"), encoding="utf-8") as file:
        block = re.search(r"## A walk through two shards\n\n```\n(.*?)```", file.read(), re.S).group(1)
    for line in block.splitlines():
        code, _, comment = line.partition("//")
        yield code.strip(), comment.strip()


class Mongosh(unittest.TestCase):
    def test_the_walk_through(self):
        lines = list(walk())
        script = "".join(
            f"r = {code}\nprint(JSON.stringify([{i}, typeof r === 'string' ? r : Object.keys(r.value || r)]))\n"
            if not code.startswith("db = ") else code + "\n" for i, (code, _) in enumerate(lines))
        printed = dict(json.loads(line) for line in mongosh(script).splitlines() if line.startswith("["))
        for i, (code, comment) in enumerate(lines):
            if comment.isupper():
                self.assertEqual(comment, printed[i], code)
        self.assertEqual(STATUS, printed[len(lines) - 1])
        distribution = next(printed[i] for i, (code, _) in enumerate(lines) if "getShardDistribution" in code)
        self.assertEqual(["Shard s0", "Shard s1", "Totals"], [name.split(" at ")[0] for name in distribution])

    def test_helpers(self):
        cases = [re.split(r"\s+=> (?=r => )", line.strip()) for line in HELPERS.strip().splitlines()]
        script = FUNCTIONS + "".join(f"""
            try {{
              const r = {code};
              if (!({right})(r)) print("WRONG", {json.dumps(code)}, EJSON.stringify(r));
            }} catch (e) {{ print("WRONG", {json.dumps(code)}, e.message); }}""" for code, right in cases)
        self.assertEqual([], [line for line in mongosh(script).splitlines() if line.startswith("WRONG")])


if __name__ == "__main__":
    counted.main()
