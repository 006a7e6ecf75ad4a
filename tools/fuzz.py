#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fuzz.py [--quick] [--seconds N] [NAME]: builds the libFuzzer programs (src/**/NAME_fuzz.cc, with clang, in
build-asan/) and runs each for N seconds (60), starting from tests/fuzz/NAME/ with the
words of tests/fuzz/NAME.dict. What it finds that is
new goes to build-asan/corpus/NAME, a crashing input to build-asan/crash-*. --quick leaves out those
that have a program NAME_replay in build/ (their instrumented build takes minutes) and runs that
instead: the corpus, and a fixed number of changed inputs. The name `namespaces` stands for every command on every
kind of namespace (src/command/every_command_test.cc) for N seconds, on the release build; --quick leaves it to the
unit tests. The last line is `N passed, N failed`."""
import argparse
import os
import subprocess
import sys

from sources import ROOT, cpp_files

FOLDER = os.path.join(ROOT, "build-asan")
REPLAYS = 20_000
NAMESPACES = "namespaces"


def run(name, seconds):
    found = os.path.join(FOLDER, "corpus", name)
    os.makedirs(found, exist_ok=True)
    seeds = [d for d in [os.path.join(ROOT, "tests", "fuzz", name)] if os.path.isdir(d)]
    words = os.path.join(ROOT, "tests", "fuzz", name + ".dict")
    dictionary = [f"-dict={words}"] if os.path.exists(words) else []
    done = subprocess.run(
        [os.path.join(FOLDER, name + "_fuzz"), f"-max_total_time={seconds}", "-timeout=10",
         "-rss_limit_mb=2048", f"-artifact_prefix={FOLDER}/crash-{name}-", "-print_final_stats=1",
         *dictionary, found, *seeds],
        cwd=FOLDER, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = done.stdout.decode(errors="replace")
    runs = [line.split()[-1] for line in output.split("\n") if "number_of_executed_units" in line]
    print(f"{name}: {runs[0] if runs else '?'} inputs, {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print(output[-6000:])
    return done.returncode == 0


def replay_program(name):
    return os.path.join(ROOT, "build", name + "_replay")


def replay(name):
    done = subprocess.run([replay_program(name), os.path.join(ROOT, "tests", "fuzz", name), str(REPLAYS)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = done.stdout.decode(errors="replace")
    print(f"{name}: {output.strip() if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print(output[-6000:])
    return done.returncode == 0


def namespaces(seconds):
    if subprocess.run([os.path.join(ROOT, "tools", "build"), "build", "command_test"]).returncode != 0:
        return False
    environment = dict(os.environ, QUIRE_FUZZ_SECONDS=str(seconds))
    done = subprocess.run([os.path.join(ROOT, "build", "command_test"), "--gtest_filter=EveryCommandTest.*",
                           "--gtest_brief=1"], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output = done.stdout.decode(errors="replace")
    rounds = output.count("QUIRE_FUZZ_SEED=")
    print(f"namespaces: {rounds} rounds, {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        print(output[-6000:])
    return done.returncode == 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("name", nargs="*")
    options = arguments.parse_args()
    sources = [p for p in cpp_files((".cc",)) if p.endswith("_fuzz.cc")]
    names = options.name or [os.path.basename(p)[: -len("_fuzz.cc")] for p in sources] + [NAMESPACES]
    everywhere = NAMESPACES in names and not (options.quick and not options.name)
    names = [n for n in names if n != NAMESPACES]
    replayed = [n for n in names if options.quick and os.path.exists(replay_program(n))]
    names = [n for n in names if n not in replayed]
    built = names and subprocess.run(
        [os.path.join(ROOT, "tools", "build"), "build-asan", "-DCMAKE_BUILD_TYPE=Debug", "-DQUIRE_FUZZ=ON", "-DQUIRE_UNITY=ON",
         "-DCMAKE_CXX_COMPILER=clang++", *[n + "_fuzz" for n in names]])
    if built and built.returncode != 0:
        return 1
    results = [replay(name) for name in replayed] + [run(name, options.seconds) for name in names]
    if everywhere:
        results.append(namespaces(options.seconds))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
