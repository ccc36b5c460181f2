"""Where the gateway and the real servers are, and a config that puts these behind it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

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
GIT = {"command": str(VENV / "mcp-server-git"), "args": []}


def command_line(server):
    return [server["command"], *server["args"]]


def serve(folder, servers):
    """Writes a config into the folder and returns the command line of a gateway with these servers."""
    config = Path(folder) / "config.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    return [MANIFOLD, "serve", "--stdio", "--config", str(config)]


def repository(folder):
    """Makes a git repository with one commit and returns its path."""
    path = Path(folder) / "repository"
    path.mkdir()
    (path / "hello.txt").write_text("hello\n")
    person = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
    for arguments in (["init", "-q"], ["add", "."], [*person, "commit", "-q", "-m", "the first commit"]):
        subprocess.run(["git", *arguments], cwd=path, check=True)
    return str(path)
