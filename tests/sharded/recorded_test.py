# SPDX-License-Identifier: Apache-2.0
"""A router answers as a recorded one did: recorded_test.py [AREA [WORD OF A CASE'S NAME]]."""
import json
import os
import sys
import unittest

import counted
import rig
from recorded import known_differences
from sharded_case import Router, ShardedCase

HERE = os.path.dirname(os.path.abspath(__file__))
AREAS = ("target", "read", "agg", "write", "admin", "more")


class Recorded(unittest.TestCase):
    """One test for each case; see add_tests."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = rig.Cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.host = cls.cluster.uri.removeprefix("mongodb://").rstrip("/")
        cls.known = known_differences(f"{HERE}/known_differences.txt")


def test_of(area, number, case):
    def test(self):
        router = Router(self.host)
        self.addCleanup(router.close)
        problem = ShardedCase(router, f"g_{area}_{number}x", case).run()
        reason = self.known.get(f"{area}/{case['name']}")
        if reason:
            self.assertIsNotNone(problem, f"no longer differs, take it off the list: {reason}")
        else:
            self.assertIsNone(problem, problem)
    return test


def add_tests(areas, word):
    for area in areas:
        with open(f"{HERE}/cases/{area}.json", encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        for number, case in enumerate(cases):
            if word in case["name"] and not case.get("drift"):
                name = f"test_{area}_{number:02}_{case['name'].replace('-', '_')}"
                setattr(Recorded, name, test_of(area, number, case))


if __name__ == "__main__":
    chosen = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    add_tests([chosen] if chosen else AREAS, sys.argv.pop(1) if len(sys.argv) > 1 else "")
    counted.main()
