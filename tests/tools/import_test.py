# SPDX-License-Identifier: Apache-2.0
"""quire import: formats, bad records, repetition, resumption after a kill."""
import json
import os
import signal
import subprocess
import time

import counted
from server import Server
from tool import QUIRE, ToolTest

APACHE = ('127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 '
          '"http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"')


class Formats(ToolTest):
    def without_id(self, collection):
        found = self.documents(collection)
        for document in found:
            del document["_id"]
        return found

    def test_apache_log_with_bad_lines(self):
        self.write("access.log", f"{APACHE}\nnonsense\n{APACHE.replace(' 200 ', ' abc ')}\n\n{APACHE}\n")
        summary = self.imported("-c", "hits", "access.log", code=3)
        self.assertEqual(self.counts(summary), [4, 2, 0, 2])
        first = self.without_id("hits")[0]
        self.assertEqual(first["time"], {"$date": "2000-10-10T20:55:36Z"})
        self.assertEqual([first["path"], first["status"], first["logname"]],
                         ["/apache_pb.gif", 200, None])
        kept = [line.split("\t") for line in self.lines("access.log.rejected")]
        self.assertEqual([line[0] for line in kept], ["2", "3"])
        self.assertTrue(kept[0][1].startswith("TooFewFields"), kept)
        self.assertTrue(kept[1][1].startswith("BadStatus"), kept)
        self.assertEqual(kept[0][2], "nonsense")

    def test_csv_cells(self):
        self.write("t.csv", "\ufeffname,zip,a.x,a.y,n\r\n"
                            '"Ann ""A""",01209,1.5,true,3000000000\r\n'
                            '"two\nlines",7,-0,,99999999999999999999\r\n'
                            "short,1\r\n")
        self.assertEqual(self.counts(self.imported("-c", "t", "t.csv", code=3)), [3, 2, 0, 1])
        self.assertEqual(self.without_id("t"), [
            {"name": 'Ann "A"', "zip": "01209", "a": {"x": 1.5, "y": True}, "n": 3000000000},
            {"name": "two\nlines", "zip": 7, "a": {"x": 0, "y": ""}, "n": "99999999999999999999"}])
        # The record before it has two lines.
        self.assertEqual(self.lines("t.csv.rejected"),
                         ["5\tBadColumnCount: 2, expected 5\tshort,1"])

    def test_csv_quote_without_its_end_costs_one_line(self):
        self.write("t.csv", 'a,b\n1,2\n"open,3\n4,5\n6,7\n')
        self.assertEqual(self.counts(self.imported("-c", "t", "t.csv", code=3)), [4, 3, 0, 1])
        self.assertEqual([d["a"] for d in self.without_id("t")], [1, 4, 6])

    def test_csv_with_fields_and_types(self):
        self.write("t.csv", "1,1,2020-01-01T00:00:00Z,1.10,true\n2,x,0,2,maybe\n3,,,,\n")
        fields = "a.string(),b.int64(),c.date(),d.decimal(),e.boolean()"
        summary = self.imported("-c", "t", "--fields", fields, "--columnsHaveTypes", "t.csv", code=3)
        self.assertEqual(self.counts(summary), [3, 2, 0, 1])
        self.assertEqual(self.without_id("t"), [
            {"a": "1", "b": 1, "c": {"$date": "2020-01-01T00:00:00Z"},
             "d": {"$numberDecimal": "1.10"}, "e": True}, {"a": "3"}])

    def test_tsv_and_blanks(self):
        self.write("t.tsv", 'a\tb\n1\t"x\n\t2\n')
        self.imported("-c", "t", "--ignoreBlanks", "t.tsv")
        self.assertEqual(self.without_id("t"), [{"a": 1, "b": '"x'}, {"b": 2}])

    def test_json_lines(self):
        self.write("t.json", b'{"n":{"$numberLong":"5"},"d":{"$date":"2020-01-01T00:00:00Z"}}\n'
                             b'{"n":\n[1]\n{"a":"\xff"}\n{"_id":7}\n{"b":1,"_id":8}')
        self.assertEqual(self.counts(self.imported("-c", "t", "t.json", code=3)), [6, 3, 0, 3])
        self.assertEqual([line.split("\t")[0] for line in self.lines("t.json.rejected")],
                         ["2", "3", "4"])
        self.assertEqual([d["_id"] for d in self.documents("t")[1:]], [7, 8])

    def test_monitor_lines(self):
        self.write("m", "u-1,10.0.0.1,node1,cpu,1369221223384,0.5\nbad\n")
        self.imported("-c", "m", "--type", "monitor", "m", code=3)
        self.assertEqual(self.without_id("m"), [
            {"Host": "node1", "Ip": "10.0.0.1", "Node": "u-1", "ParameterName": "cpu",
             "GeneratedOn": {"$date": "2013-05-22T11:13:43.384Z"}, "Value": 0.5}])

    def test_a_record_over_16_mb_is_set_aside(self):
        big = b'{"s":"' + b"x" * (17 << 20) + b'"}\n'
        self.write("t.json", b'{"n":1}\n' + big + b'{"n":2}\n')
        self.assertEqual(self.counts(self.imported("-c", "t", "t.json", code=3)), [3, 2, 0, 1])
        self.assertTrue(self.lines("t.json.rejected")[0].startswith("2\tlonger than 16 MB"))

    def test_standard_input(self):
        text = b'{"n":1}\n{"n":1}\nbad\n'
        for rounds in (1, 2):
            summary = self.imported("-c", "t", "--type", "json", code=3, stdin=text)
            self.assertEqual(self.counts(summary), [3, 2, 0, 1])
            self.assertEqual(len(self.documents("t")), 2 * rounds)
        self.assertEqual(len(self.lines("stdin.rejected")), 1)

    def test_empty_input(self):
        self.write("t.json", "")
        self.assertEqual(self.counts(self.imported("-c", "t", "t.json")), [0, 0, 0, 0])
        self.write("t.csv", "")
        self.assertIn("no header", self.imported("-c", "t", "t.csv", code=1)["error"])


class Repetition(ToolTest):
    def test_importing_again_adds_nothing(self):
        self.write("t.json", '{"n":1}\n{"_id":1,"n":2}\n')
        self.assertEqual(self.counts(self.imported("-c", "t", "t.json")), [2, 2, 0, 0])
        self.assertEqual(self.counts(self.imported("-c", "t", "t.json")), [2, 0, 2, 0])
        self.write("t.json", '{"n":9}\n{"_id":1,"n":3}\n')
        # The same places, other texts: a new record, and one whose _id is taken.
        self.assertEqual(self.counts(self.imported("-c", "t", "t.json", code=3)), [2, 1, 0, 1])
        self.assertIn("DuplicateKey", self.lines("t.json.rejected")[0])
        self.assertEqual(self.counts(self.imported("-c", "t", "--drop", "t.json")), [2, 2, 0, 0])

    def test_a_growing_log_is_taken_up(self):
        self.write("t.json", '{"n":1}\n{"n":')
        self.imported("-c", "t", "--growing", "t.json")
        self.write("t.json", '{"n":1}\n{"n":2}\n{"n":3}\n')
        summary = self.imported("-c", "t", "--resume", "--growing", "t.json")
        self.assertEqual(self.counts(summary), [2, 2, 0, 0])
        self.assertEqual(summary["resumed_at"], 8)
        self.assertEqual([d["n"] for d in self.documents("t")], [1, 2, 3])

    def test_another_file_is_not_gone_on_with(self):
        self.write("t.json", '{"n":1}\n')
        self.imported("-c", "t", "t.json")
        self.write("t.json", '{"n":2}\n{"n":3}\n')
        self.assertIn("not the file", self.imported("-c", "t", "--resume", "t.json", code=1)["error"])

    def test_named_standard_input_is_resumed(self):
        text = b'{"n":1}\n{"n":2}\n'
        options = ["-c", "t", "--type", "json", "--source", "pipe"]
        self.imported(*options, stdin=text)
        summary = self.imported(*options, "--resume", stdin=text + b'{"n":3}\n')
        self.assertEqual(self.counts(summary), [1, 1, 0, 0])

    def killed_import(self, place, records):
        """Kills an import again and again in the middle until one comes to its end."""
        lines = []
        for n in range(records):
            lines.append('"%d","%s"' % (n, "x\n" * (n % 3)) if n % 100 != 7 else "bad")
        self.write("t.csv", "n,s\n" + "\n".join(lines) + "\n")
        command = [QUIRE, "import", *place, "-c", "t", "--batch", "50", "--resume", "--json", "t.csv"]
        kills = 0
        for attempt in range(200):
            process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE)
            try:
                process.wait(timeout=0.04 + 0.01 * attempt)
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
            finally:
                process.stdout.close()
        self.assertIn(process.returncode, (0, 3))
        print(f"{kills} kills", flush=True)
        self.assertGreater(kills, 0)
        return [n for n in range(records) if n % 100 != 7], [n for n in range(records) if n % 100 == 7]

    def check_killed(self, place, records):
        good, bad = self.killed_import(place, records)
        out, _ = self.quire("export", *place, "-c", "t")
        self.assertEqual(sorted(json.loads(line)["n"] for line in out.splitlines()), good)
        self.assertEqual(len(self.lines("t.csv.rejected")), len(bad))

    def test_killed_imports_lose_and_double_nothing_embedded(self):
        self.check_killed(self.place(), 8_000)

    def test_killed_imports_lose_and_double_nothing_at_an_address(self):
        with Server(self.path("served")) as server:
            self.check_killed(["--uri", server.uri], 8_000)

    def test_the_server_goes_and_comes_back(self):
        self.write("t.json", "".join('{"n":%d}\n' % n for n in range(50_000)))
        with Server(self.path("served")) as server:
            uri = server.uri + "/?serverSelectionTimeoutMS=300"
            command = [QUIRE, "import", "--uri", uri, "-c", "t", "--batch", "20", "t.json"]
            process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(0.3)
            server.stop(signal.SIGKILL)
            self.assertEqual(process.wait(timeout=200), 1)
        with Server(self.path("served")) as server:
            self.quire("import", "--uri", server.uri, "-c", "t", "--resume", "t.json")
            out, _ = self.quire("export", "--uri", server.uri, "-c", "t")
            self.assertEqual(sorted(json.loads(line)["n"] for line in out.splitlines()),
                             list(range(50_000)))


class Usage(ToolTest):
    def test_wrong_command_lines(self):
        self.write("t.json", "{}\n")
        for arguments, message in (
                (["t.json"], "--collection is missing"),
                (["-c", "t"], "give --type"),
                (["-c", "t", "t.xyz"], "give --type"),
                (["-c", "t", "--type", "xml", "t.json"], "no format 'xml'"),
                (["-c", "t", "--type", "json", "--resume"], "needs --source"),
                (["-c", "t", "--drop", "--resume", "t.json"], "exclude each other"),
                (["-c", "t", "--fields", "a", "t.json"], "for csv and tsv"),
                (["-c", "t", "--fields", "a,a", "t.csv"], "exclude each other"),
                (["-c", "t", "--fields", "a,a.b", "t.csv"], "exclude each other"),
                (["-c", "t", "--fields", "a.int()", "--columnsHaveTypes", "t.csv"], "has no type"),
                (["-c", "t", "--batch", "0", "t.json"], "is not between"),
                (["-c", "t", "--nosuch", "t.json"], "unknown option"),
                (["-c", "t", "t.json", "u.json"], "one file at a time"),
                (["-c", "t", "t.json", "--uri", "mongodb://a", "--dbpath", "b"], "exclude each other"),
                (["-c", "t", "t.json", "--uri", "127.0.0.1"], "write mongodb://host:port"),
                (["t.json", "-c"], "needs a value")):
            _, err = self.quire("import", *arguments, code=2)
            self.assertIn(message, err)

    def test_help_names_every_option(self):
        out, _ = self.quire("import", "--help")
        for option in ("--uri", "--dbpath", "--db", "--collection", "--type", "--fields",
                       "--columnsHaveTypes", "--ignoreBlanks", "--drop", "--resume", "--growing",
                       "--source", "--rejects", "--batch", "--json", "--quiet", "Exit codes"):
            self.assertIn(option, out)
        self.assertIn("import", self.quire("--help")[0])

    def test_what_is_not_there(self):
        self.assertIn("cannot open", self.imported("-c", "t", "none.json", code=1)["error"])
        self.assertFalse(os.path.exists(self.path("data")), "nothing is made for it")
        self.write("t.json", "{}\n")
        self.imported("-c", "t", "t.json")
        for path in ("none.json", "folder.json"):  # nothing is dropped for it
            os.makedirs(self.path("folder.json"), exist_ok=True)
            self.assertIn("cannot open", self.imported("-c", "t", "--drop", path, code=1)["error"])
            self.assertEqual(len(self.documents("t")), 1)
        uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300"
        _, err = self.quire("import", "--uri", uri, "-c", "t", "t.json", code=1)
        self.assertIn("HostUnreachable", err)


if __name__ == "__main__":
    counted.main()
