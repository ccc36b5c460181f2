"""Where the gateway and the real servers are, and a config that puts these behind it."""

import base64
import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INTEROP = ROOT / "target/interop"
MANIFOLD = os.environ.get("MANIFOLD_BIN") or str(ROOT / "target/release/manifold")

MODULES = INTEROP / "node/node_modules"
NODE = shutil.which(str(MODULES / ".bin/node")) or shutil.which("node")
VENV = INTEROP / "venv/bin"


def node_server(name, *args):
    script = MODULES / "@modelcontextprotocol" / f"server-{name}" / "dist/index.js"
    return {"command": NODE, "args": [str(script), *args]}


EVERYTHING = node_server("everything", "stdio")
TIME = {"command": str(VENV / "mcp-server-time"), "args": ["--local-timezone", "UTC"]}
FAKE = os.environ.get("FAKE_SERVER_BIN") or str(ROOT / "target/debug/fake-server")
GIT = {"command": str(VENV / "mcp-server-git"), "args": []}


def fake(knobs):
    """The fake server of crates/testkit, for what no real server does on demand."""
    return {"command": FAKE, "args": [json.dumps(knobs)]}


def command_line(server):
    return [server["command"], *server["args"]]


def serve(folder, servers):
    """Writes a config into the folder and returns the command line of a gateway with these servers."""
    config = Path(folder) / "config.json"
    # With a daemon, that one is the test's own and ends soon after it.
    config.write_text(json.dumps({"mcpServers": servers, "daemon": {"linger": 1000}}))
    return [*surroundings(folder), MANIFOLD, "serve", "--stdio", "--config", str(config)]


def surroundings(folder):
    """Returns the start of a command line that keeps what a gateway learns about its servers in the folder."""
    folders = {"XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state"}
    (Path(folder) / "run").mkdir(mode=0o700, exist_ok=True)
    variables = [f"{variable}={Path(folder) / name}" for variable, name in folders.items()]
    return ["/usr/bin/env", *variables, f"MANIFOLD_DAEMON={os.environ.get('MANIFOLD_DAEMON', 'off')}"]


@contextlib.contextmanager
def running(command, port, env=None, log=subprocess.DEVNULL):
    """Runs a program that listens on the port, from the moment it can be reached."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=log, env=env)
    try:
        end = time.monotonic() + 60
        while not reachable(port):
            assert process.poll() is None and time.monotonic() < end, f"{command} does not listen on {port}"
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def everything_at(transport, env=None):
    """Runs server-everything over `streamableHttp` or `sse` and gives its config entry."""
    port = free_port()
    env = (dict(os.environ) if env is None else env) | {"PORT": str(port)}
    path = {"streamableHttp": "mcp", "sse": "sse"}[transport]
    with running(command_line(node_server("everything", transport)), port, env):
        yield {"url": f"http://127.0.0.1:{port}/{path}"}


def program(name):
    """Returns where a program is, also one for administrators, or skips the test: where it must be there, it fails."""
    found = shutil.which(name) or shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin")
    if found:
        return found
    (pytest.fail if os.environ.get("MANIFOLD_REQUIRE_PROGRAMS") else pytest.skip)(f"there is no {name}")


@contextlib.contextmanager
def one_gateway(folder, servers):
    """Runs a gateway with these servers over HTTP and gives its address."""
    config = Path(folder) / "config.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    port = free_port()
    command = [*surroundings(folder), MANIFOLD, "http", "--config", str(config), "--port", str(port)]
    with running(command, port):
        yield f"http://127.0.0.1:{port}/mcp"


@contextlib.contextmanager
def two_gateways(folder, servers):
    """Runs two gateways that share a Redis, and HAProxy before them as its example has it but for addresses and TLS."""
    redis, haproxy = program("redis-server"), program("haproxy")
    folder = Path(folder)
    config, keys = folder / "config.json", folder / "keys"
    config.write_text(json.dumps({"mcpServers": servers}))
    keys.touch(mode=0o600)
    keys.write_text(base64.b64encode(os.urandom(32)).decode() + "\n")
    state, *ports, port = (free_port() for _ in range(4))
    with contextlib.ExitStack() as stack:
        quiet = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(folder)]
        stack.enter_context(running([redis, "--port", str(state), *quiet], state))
        for name, own in zip(("one", "two"), ports):
            (folder / name).mkdir()
            shared = ["--state", f"redis://127.0.0.1:{state}/0", "--state-key-file", str(keys), "--replica", name]
            command = [MANIFOLD, "http", "--config", str(config), "--port", str(own), *shared]
            stack.enter_context(running([*surroundings(folder / name), *command], own))
        for own in ports:
            await_ready(own)
        text = (ROOT / "packaging/balancers/haproxy.cfg").read_text()
        text = re.sub("bind :443 ssl .*", f"bind 127.0.0.1:{port}", text)
        for old, own in zip(("10.0.0.11:3095", "10.0.0.12:3095"), ports):
            assert old in text
            text = text.replace(old, f"127.0.0.1:{own}")
        (folder / "haproxy.cfg").write_text(text)
        stack.enter_context(running([haproxy, "-db", "-f", str(folder / "haproxy.cfg")], port))
        yield f"http://127.0.0.1:{port}/mcp"


def await_ready(port):
    """Waits until a gateway says that it is ready."""
    end = time.monotonic() + 60
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        with contextlib.closing(connection):
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        assert time.monotonic() < end, f"the gateway on port {port} is not ready"
        time.sleep(0.05)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def reachable(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def repository(folder):
    """Makes a git repository with one commit and returns its path."""
    path = Path(folder) / "repository"
    path.mkdir()
    (path / "hello.txt").write_text("hello\n")
    person = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
    for arguments in (["init", "-q"], ["add", "."], [*person, "commit", "-q", "-m", "the first commit"]):
        subprocess.run(["git", *arguments], cwd=path, check=True)
    return str(path)
