"""Measures `toolscout serve` over stdio, as a client sees it. Needs Python alone.

- initialize: process start to the reply to `initialize`, a new process each time;
  `cat` is the same with a program that only echoes, the floor of this method.
- distinct: requests never seen before, two texts to embed each.
- repeated: the same requests again, their vectors cached: all but the embedding.

The server gets a home of its own with the models of TOOLSCOUT_HOME, so that the
embedding cache on disk starts empty. Run it on an idle machine and a release build.

usage: TOOLSCOUT_HOME=DIR serve_latency.py BINARY INDEX_DIR    prints JSON, ms
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

N_SPAWNS = 50
N_REQUESTS = 300

INITIALIZE = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "serve_latency", "version": "1"},
    },
}
PLATFORMS = ["GitHub", "a calendar", "e-mail", "a SQL database", "cloud storage", "maps"]
OPERATIONS = ["create", "list", "update", "delete", "search for"]
TARGETS = ["issues", "events", "messages", "tables", "files", "places", "users"]


class Process:
    def __init__(self, command, environment):
        self.n_sent = 0
        self.process = subprocess.Popen(
            command, env=environment, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.lines = os.fdopen(os.dup(self.process.stdout.fileno()), "rb")

    def send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        self.process.stdin.write(line.encode())

    def ask(self, message):
        """The reply to a request; replies come in order here, one at a time."""
        self.n_sent += 1
        self.send({"id": self.n_sent, **message})
        reply = json.loads(self.lines.readline())
        if reply.get("id") != self.n_sent or "error" in reply:
            sys.exit(f"unexpected reply: {reply}")
        return reply

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.lines.close()
        self.process.stdout.close()


def timed(step):
    start = time.perf_counter()
    step()
    return (time.perf_counter() - start) * 1000


def summary(times):
    ordered = sorted(times)
    return {
        "n": len(times),
        "p50": round(statistics.median(times), 3),
        "p95": round(ordered[int(0.95 * len(ordered))], 3),
    }


def first_replies(command, environment):
    times = []
    for _ in range(N_SPAWNS):
        started = []

        def start():
            started.append(Process(command, environment))
            started[0].ask(INITIALIZE)

        times.append(timed(start))
        started[0].close()
    return summary(times)


def call(number):
    """Every number has texts of its own."""
    platform = PLATFORMS[number % len(PLATFORMS)]
    operation = OPERATIONS[number % len(OPERATIONS)]
    target = TARGETS[number % len(TARGETS)]
    arguments = {
        "server": f"{platform}, account {number}",
        "tool": f"{operation} {target} of project {number}",
    }
    return {"method": "tools/call", "params": {"name": "discover_tools", "arguments": arguments}}


def warm_calls(command, environment):
    server = Process(command, environment)
    server.ask(INITIALIZE)
    server.send({"method": "notifications/initialized"})

    def ask(number):
        if server.ask(call(number))["result"].get("isError"):
            sys.exit("the server cannot answer; is the model installed?")

    loading = timed(lambda: ask(N_REQUESTS))
    distinct = [timed(lambda: ask(number)) for number in range(N_REQUESTS)]
    repeated = [timed(lambda: ask(number)) for number in range(N_REQUESTS)]
    server.close()
    return {
        "first_call": {"n": 1, "ms": round(loading, 1)},
        "distinct": summary(distinct),
        "repeated": summary(repeated),
    }


def main():
    if len(sys.argv) != 3 or "TOOLSCOUT_HOME" not in os.environ:
        sys.exit(__doc__)
    binary, index = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:])
    models = pathlib.Path(os.environ["TOOLSCOUT_HOME"]).resolve() / "models"
    command = [binary, "--index", index, "serve"]
    measured = {"unit": "ms", "load_before": [round(load, 2) for load in os.getloadavg()]}
    with tempfile.TemporaryDirectory() as home:
        (pathlib.Path(home) / "models").symlink_to(models)
        environment = {**os.environ, "TOOLSCOUT_HOME": home}
        measured["initialize"] = first_replies(command, environment)
        if cat := shutil.which("cat"):
            measured["cat"] = first_replies([cat], environment)
        measured.update(warm_calls(command, environment))
    print(json.dumps(measured, indent=2))


main()
