"""Real clients from npm: manifold writes itself into their files, they connect, and undo leaves no trace."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

import gateway

CLIENTS = gateway.ROOT / "target/clients/node_modules/.bin"

pytestmark = pytest.mark.skipif(not CLIENTS.is_dir(), reason="the clients are not installed")

# What each has before we come, what it is asked, and what it says when it is connected.
ASKED = {
    "claude-code": (["claude", "mcp", "list"], r"manifold: .* ✔ Connected"),
    "gemini": (["gemini", "mcp", "list"], r"✓ manifold: .* Connected"),
    "opencode": (["opencode", "mcp", "list"], r"✓ manifold"),
    # It does not connect to list them.
    "codex": (["codex", "mcp", "list"], r"manifold\s+/\S+\s+serve --stdio.*enabled"),
}
FILES = {
    "claude-code": (".claude.json", '{\n  "numStartups": 3,\n  "mcpServers": {\n    "notes": {"type": "stdio", "command": "true", "args": []}\n  }\n}\n'),
    "gemini": (".gemini/settings.json", '{\n  // the look\n  "ui": {"theme": "GitHub"}\n}\n'),
    "opencode": (".config/opencode/opencode.json", '{\n  "$schema": "https://opencode.ai/config.json", // for editors\n  "mcp": {}\n}\n'),
    "codex": (".codex/config.toml", '# mine\nmodel = "o3" # the usual\n\n[mcp_servers.notes]\ncommand = "true"\n'),
}


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    yield home
    run(home, [gateway.MANIFOLD, "daemon", "stop"])


def environment(home):
    node = gateway.ROOT / "target/interop/node/node_modules/.bin"
    return {
        "HOME": str(home),
        "PATH": f"{CLIENTS}:{node}:/usr/local/bin:/usr/bin:/bin",
        "XDG_RUNTIME_DIR": str(home.parent / "run"),
        # Folders nobody was asked about are not trusted, and no server is started there.
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def run(home, command):
    command = [str(part) for part in command]
    return subprocess.run(
        command, cwd=home, env=environment(home), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
    )


def manifold(home, *words):
    done = run(home, [gateway.MANIFOLD, *words])
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def seen(home, command):
    """Returns what a client says, on whichever stream."""
    done = run(home, command)
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)


def put(home, client):
    name, text = FILES[client]
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path, text


@pytest.mark.parametrize("client", ASKED)
def test_a_client_sees_us_after_install_and_no_trace_after_undo(home, client):
    path, text = put(home, client)
    command, expected = ASKED[client]
    answer = json.loads(manifold(home, "install", client, "--json"))
    assert (answer["client"], Path(answer["file"]), answer["changed"]) == (client, path, True)
    assert re.search(expected, seen(home, command))
    undone = json.loads(manifold(home, "undo", "--json"))
    assert not undone["left"], undone
    if client == "claude-code":
        # It writes its file anew at every start: the rest of it is its own.
        assert json.loads(path.read_text())["mcpServers"] == json.loads(text)["mcpServers"]
    else:
        assert path.read_bytes() == text.encode()
    assert not re.search(expected, seen(home, command))


def test_init_in_a_fresh_home_and_back(home):
    before = files(home)
    # A client that was started once is there.
    run(home, ["claude", "mcp", "list"])
    started = time.monotonic()
    manifold(home, "init", "--yes")
    assert re.search(ASKED["claude-code"][1], seen(home, ["claude", "mcp", "list"]))
    print(f"init to a connected client: {time.monotonic() - started:.1f} s")
    manifold(home, "undo")
    # What clients note for themselves when their own commands run is theirs.
    theirs = (".claude", ".gemini/projects", ".gemini/history", ".gemini/tmp", ".cache", ".local/state/manifold", ".npm")
    after = files(home)
    own = {name for name in after if not name.startswith(theirs)}
    assert own <= set(before), own
    changed = {name for name in own if after[name] != before[name]}
    assert not changed, f"not byte for byte: {changed}"
    assert "manifold" not in json.loads((home / ".claude.json").read_text()).get("mcpServers", {})


def files(home):
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}
