"""The parts of a login as processes: an authorization server, a protected server, a user's home and browser."""

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

import gateway
import wire

OAUTH = gateway.ROOT / "interop/oauth"
BROWSER = OAUTH / "browser"
PATIENCE = 180.0


def wait_until(condition, what):
    """Waits for a condition and returns what it gave."""
    end = time.monotonic() + PATIENCE
    while True:
        if found := condition():
            return found
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.02)


class Part:
    """A program of interop/oauth: its address, and all that it has told."""

    def __init__(self, *command, takes_orders=True):
        self._takes_orders = takes_orders
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._lines = []
        threading.Thread(target=self._read, daemon=True).start()
        is_up = lambda: self._found("ready") or self._process.poll() is not None
        ready = wait_until(is_up, f"{command} is ready")
        assert ready is not True, f"{command} ended with {self._process.poll()}"
        self.address = ready[0]
        self.port = urllib.parse.urlsplit(self.address).port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it, as a machine that is switched off: nothing listens at its address any more."""
        self._process.kill()
        self._process.wait()

    def set(self, **settings):
        """Changes settings of it; from here on they hold."""
        before = len(self._found("set"))
        self._process.stdin.write(json.dumps(settings) + "\n")
        self._process.stdin.flush()
        wait_until(lambda: len(self._found("set")) > before, "settings are taken")

    def forget(self):
        """Forgets what came so far, for the next test."""
        self._lines = [line for line in self._lines if "method" not in line]

    def requests(self, path=None):
        """Returns the requests that it answered, those of one path if one is named."""
        if self._takes_orders and self._process.poll() is None:
            # What it told before it has answered this is read by then.
            self.set()
        found = [line for line in list(self._lines) if "method" in line]
        return [each for each in found if path is None or each["url"].split("?")[0] == path]

    def forms(self, path):
        """Returns the forms that were posted to a path."""
        posts = [each for each in self.requests(path) if each["method"] == "POST"]
        return [dict(urllib.parse.parse_qsl(each["body"])) | {"status": each["status"]} for each in posts]

    def answers(self, path):
        """Returns what was answered at a path, as JSON."""
        return [json.loads(each["answer"]) for each in self.requests(path) if each["answer"]]

    def heard(self, text):
        """Tells whether a text has come here in any part of any request."""
        parts = ("url", "headers", "body")
        return any(text in json.dumps([each[part] for part in parts]) for each in self.requests())

    def _found(self, key):
        return [line[key] for line in list(self._lines) if key in line]

    def _read(self):
        for line in self._process.stdout:
            with contextlib.suppress(json.JSONDecodeError):
                self._lines.append(json.loads(line))


def provider(**settings):
    """Runs oidc-provider, which logs everybody in at once."""
    return Part(gateway.NODE, str(OAUTH / "provider.mjs"), json.dumps(settings))


def protected(issuer, **settings):
    """Runs a FastMCP server that takes the tokens of this issuer."""
    return Part(sys.executable, str(OAUTH / "protected.py"), json.dumps({"issuer": issuer, **settings}), takes_orders=False)


def misbehaving(**settings):
    """Runs the authorization server that does what it is told to do wrong, with a server that it protects at /mcp."""
    return Part(gateway.NODE, str(OAUTH / "misbehaving.mjs"), json.dumps(settings))


class Home:
    """A user with folders, a config and a browser."""

    def __init__(self, folder, servers=None, **settings):
        self.folder = Path(folder)
        self.config = self.folder / "config.json"
        self.opened = self.folder / "opened"
        (self.folder / "run").mkdir(mode=0o700, exist_ok=True)
        names = {"CACHE_HOME": "cache", "CONFIG_HOME": "config", "DATA_HOME": "data", "RUNTIME_DIR": "run", "STATE_HOME": "state"}
        self.env = {f"XDG_{name}": str(self.folder / place) for name, place in names.items()} | {
            "HOME": str(self.folder),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "BROWSER": str(BROWSER),
            "BROWSER_LOG": str(self.opened),
            "MANIFOLD_CONFIG": str(self.config),
            "MANIFOLD_DAEMON": "off",
        }
        self.write(servers or {}, **settings)

    def write(self, servers, **settings):
        self.config.write_text(json.dumps({"mcpServers": servers, **settings}))

    def run(self, *arguments, **options):
        """Runs a command to its end."""
        options = {"stdin": subprocess.DEVNULL} | options if "input" not in options else options
        command = [gateway.MANIFOLD, *arguments]
        return subprocess.run(command, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=120, **options)

    def login(self, *arguments, **options):
        """Signs in, which must work."""
        done = self.run("login", *arguments, **options)
        assert done.returncode == 0, done.stderr
        return done

    def refused(self, *arguments, **options):
        """Signs in, which must be refused, and returns why."""
        done = self.run("login", *arguments, **options)
        assert done.returncode == 1, f"{done.returncode}: {done.stderr}"
        return done.stderr

    def start(self, *arguments):
        """Starts a command with pipes, for what happens meanwhile."""
        pipe = subprocess.PIPE
        command = [gateway.MANIFOLD, *arguments]
        return subprocess.Popen(command, env=self.env, cwd=self.folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def client(self):
        """Starts a gateway on pipes and returns a client of it that has shaken hands."""
        peer = wire.Peer([gateway.MANIFOLD, "serve", "--stdio"], self.env, {}, self.folder)
        peer.initialize({})
        return peer

    def browsers(self):
        """Returns the addresses that the browser was started with."""
        return self.opened.read_text().splitlines() if self.opened.exists() else []


def address_in(process, part=""):
    """Returns the address, with this part in it, that stands alone on a line of a login's stderr; the rest is still there."""
    for line in process.stderr:
        if re.fullmatch(r"https?://\S+", line.strip()) and part in line:
            return line.strip()
    raise AssertionError(f"no address: {process.wait()}")


def visit(address):
    """Goes where the browser would go, but not back to the login: returns the address it would go back to."""
    # The address that it comes back to cannot be reached on another machine, and here the answer is to be held back.
    done = subprocess.run([str(BROWSER), "--stay", address], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def follow(address):
    """Goes where the browser would go, to the end."""
    subprocess.run([str(BROWSER), address], capture_output=True, text=True, timeout=60, check=True)


def call(peer, name, arguments=None):
    """Calls a tool and returns its text; an error is one, whichever way it came."""
    return text(peer.ask("tools/call", {"name": name, "arguments": arguments or {}}))


def text(response):
    if "error" in response:
        return json.loads(response["error"])["message"]
    return json.loads(response["result"])["content"][0]["text"]


def listed(peer):
    return {tool["name"] for tool in json.loads(peer.ask("tools/list")["result"])["tools"]}
