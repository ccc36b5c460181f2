#!/usr/bin/env python3
"""Runs an installed gateway as a client would, with a home of its own, and wants the built-in server's answer.

smoke.py --exe PROGRAM [--behind] [--no-signals] COMMAND...
--exe: the program that serves in the end; unless --behind is given, in the very process that COMMAND started.
--no-signals: whatever COMMAND is keeps them to itself, as npx does.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile

MESSAGES = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize",
     "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "smoke", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
     "params": {"name": "time__get_current_time", "arguments": {"timezone": "Asia/Shanghai"}}},
]


def start(command, home):
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    environment = {**kept, "HOME": home, "MANIFOLD_DAEMON": "off", "NPM_CONFIG_UPDATE_NOTIFIER": "false"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=home)


def ask(process, message):
    """Sends a message and returns the answer to it, if it is a request."""
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    while "id" in message:
        line = process.stdout.readline()
        if not line:
            process.kill()
            sys.exit(f"no answer to {message['method']}: {process.stderr.read().decode()}")
        answer = json.loads(line)
        if answer.get("id") == message["id"]:
            return answer["result"]


def serve(command, home):
    process = start([*command, "serve", "--stdio"], home)
    opened, _, listed, called = [ask(process, message) for message in MESSAGES]
    assert opened["serverInfo"]["name"] == "manifold", opened
    names = [tool["name"] for tool in listed["tools"]]
    assert "time__get_current_time" in names and "manifold__servers_list" in names, names
    assert "Asia/Shanghai" in json.dumps(called) and not called.get("isError"), called
    return process, opened["serverInfo"]["version"], len(names)


def ended(command, home):
    """Returns how it ends by a signal."""
    process, _, _ = serve(command, home)
    process.send_signal(signal.SIGTERM)
    return process.wait(30)


def program_of(pid):
    return os.path.realpath(f"/proc/{pid}/exe")


def main(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--exe", required=True)
    parser.add_argument("--behind", action="store_true")
    parser.add_argument("--no-signals", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    said = parser.parse_args(words)
    exe, words = said.exe, said.command
    with tempfile.TemporaryDirectory() as home:
        process, version, tools = serve(words, home)
        if not said.behind:
            assert program_of(process.pid) == os.path.realpath(exe), program_of(process.pid)
        process.stdin.close()
        assert process.wait(30) == 0, (process.returncode, process.stderr.read())

        if not said.no_signals:
            assert ended(words, home) == ended([exe], home)

        # Exit codes pass, and so do words with spaces.
        refused = subprocess.run([*words, "config", "check", "no such file"], cwd=home, capture_output=True, text=True)
        assert refused.returncode != 0 and "no such file" in refused.stderr + refused.stdout, refused
        known = subprocess.run([*words, "--version"], cwd=home, capture_output=True, text=True)
        assert known.returncode == 0 and known.stdout.split()[-1] == version, known
    print(f"smoke: manifold {version}, {tools} tools, time__get_current_time answered: {' '.join(words)}")


if __name__ == "__main__":
    main(sys.argv[1:])
