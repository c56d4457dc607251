"""An MCP server that wants a login, and the authorization server it names, for tests.

    oauth.py [HABIT ...]      prints its port on the first line of stdout, and ends with its input

`/mcp` wants a token, `/open` takes anybody. The habits are the words in the code below; `GET /habit?NAME` adds one,
`GET /habit?-NAME` takes one away, and `GET /revoke` makes all tokens void that are out. With LOG=FILE in the
environment every request is appended to that file.
"""

import base64
import hashlib
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

TOOLS = [{"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}} for name in ("x", "y")]
LOCK = threading.Lock()


class State:
    habits = set(sys.argv[1:])
    n_tokens = 0
    access = set()
    refresh = None
    codes = {}


def has(habit):
    return habit in State.habits


def log(line):
    if "LOG" in os.environ:
        with LOCK, open(os.environ["LOG"], "a", encoding="utf-8") as file:
            file.write(line + "\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=None, **headers):
        body = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        fields = dict(urllib.parse.parse_qsl(query))
        if path == "/habit":
            State.habits.discard(query[1:]) if query.startswith("-") else State.habits.add(query)
            return self.reply(200)
        if path == "/revoke":
            State.access.clear()
            return self.reply(200)
        if path == "/authorize":
            return self.authorize(fields)
        if path in ("/mcp", "/plain"):
            return self.unauthorized()
        if has("no-metadata"):
            return self.reply(404)
        if path == "/.well-known/oauth-protected-resource/mcp":
            where = "http://192.168.7.7" if has("private") else self.base
            return self.reply(
                200, {"resource": self.base + "/mcp", "authorization_servers": [where], "scopes_supported": ["tools"]}
            )
        if path == "/.well-known/oauth-authorization-server":
            metadata = {
                "issuer": self.base,
                "authorization_endpoint": "file:///bin/sh" if has("odd-page") else self.base + "/authorize",
                "token_endpoint": self.base + ("/token2" if has("moved") else "/token"),
                "registration_endpoint": self.base + "/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
            }
            if has("no-registration"):
                del metadata["registration_endpoint"]
            return self.reply(200, metadata)
        return self.reply(404)

    def unauthorized(self):
        where = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource/mcp"'
        self.reply(401, WWW_Authenticate="Bearer" if has("no-metadata") else where)

    def authorize(self, fields):
        assert fields["code_challenge_method"] == "S256" and fields["resource"] == self.base + "/mcp", fields
        assert fields["scope"] == "tools" and fields["client_id"] == "client-1", fields
        answer = {"state": fields["state"], "iss": self.base}
        if has("deny"):
            answer |= {"error": "access_denied", "error_description": "not\x1b[31m today"}
        else:
            code = f"code-{len(State.codes)}-secret"
            State.codes[code] = fields
            answer["code"] = code
        log("authorize")
        self.reply(302, Location=fields["redirect_uri"] + "?" + urllib.parse.urlencode(answer))

    def do_DELETE(self):
        self.reply(204)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/register":
            wanted = json.loads(body)
            log("register")
            answer = {"client_id": "client-1", "client_secret": "client-secret", **wanted}
            return self.reply(400 if has("bad-registration") else 201, answer)
        if self.path == "/token":
            return self.token(dict(urllib.parse.parse_qsl(body.decode())))
        authorization = self.headers.get("Authorization")
        method = json.loads(body).get("method")
        log(f"{self.path} {method} {authorization}")
        if self.path == "/mcp" and authorization not in {f"Bearer {token}" for token in State.access}:
            return self.unauthorized()
        if self.path == "/mcp" and has("echo"):
            return self.reply(403, {"message": f"{authorization} may not"})
        self.answer(json.loads(body))

    def answer(self, message):
        method = message.get("method")
        if "id" not in message:
            return self.reply(202)
        if method == "initialize":
            info = {"name": "made", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        else:
            result = {"content": [{"type": "text", "text": "done " + message["params"]["name"]}]}
        self.reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def token(self, fields):
        kind = fields["grant_type"]
        given = base64.b64decode(self.headers["Authorization"].partition(" ")[2]).decode()
        assert given == "client-1:client-secret" and fields["resource"] == self.base + "/mcp", (given, fields)
        with LOCK:
            if kind == "authorization_code":
                asked = State.codes.pop(fields["code"], None)
                digest = hashlib.sha256(fields["code_verifier"].encode()).digest()
                is_good = (
                    asked is not None
                    and base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
                    and fields["redirect_uri"] == asked["redirect_uri"]
                )
            else:
                is_good = fields["refresh_token"] == State.refresh and not has("no-refresh")
            is_good = is_good and not has("no-token")
            if is_good:
                State.n_tokens += 1
                State.refresh = f"refresh-{State.n_tokens}-secret"
                State.access.add(f"access-{State.n_tokens}-secret")
                if kind == "refresh_token" and has("useless"):
                    State.access.clear()
        log(f"token {kind} {'good' if is_good else 'bad'}")
        if has("slow"):
            time.sleep(0.5)
        if has("broken"):
            return self.reply(503)
        if not is_good:
            return self.reply(400, {"error": "invalid_grant", "error_description": json.dumps(fields)})
        self.reply(
            200,
            {
                "access_token": "" if has("empty") else f"access-{State.n_tokens}-secret",
                "token_type": "mac" if has("mac") else "Bearer",
                "expires_in": 1 if has("short") else 40 if has("minute") else 3600,
                "refresh_token": State.refresh,
                "id_token": "id-secret",
            },
        )


listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
listener.daemon_threads = True
print(listener.server_address[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
listener.serve_forever()
