"""The tour of docs/cli.md, on a terminal, with real servers, as a reader would type it."""

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import gateway
import listing
from terminal import Terminal
from wire import Peer

TOUR = listing.section((gateway.ROOT / "docs/cli.md").read_text(), "A tour in twenty tasks")
TASKS = listing.parse(TOUR)
STEPS = [task for task in TASKS if isinstance(task, listing.Step)]

# The exit codes there are, but for the sign-in that no server of the tour asks for.
EXIT_CODES = {0, 1, 2, 3, 4, 5, 7, 8, 124, 130}
# Steps that change nothing: whoever answers them, they show the same.
READING = [
    step
    for step in STEPS
    if step.verb() in {"tools", "tool", "resources", "read", "prompt", "complete"} or "call get-sum" in step.command
]
TABLES = {
    "list": "ID",
    "tools": "NAME",
    "resources": "URI",
    "resources --templates": "TEMPLATE",
    "prompts": "NAME",
    "ns": "ID",
}

NPX = """#!/bin/sh
# npx -y PACKAGE ARGUMENT...: what ./check has installed.
script={modules}/$2/dist/index.js
shift 2
exec {node} "$script" "$@"
"""
UVX = """#!/bin/sh
program={venv}/$1
shift
exec "$program" "$@"
"""


@pytest.fixture
def home(tmp_path):
    """Makes a home with the files the tour begins with, and programs by their usual names."""
    home = tmp_path / "home"
    (home / ".config/manifold").mkdir(parents=True)
    (home / ".config/manifold/config.json").write_text(listing.blocks(TOUR, "jsonc")[0])
    (tmp_path / "run").mkdir(mode=0o700)
    notes = home / "notes"
    notes.mkdir()
    (notes / "todo.txt").write_text("Call Grace.\n")
    person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    for line in (["init", "-q"], ["add", "."], [*person, "commit", "-q", "-m", "A list of things to do"]):
        subprocess.run(["git", *line], cwd=notes, check=True)
    programs = home / "bin"
    programs.mkdir()
    (programs / "manifold").symlink_to(gateway.MANIFOLD)
    for name, script in {"npx": NPX, "uvx": UVX}.items():
        text = script.replace("{modules}", str(gateway.MODULES)).replace("{node}", gateway.NODE)
        (programs / name).write_text(text.replace("{venv}", str(gateway.VENV)))
        (programs / name).chmod(0o755)
    yield home
    # A test that failed in the middle has not come to that.
    subprocess.run(["manifold", "daemon", "stop"], env=surroundings(home), cwd=home, capture_output=True)


def surroundings(home):
    return {
        "HOME": str(home),
        "XDG_RUNTIME_DIR": str(home.parent / "run"),
        "PATH": f"{home / 'bin'}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "NO_COLOR": "1",
    }


def processes(home, but):
    """Returns the processes that live in a home, but for one."""
    mark = f"HOME={home}\0".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        if folder.name == str(but):
            continue
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


def check(terminal, step):
    shown, code = terminal.run(step.command, step.typed())
    where = f"{step.task}\n$ {step.command}\n{shown}# exit {code}\n"
    assert step.expected().match(shown), f"{where}\nis not as the page has it:\n{step.shown}"
    assert code == step.exit, where


@contextlib.contextmanager
def window(home):
    """A window that is open: its client has said who it is."""
    with Peer(["manifold", "serve", "--stdio"], surroundings(home), {}, folder=home) as peer:
        peer.initialize({}, name="editor")
        yield


def test_the_tour(home):
    windows = contextlib.ExitStack()
    with Terminal(surroundings(home), home) as terminal, windows:
        for task in TASKS:
            match task:
                case listing.Step():
                    check(terminal, task)
                case listing.Note("a window is opened"):
                    windows.enter_context(window(home))
                case listing.Note("the window is closed"):
                    windows.close()
        assert not processes(home, but=terminal.shell.pid), "nothing is left behind"


def test_the_tour_has_twenty_tasks_and_every_exit_code():
    assert len({step.task for step in STEPS}) == 20
    assert {step.exit for step in STEPS} == EXIT_CODES


def test_what_only_reads_needs_no_daemon(home):
    with Terminal(surroundings(home), home) as terminal:
        for step in READING:
            check(terminal, step)
        assert not processes(home, but=terminal.shell.pid), "nothing is left behind"


def test_a_gateway_over_http_answers_as_the_daemon_does(home):
    port = gateway.free_port()
    command = ["env", "-C", str(home), gateway.MANIFOLD, "http", "--port", str(port)]
    with gateway.running(command, port, surroundings(home)), Terminal(surroundings(home), home) as terminal:
        shown, _ = terminal.run("manifold -v tools --server time -q")
        assert shown.startswith("manifold: asked manifold http (pid "), shown
        for step in READING:
            check(terminal, step)


def test_a_pipe_gets_neither_heading_nor_escape_codes(home):
    env = surroundings(home)
    del env["NO_COLOR"]
    with Terminal(env, home) as terminal:
        terminal.run("manifold daemon start")
        for line, heading in TABLES.items():
            shown, _ = terminal.run(f"manifold {line}")
            assert f"\x1b[1m{heading}\x1b[0m" in shown, shown
            piped = subprocess.run(["manifold", *line.split()], env=env, cwd=home, capture_output=True, text=True)
            assert piped.returncode == 0 and piped.stdout and heading not in piped.stdout.split("  ")[0], piped
            assert "\x1b" not in piped.stdout + piped.stderr, piped


@pytest.mark.parametrize("begin", ["true", "manifold daemon start"])
def test_an_interrupt_cancels_the_call_at_its_server(home, begin):
    """No server of the tour tells what it was told."""
    log = home / "log"
    slow = gateway.fake({"era": "legacy", "tools": [{"name": "progress"}], "log": str(log)})
    (home / ".config/manifold/config.json").write_text(json.dumps({"mcpServers": {"slow": slow}}))
    with Terminal(surroundings(home), home) as terminal:
        terminal.run(begin)
        shown, code = terminal.run("manifold call slow.progress steps:=2 ms:=600000", [("1/2", b"\x03")])
        assert code == 130, shown
        deadline = time.monotonic() + 30
        while "notifications/cancelled" not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
