#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py [--fast]: the rules of the tree that a compiler does not check.

- A folder of src/ includes only the folders its row names (and what those may include).
- A library outside the project is included only where its row allows.
- No file over 800 lines, an SPDX line first, no file or folder named util, common, misc, helpers.
- Every header compiles alone (left out with --fast, and where the build shows it).
"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sources import ROOT, cpp_files

# folder -> the folders it may include directly. What it sees beyond them comes through these.
LAYERS = {
    "base": [],
    "bson": ["base"],
    "wire": ["bson"],
    "js": ["bson"],
    "kv": ["base"],
    "request": ["bson"],
    "coord": ["base", "bson"],
    "auth": ["bson"],
    "audit": ["expr"],
    "expr": ["bson", "js"],
    "exec": ["expr", "js"],
    "store": ["kv", "exec", "expr"],
    "pipeline": ["exec", "expr", "auth"],
    "plan": ["pipeline", "store", "exec", "expr"],
    "engine": ["plan", "store", "request", "auth"],
    "command": ["engine", "request", "auth", "audit"],
    "router": ["request", "pipeline", "exec", "wire"],
    "api": ["engine", "command"],
    "server": ["wire", "request"],
    "patterns": [],
    "lab": [],
}

# Headers of macros over the public ones, which every folder may include.
ANYWHERE = {"base/try.h"}

# Header prefix of an outside library -> parts of the paths that may include it.
LIBRARIES = {
    "rocksdb/": ["src/kv/rocks/", "bench/kv_bench.cc"],
    "spdlog/": ["src/base/"],
    "bson/": ["bench/", "tests/"],
    "bid_": ["src/bson/"],
    "pcre2": ["src/expr/"],
    "unicode/": ["src/expr/", "src/auth/"],
    "s2/": ["src/expr/", "src/store/"],
    "libstemmer": ["src/expr/", "src/store/"],
    "jsapi": ["src/js/"],
    "jsfriendapi": ["src/js/"],
    "snappy": ["src/wire/"],
    "zlib": ["src/wire/"],
    "zstd": ["src/wire/"],
    "openssl/": ["src/server/", "src/auth/"],
    "yaml-cpp/": ["apps/", "src/server/"],
    "CLI/": ["apps/"],
    "curl/": ["src/coord/etcd/"],
    "mongoc/": ["bench/", "tests/", "src/api/"],
    "gtest/": ["_test.", "/test_", "/testing/", "kv/conformance.h", "tests/"],
    "gmock/": ["_test.", "/test_", "/testing/", "tests/"],
}

# Where the headers of the driver and of SpiderMonkey are: api, tests, bench and js use them.
FLAGS = subprocess.run(["pkg-config", "--cflags", "libmongoc-1.0", "mozjs-102"],
                       stdout=subprocess.PIPE, text=True).stdout.split()

MAX_LINES = 800
REFUSED_NAMES = re.compile(r"(^|_)(util|utils|common|misc|helper|helpers)(_|$)")
SPDX = "SPDX-License-Identifier: Apache-2.0"
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def reachable(folder):
    seen, todo = {folder}, [folder]
    while todo:
        for below in LAYERS[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def layer_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def check_includes(path, text):
    layer = layer_of(path)
    is_test = path.endswith(("_test.cc", "_fuzz.cc"))
    for quote, header in INCLUDE.findall(text):
        for prefix, places in LIBRARIES.items():
            if quote == "<" and header.startswith(prefix):
                if not any(place in path for place in places):
                    yield f"{path}: <{header}> is allowed only in {', '.join(places)}"
        if quote == "<":
            continue
        target = header.split("/")[0]
        if path.startswith("include/") and target != "quire":
            yield f'{path}: a public header includes "{header}"'
        if (layer and target in LAYERS and target not in reachable(layer)
                and header not in ANYWHERE):
            yield f'{path}: {layer} must not include "{header}"'
        if header.endswith("_internal.h") and layer and target != layer and not is_test:
            yield f'{path}: "{header}" is private to {target}'


def check_file(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{path}: {lines} lines, more than {MAX_LINES}"
    if SPDX not in text.split("\n", 1)[0]:
        yield f"{path}: the first line is not // {SPDX}"
    if path.endswith(".h") and "#pragma once" not in text:
        yield f"{path}: no #pragma once"
    if re.search(r"^\s*using namespace ", text, re.M) and path.endswith(".h"):
        yield f"{path}: using namespace in a header"
    for part in os.path.splitext(path)[0].split("/"):
        if REFUSED_NAMES.search(part):
            yield f"{path}: a file or folder named {part} says nothing"
    yield from check_includes(path, text)


def check_header(path):
    """Compiles the header alone; only its syntax and names, no code."""
    compiled = subprocess.run(
        ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-ignored-attributes",
         "-Iinclude", "-Isrc", "-Itests", *FLAGS, "-x", "c++", "-include", path, "/dev/null"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if compiled.returncode != 0:
        yield f"{path}: does not compile alone\n{compiled.stdout}"


def compiled_first(path):
    """Whether its source includes it first: then the build compiles it behind the standard headers alone."""
    source = os.path.join(ROOT, path[:-2] + ".cc")
    if not os.path.exists(source):
        return False
    with open(source, encoding="utf-8") as file:
        first = INCLUDE.search(file.read())
    return first is not None and first.group(1) == '"' and path.endswith("/" + first.group(2))


def main():
    files = cpp_files()
    problems = [p for path in files for p in check_file(path)]
    if "--fast" not in sys.argv[1:]:
        headers = [p for p in files if p.endswith(".h") and not compiled_first(p)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(lambda p: list(check_header(p)), headers):
                problems += found
    for problem in problems:
        print(problem)
    print(f"{len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
