# SPDX-License-Identifier: Apache-2.0
"""Runs a module's unittest cases and prints `N passed, N failed` as the last line."""
import sys
import unittest


def main():
    program = unittest.main(module="__main__", exit=False, verbosity=1)
    failed = program.result.failures + program.result.errors  # parts of one test count as one
    bad = len({getattr(test, "test_case", test).id() for test, _ in failed})
    sys.stdout.flush()
    sys.stderr.flush()
    print(f"{program.result.testsRun - bad} passed, {bad} failed", flush=True)
    sys.exit(1 if bad else 0)
