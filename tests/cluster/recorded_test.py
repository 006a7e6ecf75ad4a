# SPDX-License-Identifier: Apache-2.0
"""A set answers as a recorded one did."""
import json
import os
import sys
import tempfile
import unittest

import counted
from recorded import Case, Set, known_differences
from rig import Rig

HERE = os.path.dirname(os.path.abspath(__file__))


class Recorded(unittest.TestCase):
    """One test for each case; see cases_of."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="quire-recorded-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.rig = Rig(cls.folder.name)
        cls.addClassCleanup(cls.rig.close)
        cls.rig.up()
        cls.known = known_differences(f"{HERE}/known_differences.txt")


def test_of(number, case):
    def test(self):
        members = Set([member.host for member in self.rig.members])
        self.addCleanup(members.close)
        problem = Case(members, f"g_replset_{number}x", case).run()
        reason = self.known.get(case["name"])
        if reason:
            self.assertIsNotNone(problem, f"no longer differs, take it off the list: {reason}")
        else:
            self.assertIsNone(problem, problem)
    return test


def add_tests(word):
    with open(f"{HERE}/cases/replset.json", encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    for number, case in enumerate(cases):
        if word in case["name"]:
            setattr(Recorded, f"test_{number:02}_{case['name'].replace('-', '_')}", test_of(number, case))


if __name__ == "__main__":
    add_tests(sys.argv.pop(1) if len(sys.argv) > 1 else "")
    counted.main()
