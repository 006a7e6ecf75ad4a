# SPDX-License-Identifier: Apache-2.0
"""Starts and stops servers of the program in $QUIRE."""
import os
import re
import signal
import subprocess
import tempfile
import time

QUIRE = os.environ["QUIRE"]


class Server:
    """A running server on a free port. `path` None: in memory."""

    def __init__(self, path=None, extra=(), program=None):
        storage = ["--dbpath", path] if path else ["--ephemeral"]
        prefix = [program] if program else [QUIRE, "serve"]
        self.log = tempfile.NamedTemporaryFile("r", suffix=".log")
        started = time.monotonic()
        with open(self.log.name, "w") as output:
            self.process = subprocess.Popen(
                [*prefix, "--port", "0", "--nounixsocket", "--logFormat", "text", *storage, *extra],
                stdout=output, stderr=subprocess.STDOUT)
        self.port = self._wait_for_port()
        self.start_seconds = time.monotonic() - started
        self.uri = f"mongodb://127.0.0.1:{self.port}"

    def _wait_for_port(self):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = re.search(r"Waiting for connections port=(\d+)", self.output())
            if found:
                return int(found.group(1))
            if self.process.poll() is not None:
                break
            time.sleep(0.005)
        raise RuntimeError("the server did not start:\n" + self.output())

    def output(self):
        with open(self.log.name) as file:
            return file.read()

    def stop(self, number=signal.SIGTERM):
        """Sends the signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=30)

    def memory_kb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))

    def processor_seconds(self):
        """What all its threads have used, of those that have ended, too."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
