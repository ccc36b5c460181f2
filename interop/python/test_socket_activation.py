"""The daemon behind sockets that somebody else listens at, as systemd does for `manifold daemon install`."""

import fcntl
import json
import os
import re
import select
import socket
import subprocess
import threading

import pytest

import gateway
from wire import Peer

PATIENCE = 60
# Above all that Python opens by itself.
FIRST_COPY = 100


class Activator:
    """Listens at the sockets of a unit and starts its service whenever somebody comes and it does not run."""

    def __init__(self, paths, command, env):
        self.started = []
        self._command, self._env = command, env
        self._listeners = [listener(path) for path in paths]
        self._end, self._ended = os.pipe()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._ended)
        self._thread.join(PATIENCE)
        for process in self.started:
            process.kill()
            process.wait(PATIENCE)

    def _run(self):
        while self._end not in select.select([self._end, *self._listeners], [], [])[0]:
            self.started.append(self._start())
            while self.started[-1].poll() is None:
                # Nobody else looks at the sockets while it runs.
                if select.select([self._end], [], [], 0.02)[0]:
                    return

    def _start(self):
        copies = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, FIRST_COPY) for one in self._listeners]

        def leave_open():
            for number, copy in enumerate(copies, 3):
                os.dup2(copy, number)

        # The number of the process is its own once it is there.
        command = ["sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", *self._command]
        env = {**self._env, "LISTEN_FDS": str(len(copies))}
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(
            command, env=env, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=False, preexec_fn=leave_open
        )
        for copy in copies:
            os.close(copy)
        return process


def listener(path):
    one = socket.socket(socket.AF_UNIX)
    one.bind(path)
    os.chmod(path, 0o600)
    one.listen(16)
    return one


@pytest.fixture
def home(tmp_path):
    (tmp_path / "run").mkdir(mode=0o700)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"mcpServers": {"time": {"builtin": "time"}}, "daemon": {"linger": 600000}}))
    folders = {"HOME": "home", "XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state"}
    env = {name: str(tmp_path / folder) for name, folder in folders.items()}
    return config, {**env, "PATH": os.environ["PATH"]}


def test_a_daemon_comes_back_by_the_sockets_it_was_given(home):
    config, env = home

    def order(*words):
        command = [gateway.MANIFOLD, "daemon", *words, "--config", str(config)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, (words, done)
        return done.stdout

    paths = re.findall(r"^ListenStream=(.*)$", order("install", "--print"), re.MULTILINE)
    assert len(paths) == 2
    status = lambda: json.loads(order("status", "--json"))
    where = lambda: [os.stat(path).st_ino for path in paths]
    window = [gateway.MANIFOLD, "serve", "--stdio", "--config", str(config)]
    service = [gateway.MANIFOLD, "daemon", "run", "--config", str(config)]

    with Activator(paths, service, env) as activator, Peer(window, env, {}) as peer:

        def call():
            asked = {"name": "time__get_current_time", "arguments": {"timezone": "UTC"}}
            assert "result" in peer.ask("tools/call", asked)

        peer.initialize({})
        call()
        given, first = where(), status()["pid"]
        assert first == activator.started[0].pid
        assert "restarted" in order("restart")
        second = status()["pid"]
        assert (second, len(activator.started)) == (activator.started[1].pid, 2)
        call()
        # The program that takes its place knows that the sockets are not its own to remove.
        order("upgrade")
        assert status()["pid"] == second
        call()
        order("stop")
        assert where() == given
        call()
        assert status()["pid"] == activator.started[2].pid
        order("stop")
        assert where() == given
