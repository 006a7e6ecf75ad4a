# SPDX-License-Identifier: Apache-2.0
"""The application systems at the address of a replica set: their own tests, with the set in the place of a server."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

import counted
from rig import Rig

PROGRAM = os.path.join(os.path.dirname(os.environ["QUIRE"]), "patterns_test")
# Two systems with much to lose, and what each waits for; `all` runs every one.
SOME = "*Transfers*/Served:*Inventory*/Served:*Concerns*/Served:ReportsOfSecondaries*"
FILTER = SOME


class Systems(unittest.TestCase):
    def test_at_a_set(self):
        with tempfile.TemporaryDirectory(prefix="quire-systems-") as folder, Rig(folder) as rig:
            rig.up()
            environment = {**os.environ, "QUIRE_SERVED_AT": rig.uri}
            ran = subprocess.run([PROGRAM, f"--gtest_filter={FILTER}", "--gtest_brief=1"], env=environment, check=False,
                                 capture_output=True, text=True)
            print(ran.stdout[-4000:], flush=True)
            self.assertEqual(0, ran.returncode, ran.stdout[-2000:] + ran.stderr[-2000:])
            passed = re.search(r"PASSED  \] (\d+) tests", ran.stdout)
            self.assertGreater(int(passed.group(1)), 0, "no test was run")


if __name__ == "__main__":
    if "all" in sys.argv:
        sys.argv.remove("all")
        FILTER = "*/Served:ReportsOfSecondaries*"
    counted.main()
