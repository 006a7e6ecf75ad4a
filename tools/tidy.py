#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py [FILE...]: clang-tidy with .clang-tidy's checks over the given sources, or over all that
are built; tests only when given by name. A source that passed is not looked at again until it, a
header of the repo, or the checks change.

Most of a run's time goes into the headers, so sources that share their options and no names of their own are
read together, and in halves when the batch does not pass: two of them may not get along, or one has a fault. The
build's precompiled headers are left out."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed

from batches import batches_of
from sources import ROOT, cpp_files

CLANG_TIDY = shutil.which("clang-tidy-14") or "clang-tidy"
PASSED = os.path.join(ROOT, "build", "tidy")
COMMANDS = os.path.join(ROOT, "build", "commands")
BATCH = 24
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


def mark_of(path):
    """The file that exists once the source passed as it is now."""
    digest = hashlib.sha256(read(os.path.join(ROOT, ".clang-tidy")))
    for part in [path, *sorted(headers_of(path, set()))]:
        digest.update(read(part))
    return os.path.join(PASSED, digest.hexdigest())


def clang_tidy(path, *arguments):
    return subprocess.run(
        [CLANG_TIDY, "--quiet", "-p", PASSED, "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-align-mismatch", "--extra-arg=-Wthread-safety",
         # Else its preprocessor of modules knows no builtins, and SpiderMonkey's headers give up.
         "--extra-arg=-Xclang", "--extra-arg=-fno-cxx-modules", *arguments, path],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def write_batch(members, together):
    with open(together, "w", encoding="utf-8") as file:
        file.writelines(f'#include "{path}"\n' for path in members)


def tidy(members, together):
    """[(path, what clang-tidy says; empty when it is content)] of the sources, `together` a file to include them."""
    if len(members) == 1:
        done = clang_tidy(members[0])
        return [(members[0], done.stdout if done.returncode != 0 else "")]
    write_batch(members, together)
    if clang_tidy(together, "--extra-arg=-Wfatal-errors").returncode == 0:
        return [(path, "") for path in members]
    middle = len(members) // 2
    return tidy(members[:middle], together) + tidy(members[middle:], together)


def compile_commands():
    """The build's commands without precompiled headers, and the options of each source. The build folder itself may
    have been made with sources in groups, which then have no command of their own."""
    subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", COMMANDS], check=True, stdout=subprocess.DEVNULL)
    commands = json.loads(read(os.path.join(COMMANDS, "compile_commands.json")))
    options = {}
    for entry in commands:
        entry["command"] = PRECOMPILED.sub("", entry["command"]).replace(" -fpch-preprocess", "")
        options[entry["file"]] = re.sub(r" -o \S+ -c \S+$", "", entry["command"])
    return commands, options


def name_batches(batches, commands, options):
    """The source that is to stand for each batch, and the commands of all of them, where clang-tidy finds them."""
    os.makedirs(PASSED, exist_ok=True)
    sources = []
    for number, members in enumerate(batches):
        source = os.path.join(PASSED, f"batch_{number}.cc")
        commands.append({"directory": os.path.join(ROOT, "build"), "file": source,
                         "command": f"{options[members[0]]} -c {source}"})
        sources.append(source)
    with open(os.path.join(PASSED, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(commands, file)
    return sources


def main():
    commands, options = compile_commands()
    if sys.argv[1:]:
        files = [os.path.abspath(f) for f in sys.argv[1:]]
    else:
        files = [os.path.join(ROOT, f) for f in cpp_files((".cc",)) if not f.endswith("_test.cc")]
    files = [f for f in files if f in options]
    marks = {path: mark_of(path) for path in files}
    batches = batches_of([path for path in files if not os.path.exists(marks[path])], BATCH, options)
    sources = name_batches(batches, commands, options)
    done = len(files) - sum(len(members) for members in batches)
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for finished in as_completed(pool.submit(tidy, *batch) for batch in zip(batches, sources)):
            for path, said in finished.result():
                done += 1
                if said:
                    failed += 1
                    print(f"{os.path.relpath(path, ROOT)} FAILED\n{said}", flush=True)
                else:
                    open(marks[path], "w").close()
            print(f"[{done}/{len(files)}]", flush=True)
    print(f"{len(files)} sources, {failed} with warnings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
