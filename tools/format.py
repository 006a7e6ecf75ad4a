#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""format.py [--check]: formats every C++ file of the repo with clang-format, or prints the patch
that would and fails when there is one."""
import difflib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sources import ROOT, cpp_files

# The version whose result counts: others break lines elsewhere.
CLANG_FORMAT = shutil.which("clang-format-14") or "clang-format"


PARTS = 16


def is_clean(files):
    """Whether all of the files are formatted."""
    return subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", *files], cwd=ROOT, stderr=subprocess.DEVNULL).returncode == 0


def formatted(path):
    return subprocess.run([CLANG_FORMAT, path], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def check(path):
    with open(os.path.join(ROOT, path), "rb") as file:
        before = file.read()
    after = formatted(path)
    if before == after:
        return ""
    return "".join(
        difflib.unified_diff(
            before.decode().splitlines(True), after.decode().splitlines(True), "a/" + path, "b/" + path))


def main():
    files = cpp_files()
    if "--check" not in sys.argv[1:]:
        subprocess.run([CLANG_FORMAT, "-i", *files], cwd=ROOT, check=True)
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        # Starting clang-format takes longer than most files do, so one looks at many.
        parts = [files[number::PARTS] for number in range(PARTS)]
        doubtful = [path for part, clean in zip(parts, pool.map(is_clean, parts)) if not clean for path in part]
        patches = [p for p in pool.map(check, doubtful) if p]
    for patch in patches:
        print(patch, end="")
    if patches:
        print(f"{len(patches)} of {len(files)} files are not formatted: run ./dev fmt")
    return 1 if patches else 0


if __name__ == "__main__":
    sys.exit(main())
