#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py [--fast | --figures]: the rules of the tree that a compiler does not check; or its size and shape.

- A folder of src/ includes directly only the folders its row names; its tests, what those may include, too.
- What lies in a folder testing/ is included by tests alone.
- A folder has at most 40 sources and headers; no two sub-folders of a folder include each other; within a folder no
  unit (x.h with x.cc) includes itself by way of others.
- Every folder has a row, every row a folder, and what a row allows is used; the table of docs/architecture.md says the
  same, and the README of a folder names its sub-folders.
- A library outside the project is included only where its row allows, and every such permission is used.
- No std::hash of strings in store, kv and exec: clients choose the keys (base/keyed_hash.h).
- No file over 800 lines, an SPDX line first, no file or folder named util, common, misc, helpers.
- Every header compiles alone (left out with --fast, and where the build shows it): public ones with nothing before
  them, the others behind the standard headers that the build has precompiled, when it has.
"""
import collections
import os
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from sources import ROOT, cpp_files

# folder -> the folders it may include directly.
LAYERS = {
    "base": [],
    "bson": ["base"],
    "wire": ["base", "bson"],
    "js": ["base", "bson"],
    "kv": ["base"],
    "request": ["base", "bson"],
    "coord": ["base", "bson"],
    "auth": ["base", "bson"],
    "expr": ["base", "bson", "js"],
    "audit": ["base", "bson", "expr"],
    "exec": ["base", "bson", "js", "expr"],
    "run": ["base", "bson", "exec", "expr", "auth", "request"],
    "store": ["base", "bson", "kv", "exec", "expr"],
    "pipeline": ["base", "bson", "exec", "expr", "auth"],
    # kv: which way a scan goes.
    "plan": ["base", "bson", "kv", "pipeline", "store", "exec", "expr"],
    # store, plan: bounds of a filter on a shard key are those of an index with that key.
    "placement": ["base", "bson", "expr", "store", "plan"],
    "tls": ["base"],
    "peer": ["base", "bson", "wire", "auth", "request", "tls"],
    # kv: it owns the open store, and keeps sessions there beside the documents.
    # placement: what a shard knows of its collections.
    "engine": ["base", "bson", "js", "kv", "expr", "exec", "store", "pipeline", "plan", "placement",
               "request", "run", "auth"],
    "repl": ["base", "bson", "coord", "peer", "request", "engine"],
    # plan: how messages show keys.
    "shard": ["base", "bson", "coord", "peer", "placement", "request", "run", "store", "engine"],
    # expr, js, pipeline, plan: filters of its own, parameters of scripts, and what the stages of a pipeline need.
    # store: the catalog that the engine shows.
    "command": ["base", "bson", "js", "expr", "store", "pipeline", "plan", "placement", "engine", "run", "request", "auth", "audit"],
    "remote": ["base", "bson", "request"],
    # kv, store: api/open.cc opens the storage.
    "api": ["base", "kv", "store", "request", "remote", "engine", "command"],
    # command, engine: a router is the commands of a node over an engine in memory; store: its clock.
    "router": ["base", "bson", "request", "run", "coord", "peer", "placement", "pipeline", "plan", "expr", "store", "engine",
               "command"],
    "server": ["base", "wire", "request", "tls"],
    "patterns": [],
}

# folder -> further folders that its tests may include: what it talks to.
TALKS_TO = {"peer": ["server"], "repl": ["server"], "router": ["server", "kv"]}

MAX_FILES = 40

# Headers over the standard library and the public ones, which every folder may include.
ANYWHERE = {"base/mutex.h", "base/try.h"}

# Header prefix of an outside library -> parts of the paths that may include it.
LIBRARIES = {
    "rocksdb/": ["src/kv/rocks/", "bench/kv_bench.cc", "bench/raw_store.cc"],
    "spdlog/": ["src/base/"],
    "bid_": ["src/bson/"],
    "pcre2": ["src/expr/"],
    "unicode/": ["src/expr/", "src/auth/"],
    "s2/": ["src/expr/"],
    "libstemmer": ["src/expr/"],
    "jsapi": ["src/js/"],
    "jsfriendapi": ["src/js/"],
    "snappy": ["src/wire/"],
    "zlib": ["src/wire/"],
    "zstd": ["src/wire/"],
    "openssl/": ["src/server/", "src/auth/", "src/peer/", "src/tls/"],
    "yaml-cpp/": ["apps/"],
    "curl/": ["src/coord/etcd/"],
    "mongoc/": ["bench/", "tests/", "src/remote/"],
    "gtest/": ["_test.", "/testing/"],
    "gmock/": ["_test."],
}

# Where the headers of the driver and of SpiderMonkey are: api, tests, bench and js use them.
FLAGS = subprocess.run(["pkg-config", "--cflags", "libmongoc-1.0", "mozjs-102"],
                       stdout=subprocess.PIPE, text=True).stdout.split()

# The build's precompiled standard headers, and what a compiler must be called with to take them.
PRECOMPILED = os.path.join(ROOT, "build", "CMakeFiles", "quire_precompiled.dir", "cmake_pch.hxx")
BUILD_OPTIONS = ["-O2", "-g1", "-DNDEBUG", "-fPIC", "-fno-semantic-interposition", "-fno-plt"]

MAX_LINES = 800
REFUSED_NAMES = re.compile(r"(^|_)(util|utils|common|misc|helper|helpers)(_|$)")
SPDX = "SPDX-License-Identifier: Apache-2.0"
# Folders whose tables have keys that clients choose.
KEYED = ("store", "kv", "exec")
PLAIN_HASH = re.compile(r"std::hash<std::string")

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def reachable(folder):
    seen, todo = {folder}, [folder]
    while todo:
        for below in LAYERS[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def is_test(path):
    return (path.endswith(("_test.cc", "_fuzz.cc")) or is_for_tests(path) or path.startswith(("tests/", "bench/")))


def is_for_tests(path):
    """Whether only tests may include it."""
    return "/testing/" in path


def layer_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def check_includes(path, text):
    layer = layer_of(path)
    allowed = {layer, *LAYERS.get(layer, [])} if layer else set()
    if layer and is_test(path):
        allowed = set().union(*map(reachable, [layer, *TALKS_TO.get(layer, [])]))
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
        if layer and target in LAYERS and target not in allowed and header not in ANYWHERE:
            yield f'{path}: {layer} must not include "{header}": its row in LAYERS does not name {target}'
        if header.endswith("_internal.h") and layer and target != layer and not is_test(path):
            yield f'{path}: "{header}" is private to {target}'
        if is_for_tests(header) and not is_test(path):
            yield f'{path}: "{header}" is for tests'


def unit_of(path):
    """src/a/b/x.h and src/a/b/x.cc -> a/b/x"""
    return os.path.splitext(path)[0].removeprefix("src/")


def knots(graph):
    """The lists of nodes that reach each other (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for below in sorted(graph[node]):
            if below not in number:
                visit(below)
                low[node] = min(low[node], low[below])
            elif below in stack:
                low[node] = min(low[node], number[below])
        if low[node] == number[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def included(folder, texts):
    """What the units of the folder src/<folder> include of it, and its sub-folders of each other."""
    units, places = collections.defaultdict(set), collections.defaultdict(set)
    for path, text in texts.items():
        if is_test(path):
            continue
        unit, place = unit_of(path), os.path.dirname(path)
        units[unit]  # also one that includes nothing
        for quote, header in INCLUDE.findall(text):
            if quote == "<" or f"src/{header}" not in texts:
                continue
            # What a source uses of the private headers of its folder is no part of its interface.
            if unit_of(header) != unit and not (path.endswith(".cc") and header.endswith("_internal.h")):
                units[unit].add(unit_of(header))
            if os.path.dirname(header) not in (place[4:], folder) and place != f"src/{folder}":
                places[place[4:]].add(os.path.dirname(header))
    return units, places


def check_folder(folder, texts):
    """Sizes and knots inside the folder src/<folder>; `texts` by path are those of its files."""
    for place, count in sorted(collections.Counter(map(os.path.dirname, texts)).items()):
        if count > MAX_FILES:
            yield f"{place}: {count} files, more than {MAX_FILES}"
    units, places = included(folder, texts)
    for place in sorted(places):
        for other in sorted(places[place]):
            if place < other and place in places.get(other, ()):
                yield f"src/{folder}: {place} and {other} include each other"
    for knot in knots(units):
        yield f"src/{folder}: {len(knot)} units include each other: {', '.join(knot)}"


# A row of the table of folders in docs/architecture.md: | `src/x/` | what it holds | the folders it uses |
DOCUMENTED = re.compile(r"^\| `src/(\w+)/` \|.*\| (.*?) \|$", re.M)


def documented():
    """folder -> the folders that docs/architecture.md says it uses; remarks in parentheses left out."""
    with open(os.path.join(ROOT, "docs/architecture.md"), encoding="utf-8") as file:
        rows = DOCUMENTED.findall(file.read())
    return {folder: {word for word in re.findall(r"[\w`/]+", re.sub(r"\([^)]*\)", "", uses))
                     if word not in ("and", "std", "`include/quire/`")}
            for folder, uses in rows}


def check_rows(texts):
    """Whether LAYERS, LIBRARIES, the folders of src/ and docs/architecture.md agree; `texts` by folder and path."""
    told = documented()
    for folder in sorted({*texts, *LAYERS, *told}):
        for rows, where in ((texts, "src/"), (LAYERS, "LAYERS"), (told, "docs/architecture.md")):
            if folder not in rows:
                yield f"{where} has no {folder}, which others have"
        uses = set(LAYERS.get(folder, []))
        if folder in told and told[folder] != uses:
            yield f"docs/architecture.md: {folder} uses {', '.join(sorted(told[folder]))}; LAYERS says {', '.join(sorted(uses))}"
        included_folders = {header.split("/")[0] for path, text in texts.get(folder, {}).items() if not is_test(path)
                            for quote, header in INCLUDE.findall(text) if quote == '"'}
        for unused in sorted(uses - included_folders):
            yield f"LAYERS: {folder} may include {unused}, and does not"


def check_libraries(files):
    """Whether each place that LIBRARIES allows is one where the library is included."""
    unused = {(prefix, place) for prefix, places in LIBRARIES.items() for place in places}
    for path in files:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            headers = [header for quote, header in INCLUDE.findall(file.read()) if quote == "<"]
        unused -= {(prefix, place) for prefix, place in unused
                   if place in path and any(header.startswith(prefix) for header in headers)}
    for prefix, place in sorted(unused):
        yield f"LIBRARIES: <{prefix}...> may be included in {place}, and is not"


def check_readmes():
    """Whether the README of each folder of src/ names its sub-folders; what tests share is in `testing` everywhere."""
    for place, below, names in os.walk(os.path.join(ROOT, "src")):
        if "README.md" not in names:
            continue
        with open(os.path.join(place, "README.md"), encoding="utf-8") as file:
            text = file.read()
        for name in sorted(set(below) - {"testing", "testdata"}):
            if f"`{name}/" not in text:
                yield f"{os.path.relpath(place, ROOT)}/README.md does not name `{name}/`"


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
    if layer_of(path) in KEYED and not is_test(path):
        for found in PLAIN_HASH.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{path}:{line}: keys that clients choose are hashed by KeyedHash (base/keyed_hash.h)"
    yield from check_includes(path, text)


def precompiled(path):
    """What compiles the header behind the build's standard headers: the options they were compiled with decide."""
    if path.startswith("include/") or not os.path.exists(PRECOMPILED + ".gch"):
        return []
    return [*BUILD_OPTIONS, "-include", PRECOMPILED]


def check_header(path):
    """Compiles the header alone; only its syntax and names, no code."""
    compiled = subprocess.run(
        ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-ignored-attributes",
         "-Iinclude", "-Isrc", "-Itests", *FLAGS, *precompiled(path), "-x", "c++", "-include", path, "/dev/null"],
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


def headers_of(path, seen):
    """The repo's headers that `path` includes, directly or not."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        for _, header in INCLUDE.findall(file.read()):
            for folder in ("include", "src"):
                found = os.path.join(folder, header)
                if found not in seen and os.path.exists(os.path.join(ROOT, found)):
                    seen.add(found)
                    headers_of(found, seen)
    return seen


def print_figures(files, texts):
    """Size and shape of what is not a test."""
    product = [path for path in files if path.startswith(("src/", "include/")) and not is_test(path)]
    lines = {}
    for path in product:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            lines[path] = file.read().count("\n")
    print(f"{len(product)} files, {sum(lines.values())} lines, median {statistics.median(lines.values()):.0f}, "
          f"longest {max(lines.values())}")
    places = collections.Counter(os.path.dirname(path) for path in files if path.startswith("src/"))
    print(f"{len(places)} folders, the largest {', '.join(f'{p} {n}' for p, n in places.most_common(3))}; "
          f"{sum(n > MAX_FILES for n in places.values())} over {MAX_FILES} files")
    knotted = [len(knot) for folder, of in texts.items() for knot in knots(included(folder, of)[0])]
    print(f"{len(knotted)} knots of units that include each other: {sorted(knotted, reverse=True)}")
    reached = [headers_of(path, set()) for path in product if path.endswith(".cc")]
    print(f"a source reads {statistics.median(map(len, reached)):.0f} headers of ours (median); of {len(reached)}, sources")
    for header, count in collections.Counter(h for headers in reached for h in headers).most_common(12):
        print(f"  {count:5} read {header}")


def main():
    files = cpp_files()
    texts = collections.defaultdict(dict)
    for path in files:
        if layer_of(path):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                texts[layer_of(path)][path] = file.read()
    if "--figures" in sys.argv[1:]:
        print_figures(files, texts)
        return 0
    problems = [p for path in files for p in check_file(path)]
    for folder in sorted(texts):
        problems += check_folder(folder, texts[folder])
    problems += [*check_rows(texts), *check_libraries(files), *check_readmes()]
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
