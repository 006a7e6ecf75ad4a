#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""unit_tests.py FOLDER: runs every GoogleTest program of a build folder, as many at once as there
are processors, the long ones first and in parts; prints the output of those that fail and, last,
`N passed, N failed`."""
import glob
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

TIMEOUT_SECONDS = int(os.environ.get("QUIRE_TEST_TIMEOUT", "900"))  # of a program, or a part of one
# Programs that take long, and into how many parts GoogleTest divides their tests.
PARTS = {"patterns_test": 5}
# Programs whose tests open the store that QUIRE_TEST_STORAGE names (kv/testing/test_store.h), and the names beside
# the default one that they are run with.
STORAGES = {"store_test": ["memory:"], "plan_test": ["memory:"], "command_test": ["memory:"]}


def parts_of(program):
    """(program, storage or None, number of the part, parts)"""
    count = PARTS.get(os.path.basename(program), 1)
    storages = [None, *STORAGES.get(os.path.basename(program), [])]
    return [(program, storage, number, count) for storage in storages for number in range(count)]


def run(part):
    program, storage, number, count = part
    environment = dict(os.environ, GTEST_TOTAL_SHARDS=str(count), GTEST_SHARD_INDEX=str(number))
    if storage is not None:
        environment["QUIRE_TEST_STORAGE"] = storage
    started = time.monotonic()
    try:
        done = subprocess.run(
            [program, "--gtest_brief=1"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_SECONDS,
            env=environment,
        )
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as expired:
        code, output = -1, (expired.stdout or b"") + b"\ntimed out\n"
    name = os.path.basename(program) + (f" {number + 1}/{count}" if count > 1 else "")
    name += f" {storage}" if storage is not None else ""
    return name, code, output.decode(errors="replace"), time.monotonic() - started


def main():
    programs = sorted(p for p in glob.glob(os.path.join(sys.argv[1], "*_test")) if os.access(p, os.X_OK))
    programs.sort(key=lambda p: -len(parts_of(p)))
    parts = [part for program in programs for part in parts_of(program)]
    total_passed = total_failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, code, output, seconds in pool.map(run, parts):
            passed = sum(map(int, re.findall(r"\[  PASSED  \] (\d+) test", output)))
            failed = sum(map(int, re.findall(r"\[  FAILED  \] (\d+) test", output)))
            if code != 0:
                failed = max(failed, 1)
                print(output[-8000:])
            print(f"{name:22} {passed} passed, {failed} failed, {seconds:.1f}s", flush=True)
            total_passed += passed
            total_failed += failed
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
