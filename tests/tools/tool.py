# SPDX-License-Identifier: Apache-2.0
"""Runs the program in $QUIRE and reads what it says."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

QUIRE = os.environ["QUIRE"]


class ToolTest(unittest.TestCase):
    """Every test has a folder of its own: self.path(name) is in it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        data = text if isinstance(text, bytes) else text.encode()
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def lines(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().decode(errors="replace").split("\n")[:-1]

    def quire(self, *arguments, code=0, stdin=b""):
        """Runs it in the folder; checks the exit code; (stdout, stderr)."""
        done = subprocess.run([QUIRE, *arguments], cwd=self.folder, input=stdin, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}\n{out}\n{err}")
        return out, err

    def place(self):
        return ["--dbpath", self.path("data")]

    def imported(self, *arguments, code=0, stdin=b""):
        """The summary of an import."""
        out, _ = self.quire("import", *self.place(), "--json", *arguments, code=code, stdin=stdin)
        return json.loads(out)

    def documents(self, collection, *arguments):
        out, _ = self.quire("export", *self.place(), "-c", collection, *arguments)
        return [json.loads(line) for line in out.splitlines()]

    def counts(self, summary):
        return [summary[name] for name in ("records", "inserted", "duplicates", "rejected")]
