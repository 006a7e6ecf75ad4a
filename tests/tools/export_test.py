# SPDX-License-Identifier: Apache-2.0
"""quire export: formats, queries, files that appear whole, and the way back through import."""
import json
import os
import subprocess

import bson
import pymongo

import counted
from server import Server
from tool import QUIRE, ToolTest

EVERY_TYPE = [
    {"_id": {"$oid": "5f0000000000000000000001"}, "d": {"$numberDouble": "-0.0"},
     "i": {"$numberInt": "1"}, "l": {"$numberLong": "9007199254740993"},
     "m": {"$numberDecimal": "1.10"}, "t": {"$date": {"$numberLong": "-1"}}, "n": None},
    {"_id": {"$numberInt": "2"}, "b": {"$binary": {"base64": "AAE=", "subType": "05"}},
     "r": {"$regularExpression": {"pattern": "a/b", "options": "i"}}, "s": "tab\tquote\"é\u2028",
     "ts": {"$timestamp": {"t": 1, "i": 2}}, "min": {"$minKey": 1}, "max": {"$maxKey": 1},
     "c": {"$code": "f()"}, "a": [{"$numberInt": "1"}, {"x": [True]}], "nan": {"$numberDouble": "NaN"}},
]


class Export(ToolTest):
    def load(self, documents):
        self.write("in.json", "".join(json.dumps(d) + "\n" for d in documents))
        self.imported("-c", "t", "in.json")

    def out(self, *arguments, code=0):
        return self.quire("export", *self.place(), "-c", "t", *arguments, code=code)[0]

    def test_canonical_round_trip(self):
        self.load(EVERY_TYPE)
        text = self.out("--type", "canonical")
        self.assertEqual([json.loads(line) for line in text.split("\n")[:-1]], EVERY_TYPE)
        self.write("again.json", text)
        self.imported("-c", "u", "again.json")
        again, _ = self.quire("export", *self.place(), "-c", "u", "--type", "canonical")
        self.assertEqual(again, text)

    def test_relaxed_round_trip(self):
        self.load([{"_id": 1, "d": 1.5, "l": 3_000_000_000, "t": {"$date": "2020-01-01T00:00:00Z"}}])
        self.assertEqual(self.out(), '{"_id":1,"d":1.5,"l":3000000000,'
                                     '"t":{"$date":"2020-01-01T00:00:00Z"}}\n')

    def test_csv_round_trip(self):
        self.load([{"_id": 1, "s": 'a,"b"\nc', "in": {"x": 1.5}, "zip": "007"},
                   {"_id": 2, "s": "", "in": {"x": 2}, "zip": "9", "a": [4, 5]}])
        fields = "_id,s,in.x,zip"
        self.out("--fields", fields, "-o", "t.csv")
        self.assertEqual(self.lines("t.csv"),
                         ["_id,s,in.x,zip", '1,"a,""b""', 'c",1.5,007', "2,,2,9"])
        self.imported("-c", "back", "t.csv")
        self.assertEqual(self.documents("back"),
                         [{"_id": 1, "s": 'a,"b"\nc', "in": {"x": 1.5}, "zip": "007"},
                          {"_id": 2, "s": "", "in": {"x": 2}, "zip": 9}])
        self.assertEqual(self.out("--type", "tsv", "-f", "_id,a.1,s", "--noHeaderLine"),
                         '1\t\ta,"b"\\nc\n2\t5\t\n')

    def test_query_sort_limit_fields(self):
        self.load([{"_id": n, "n": n % 3, "x": 1} for n in range(10)])
        text = self.out("--query", '{"n": {"$gt": 0}}', "--sort", '{"n": -1, "_id": -1}', "--limit",
                        "2", "--skip", "1", "--fields", "n")
        self.assertEqual(text, '{"_id":5,"n":2}\n{"_id":2,"n":2}\n')

    def test_a_file_appears_whole_or_not_at_all(self):
        self.load([{"_id": 1}])
        self.write("t.json", "before\n")
        self.out("-o", "t.json", "--query", '{"$nosuch": 1}', code=1)
        self.assertEqual(self.lines("t.json"), ["before"])
        self.out("-o", "t.json")
        self.assertEqual(self.lines("t.json"), ['{"_id":1}'])
        self.out("-o", "no/such/folder.json", code=1)
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".part")], [])

    def test_summary(self):
        self.load([{"_id": n} for n in range(3)])
        _, err = self.quire("export", *self.place(), "-c", "t", "--json")
        summary = json.loads(err)
        self.assertEqual([summary["ok"], summary["documents"], summary["bytes"]], [True, 3, 30])

    def test_a_library_has_nothing_to_say(self):
        """As if a process of the same id had been killed: libmongoc's name for its counters is taken."""
        taken = 'touch /dev/shm/mongoc-$$ && exec "$@"'
        tool = subprocess.Popen(["sh", "-c", taken, "sh", QUIRE, "--version"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(os.remove, f"/dev/shm/mongoc-{tool.pid}")
        self.assertEqual(tool.communicate()[1], b"")

    def test_a_folder_that_is_not_there(self):
        _, err = self.quire("export", "--dbpath", self.path("dta"), "-c", "t", "-o", "t.json", code=1)
        self.assertIn("there is no folder", err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_wrong_command_lines(self):
        for arguments, message in (
                ([], "--collection is missing"), (["-c", "t", "--type", "csv"], "need --fields"),
                (["-c", "t", "--query", "{"], "--query"), (["-c", "t", "--sort", "[1]"], "--sort"),
                (["-c", "t", "--type", "xml"], "no format"), (["-c", "t", "x"], "unexpected argument"),
                (["-c", "t", "--noHeaderLine"], "for csv and tsv"),
                (["-c", "t", "--uri", "mongodb://a", "--dbpath", "b"], "exclude each other"),
                (["-c", "t", "--uri", "http://a"], "write mongodb://host:port")):
            _, err = self.quire("export", *arguments, code=2)
            self.assertIn(message, err)
        out, _ = self.quire("export", "--help")
        for option in ("--query", "--sort", "--limit", "--skip", "--fields", "--out", "--type"):
            self.assertIn(option, out)

    def test_at_an_address_and_with_pymongo(self):
        with Server() as server:
            things = pymongo.MongoClient(server.uri).shop.things
            things.insert_many([{"_id": n, "when": bson.Int64(n)} for n in range(3000)])
            uri = server.uri + "/shop"
            text, _ = self.quire("export", "--uri", uri, "-c", "things", "--type", "canonical")
            self.write("t.json", text)
            self.quire("import", "--uri", uri, "-c", "copy", "t.json")
            self.assertEqual(list(things.database.copy.find()), list(things.find()))


if __name__ == "__main__":
    counted.main()
