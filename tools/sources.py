# SPDX-License-Identifier: Apache-2.0
"""The C++ files of the repo."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("include", "src", "apps", "bench", "tests", "examples")


def cpp_files(suffixes=(".h", ".cc")):
    """Paths relative to ROOT, sorted."""
    found = []
    for folder in FOLDERS:
        for where, subfolders, names in os.walk(os.path.join(ROOT, folder)):
            subfolders[:] = [s for s in subfolders if s != "node_modules" and not (folder == "tests" and s.startswith("build"))]
            found += [os.path.relpath(os.path.join(where, n), ROOT) for n in names if n.endswith(suffixes)]
    return sorted(found)
