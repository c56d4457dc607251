"""What the tools of the test server do when they are called: their names say it.

A tool of any other name answers with what it got.
"""

import json
import os
import signal
import sys
import threading
import time

META = "io.modelcontextprotocol/"


def text(words, **more):
    return {"result": {"content": [{"type": "text", "text": words}], **more}}


def error(code, words):
    return {"error": {"code": code, "message": words}}


class Calls:
    def __init__(self, server):
        self.server = server
        self.cancelled, self.listeners, self.asked, self.sessions = set(), [], {}, set()
        self.n_grown = self.n_now = self.n_peak = 0
        self.lock = threading.Lock()

    def take(self, message):
        """Something that wants no answer, or the answer to a question of ours."""
        if message.get("method") == "notifications/cancelled":
            self.cancelled.add(message["params"]["requestId"])
        elif message.get("id") in self.asked:
            self.asked[message["id"]].append(message)

    def listen(self, message, say):
        self.listeners.append(message["id"])
        params = {"notifications": message["params"]["notifications"], "_meta": {META + "subscriptionId": message["id"]}}
        say({"method": "notifications/subscriptions/acknowledged", "params": params})

    def answer(self, message, say):
        """The members `result` or `error` of the answer, or None for none."""
        params = message["params"]
        name, given, meta = params["name"], params.get("arguments", {}), params.get("_meta", {})
        if name not in [tool["name"] for tool in self.server.tools]:
            return error(-32602, f"Unknown tool: {name}")
        trick = getattr(self, "do_" + name, None)
        with self.lock:
            self.n_now += 1
            self.n_peak = max(self.n_peak, self.n_now)
        try:
            if trick is None:
                return text(json.dumps({"name": name, "arguments": given, "meta": meta}, ensure_ascii=False))
            return trick(message["id"], given, meta, say)
        finally:
            with self.lock:
                self.n_now -= 1

    def do_pid(self, *_):
        return text(str(os.getpid()))

    def do_peak(self, *_):
        return text(str(self.n_peak))

    def do_raw(self, _id, given, *_):
        """The JSON that was given, byte for byte, as result or error."""
        return given

    def do_huge(self, _id, given, *_):
        return text(given["of"] * given["n"])

    def do_crash(self, id, *_):
        sys.stderr.write("fatal: out of luck")
        sys.stderr.flush()
        sys.stdout.buffer.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"te' % id)
        sys.stdout.buffer.flush()
        os._exit(3)

    def do_crash_once(self, id, *rest):
        mark = os.environ["LOG"] + ".crashed"
        if os.path.exists(mark):
            return text("well again")
        open(mark, "w").close()
        return self.do_crash(id)

    def do_die(self, *_):
        os.kill(os.getpid(), signal.SIGKILL)

    def do_hang(self, *_):
        return None

    def do_slow(self, id, given, *_):
        """Ends early, without an answer, when it is cancelled."""
        end = time.monotonic() + given["s"]
        while time.monotonic() < end:
            if id in self.cancelled:
                return None
            time.sleep(0.02)
        return text("slept")

    def do_late(self, _id, given, *_):
        """Answers, cancelled or not."""
        time.sleep(given["s"])
        return text("late")

    def do_steps(self, _id, given, meta, say):
        """Word of progress, then the answer, then another word that is too late."""
        token = meta.get("progressToken")

        def note(n):
            if token is not None:
                params = {"progressToken": token, "progress": n, "total": given["n"], "message": f"step {n}"}
                say({"method": "notifications/progress", "params": params})

        for n in range(1, given["n"] + 1):
            time.sleep(given.get("s", 0))
            note(n)
        threading.Timer(0.2, note, [99]).start()
        return text("token" if token is not None else "no token")

    def changed(self, say, times=1):
        for _ in range(times):
            if not self.server.has("stateless"):
                say({"method": "notifications/tools/list_changed"})
            for id in self.listeners:
                params = {"_meta": {META + "subscriptionId": id}}
                say({"method": "notifications/tools/list_changed", "params": params})

    def do_grow(self, _id, _given, _meta, say):
        self.n_grown += 1
        tool = {"name": f"grown_{self.n_grown}", "description": "Grew.", "inputSchema": {"type": "object"}}
        self.server.tools.append(tool)
        self.changed(say, 12)
        return text("grown")

    def do_shrink(self, _id, given, _meta, say):
        self.server.tools = [tool for tool in self.server.tools if tool["name"] != given["tool"]]
        self.changed(say)
        return text("shrunk")

    def do_describe(self, _id, given, _meta, say):
        for tool in self.server.tools:
            if tool["name"] == given["tool"]:
                tool["description"] = given["as"]
        self.changed(say)
        return text("described")

    def do_ask(self, _id, _given, _meta, say):
        got = {}
        for n, method in enumerate(["ping", "roots/list", "sampling/createMessage"]):
            answers = self.asked[f"ask {n}"] = []
            say({"id": f"ask {n}", "method": method, "params": {}})
            end = time.monotonic() + 5
            while not answers and time.monotonic() < end:
                time.sleep(0.01)
            got[method] = answers[0].get("error", {}).get("code", "result") if answers else "nothing"
        return text(json.dumps(got))

    def do_adopt(self, _id, given, *_):
        """A habit, from now on."""
        self.server.habits.add(given["habit"])
        return text("adopted")

    def do_forget(self, *_):
        self.sessions.clear()
        return text("forgotten")
