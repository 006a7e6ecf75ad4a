# SPDX-License-Identifier: Apache-2.0
"""quire demo: every demo at a small size, in memory, in a folder and at an address."""
import json
import xml.etree.ElementTree

import pymongo

import counted
from server import Server
from tool import ToolTest

# Demos whose designs are compared, with how many there are.
DESIGNS = {"contacts": 2, "attributes": 3, "transfers": 2, "events": 5, "reports": 3, "ads": 3,
           "inbox": 3, "comments": 4, "game": 2}


class Demo(ToolTest):
    def names(self):
        out, _ = self.quire("demo", "--list")
        return [line.split()[0] for line in out.splitlines()]

    def demo(self, name, *arguments):
        out, _ = self.quire("demo", name, "--size", "20", "--ops", "200", "--json", *arguments)
        return json.loads(out)

    def check(self, report, name):
        self.assertTrue(report["ok"], report)
        self.assertEqual(len(report["designs"]), DESIGNS.get(name, len(report["designs"])))
        counts = []
        for design in report["designs"]:
            self.assertTrue(design["invariants"], design)
            self.assertTrue(design["queries"], design)
            self.assertGreaterEqual(sum(o["count"] for o in design["operations"]), 200)
            self.assertEqual(sum(o["errors"] for o in design["operations"]), 0)
            for operation in design["operations"]:
                if operation["count"] > 1:
                    self.assertGreaterEqual(operation["commands"], 0, operation)
            counts.append([(o["name"], o["count"]) for o in design["operations"]])
            for query in design["queries"]:
                if (name, query["name"], design["design"]) != ("attributes", "range", "pairs"):
                    self.assertFalse(query["collection_scan"], (name, query))
                    self.assertLessEqual(query["keys"], query["returned"] + 2, (name, query))
        self.assertTrue(all(of_design == counts[0] for of_design in counts), counts)

    def check_svg(self, name):
        root = xml.etree.ElementTree.parse(self.path(f"{name}.svg")).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        self.assertGreater(len(root.findall("{*}rect")), 2)

    def test_every_demo_in_memory(self):
        names = self.names()
        self.assertGreaterEqual(len(names), 18)
        for name in names:
            with self.subTest(name):
                self.check(self.demo(name, "--svg", f"{name}.svg"), name)
                self.check_svg(name)

    def test_the_smallest_size(self):
        for name in self.names():
            with self.subTest(name):
                self.quire("demo", name, "--size", "1", "--ops", "20", "--threads", "1")

    def test_every_demo_at_an_address(self):
        with Server() as server:
            for name in self.names():
                with self.subTest(name):
                    report = self.demo(name, "--uri", server.uri, "--svg", f"{name}.svg")
                    self.check(report, name)
                    self.assertEqual(report["place"], f"at {server.uri}")
                    self.check_svg(name)
            client = pymongo.MongoClient(server.uri)
            self.assertEqual([n for n in client.list_database_names() if "demo" in n], [])
            self.demo("orders", "--uri", server.uri, "--keep", "-d", "mine")
            self.assertEqual(client.mine_orders_one_document.orders.count_documents({}), 20)

    def test_in_a_folder_for_a_time(self):
        out, _ = self.quire("demo", "contacts", *self.place(), "--size", "30", "--seconds", "1")
        self.assertIn("every declared index exists", out)
        self.assertLessEqual(max(len(line) for line in out.splitlines()), 80, out)

    def test_wrong_command_lines(self):
        for arguments, message in (([], "which demo"), (["nosuch"], "no demo 'nosuch'"),
                                   (["inbox", "ads"], "one demo"), (["inbox", "--size", "0"], "--size"),
                                   (["inbox", "--ops", "1", "--seconds", "1"], "exclude each other"),
                                   (["inbox", "--uri", "http://a"], "write mongodb://host:port")):
            _, err = self.quire("demo", *arguments, code=2)
            self.assertIn(message, err)
        out, _ = self.quire("demo", "--help")
        for option in ("--list", "--uri", "--dbpath", "--size", "--threads", "--ops", "--seconds",
                       "--json", "--svg", "--keep", "--quiet"):
            self.assertIn(option, out)


if __name__ == "__main__":
    counted.main()
