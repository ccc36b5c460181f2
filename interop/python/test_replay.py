"""A recording of the real server-everything, served back: the official SDK gets the same answers, in both eras."""

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

import gateway

CALLS = [("everything__echo", {"message": "hello"}), ("everything__get-sum", {"a": 2, "b": 40})]


async def asked(command, mode):
    """Returns what a client of this era is told: the names of the tools, and what some of them give."""
    server = StdioServerParameters(command=command[0], args=command[1:])
    with anyio.fail_after(60):
        async with Client(server, mode=mode, read_timeout_seconds=30) as client:
            names = sorted(tool.name for tool in (await client.list_tools()).tools)
            results = [await client.call_tool(name, arguments) for name, arguments in CALLS]
            return names, [[block.model_dump() for block in result.content] for result in results]


@contextlib.contextmanager
def daemon(folder):
    """Runs a daemon of the folder's config, and gives the start of the command lines that use it."""
    config = str(Path(folder) / "config.json")
    surroundings = gateway.surroundings(folder)[:-1]
    process = subprocess.Popen([*surroundings, gateway.MANIFOLD, "daemon", "run", "--config", config])

    def run(*words):
        command = [*surroundings, gateway.MANIFOLD, *words, "--config", config]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    try:
        end = time.monotonic() + 60
        while run("daemon", "status").returncode != 0:
            assert time.monotonic() < end and process.poll() is None, "no daemon"
            time.sleep(0.1)
        yield surroundings, config, run
    finally:
        run("daemon", "stop")
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.mark.skipif(os.environ.get("MANIFOLD_DAEMON") == "off", reason="the daemon records")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_recording_answers_as_the_server_did(tmp_path, mode):
    servers = {"mcpServers": {"everything": gateway.EVERYTHING}, "daemon": {"linger": 1000}}
    (tmp_path / "config.json").write_text(json.dumps(servers))
    with daemon(tmp_path) as (surroundings, config, run):
        started = run("record", "start", "everything")
        assert started.returncode == 0, started.stderr
        told = anyio.run(asked, [*surroundings, gateway.MANIFOLD, "serve", "--stdio", "--config", config], mode)
        stopped = run("record", "stop", "everything", "--json")
        assert stopped.returncode == 0, stopped.stderr
        file = json.loads(stopped.stdout)["file"]
    for era in ["auto", "legacy"]:
        replayed = anyio.run(asked, [*surroundings, gateway.MANIFOLD, "replay", file, "--serve"], era)
        assert replayed == told, era
