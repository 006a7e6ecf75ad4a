#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py [FILE...]: clang-tidy with .clang-tidy's checks over the given sources, or over all that
build/compile_commands.json names; tests only when given by name. A source that passed is not
looked at again until it, a header of the repo, or the checks change. The build's precompiled headers
are left out: what a source does not include itself is an error here."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sources import ROOT, cpp_files

CLANG_TIDY = shutil.which("clang-tidy-14") or "clang-tidy"
PASSED = os.path.join(ROOT, "build", "tidy")
PRECOMPILED = re.compile(r" -Winvalid-pch -include \S+/cmake_pch\.hxx")
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def headers_of(path, seen):
    """The repo's headers that `path` includes, directly or not."""
    for name in INCLUDE.findall(read(path)):
        for folder in ("include", "src"):
            header = os.path.join(ROOT, folder, name.decode())
            if header not in seen and os.path.exists(header):
                seen.add(header)
                headers_of(header, seen)
    return seen


def fingerprint(path):
    digest = hashlib.sha256(read(os.path.join(ROOT, ".clang-tidy")))
    for part in [path, *sorted(headers_of(path, set()))]:
        digest.update(read(part))
    return digest.hexdigest()


def tidy(path):
    mark = os.path.join(PASSED, fingerprint(path))
    if os.path.exists(mark):
        return path, True, ""
    done = subprocess.run(
        [CLANG_TIDY, "--quiet", "-p", PASSED, "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-align-mismatch",
         # Else its preprocessor of modules knows no builtins, and SpiderMonkey's headers give up.
         "--extra-arg=-Xclang", "--extra-arg=-fno-cxx-modules", path],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode == 0:
        open(mark, "w").close()
    return path, done.returncode == 0, done.stdout


def compile_commands():
    """The build's commands without precompiled headers, written where clang-tidy finds them."""
    commands = json.loads(read(os.path.join(ROOT, "build", "compile_commands.json")))
    for entry in commands:
        entry["command"] = PRECOMPILED.sub("", entry["command"]).replace(" -fpch-preprocess", "")
    os.makedirs(PASSED, exist_ok=True)
    with open(os.path.join(PASSED, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(commands, file)
    return commands


def main():
    known = {entry["file"] for entry in compile_commands()}
    if sys.argv[1:]:
        files = [os.path.abspath(f) for f in sys.argv[1:]]
    else:
        files = [os.path.join(ROOT, f) for f in cpp_files((".cc",)) if not f.endswith("_test.cc")]
    files = [f for f in files if f in known]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (path, ok, output) in enumerate(pool.map(tidy, files), 1):
            name = os.path.relpath(path, ROOT)
            print(f"[{number}/{len(files)}] {name}{'' if ok else ' FAILED'}", flush=True)
            if not ok:
                failed += 1
                print(output, flush=True)
    print(f"{len(files)} sources, {failed} with warnings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
