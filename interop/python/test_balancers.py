"""The examples for HAProxy and nginx, as they stand in packaging/balancers but for addresses and certificates: before two
replicas that do as they are told, and, where the gateway knows how to share its sessions, before two real ones."""

import contextlib
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import gateway
import parts

EXAMPLES = gateway.ROOT / "packaging/balancers"
STUB = Path(__file__).parent / "stub_replica.py"
# So many answers in a row from one replica: the other is out.
OUT = 12


class Balancer:
    """A balancer that runs with its example before replicas at these ports."""

    def __init__(self, folder, ports):
        self.folder, self.ports, self.port = folder, ports, gateway.free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._config = folder / self.example
        make_certificate(folder)
        self.tls = ssl.create_default_context(cafile=str(folder / "cert"))
        self.write()

    def write(self, change=lambda text: text):
        text = (EXAMPLES / self.example).read_text()
        for old, new in {"10.0.0.11:3095": self.ports[0], "10.0.0.12:3095": self.ports[1]}.items():
            text = replaced(text, old, f"127.0.0.1:{new}")
        self._config.write_text(change(self.at_home(text)))

    def start(self):
        return gateway.running(self.command(), self.port, log=open(self.folder / "balancer.log", "w"))

    def open(self, method, path, body=None, headers=None):
        """Sends a request and returns its answer, which is not read yet, and the connection to close."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.tls)
        connection.request(method, path, body, {"Content-Type": "application/json"} | (headers or {}))
        return connection.getresponse(), connection

    def ask(self, wish="answer"):
        """Has a replica do something; returns the status and what it said."""
        answer, connection = self.open("POST", "/mcp", json.dumps({"do": wish}))
        with contextlib.closing(connection):
            body = answer.read()
            return answer.status, json.loads(body) if answer.status == 200 else None

    def served_by(self, count):
        """Asks so many times, which must work, and returns who answered."""
        answers = [self.ask() for _ in range(count)]
        assert {status for status, _ in answers} == {200}, answers
        return [told["replica"] for _, told in answers]

    def wait_for_only(self, name):
        parts.wait_until(lambda: set(self.served_by(OUT)) == {name}, f"only {name} is asked")


class Haproxy(Balancer):
    example = "haproxy.cfg"

    def at_home(self, text):
        text = replaced(text, "bind :443", f"bind {self.address}")
        return replaced(text, "/etc/haproxy/manifold.pem", str(self.folder / "both"))

    def command(self):
        return [gateway.program("haproxy"), "-db", "-f", str(self._config)]

    def take_out(self, replica):
        """It drains, and the balancer finds out."""
        replica.drain()


class Nginx(Balancer):
    example = "nginx.conf"

    def at_home(self, text):
        text = replaced(text, "listen 443", f"listen {self.address}")
        for name, file in {"crt": "cert", "key": "key"}.items():
            text = replaced(text, f"/etc/nginx/manifold.{name};", f"{self.folder / file};")
        places = "".join(f"{kind}_temp_path {self.folder / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return replaced(text, "access_log off;", f"access_log off; {places}")

    def command(self):
        settings = f"daemon off; user root; pid {self.folder / 'pid'}; error_log stderr;"
        return [gateway.program("nginx"), "-p", str(self.folder), "-c", str(self._config), "-e", "stderr", "-g", settings]

    def take_out(self, replica):
        """As the example says: `down`, and a reload. The workers that there were finish what they have."""
        address = f"127.0.0.1:{replica.port}"
        self.write(lambda text: replaced(text, f"{address} max_fails=1", f"{address} down max_fails=1"))
        before = self.workers()
        self.process.send_signal(signal.SIGHUP)
        parts.wait_until(lambda: self.workers() - before, "there are new workers")
        replica.drain()

    def workers(self):
        pid = self.process.pid
        return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


class Stub:
    """A replica that does as it is told."""

    def __init__(self, folder, name):
        self.name, self.port, self._log = name, gateway.free_port(), folder / f"{name}.log"
        self._log.touch()
        self.start()

    def start(self):
        command = [sys.executable, str(STUB), str(self.port), self.name, str(self._log)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        parts.wait_until(lambda: gateway.reachable(self.port), f"replica {self.name} listens")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def drain(self):
        self.tell("/drain")

    def tell(self, path):
        """Tells it something past the balancer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("POST", path, "{}")
            assert connection.getresponse().status == 200

    def seen(self, what):
        return self._log.read_text().splitlines().count(what)


KINDS = {"haproxy": Haproxy, "nginx": Nginx}


def replaced(text, old, new):
    assert text.count(old) == 1, f"{old} stands there {text.count(old)} times"
    return text.replace(old, new)


def make_certificate(folder):
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=balancer", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key"), "-out", str(folder / "cert")]
    subprocess.run([*command, *names, *files], check=True, capture_output=True, timeout=60)
    (folder / "both").write_text((folder / "cert").read_text() + (folder / "key").read_text())


def event(answer):
    """Reads the next event of a stream."""
    lines = []
    while line := answer.readline().strip():
        lines.append(line.decode())
    return "\n".join(lines).removeprefix("data: ")


@pytest.fixture(params=KINDS)
def kind(request):
    gateway.program(request.param), gateway.program("openssl")
    return request.param


@pytest.fixture
def stubs(tmp_path):
    replicas = [Stub(tmp_path, name) for name in ("one", "two")]
    yield replicas
    for replica in replicas:
        replica.kill()


@pytest.fixture
def balancer(tmp_path, kind, stubs):
    balancer = KINDS[kind](tmp_path, [replica.port for replica in stubs])
    with balancer.start() as balancer.process:
        parts.wait_until(lambda: balancer.ask()[0] == 200, f"{kind} serves")
        yield balancer


def test_each_gets_its_share(balancer):
    """And is told the host that the client wrote, and the client's address."""
    parts.wait_until(lambda: balancer.served_by(40).count("one") == 20, "both are asked in turn")
    _, told = balancer.ask()
    assert told["host"] == balancer.address and told["for"] == "127.0.0.1"


def test_what_is_not_published_is_not_there(balancer):
    for path, status in {"/readyz": 404, "/api/default/mcp": 404, "/mcpx": 404, "/": 404, "/mcp/work": 200}.items():
        answer, connection = balancer.open("POST", path, json.dumps({"do": "answer"}))
        connection.close()
        assert answer.status == status, path
    well_known = "/.well-known/oauth-protected-resource/mcp"
    for path in (well_known, f"{well_known}/work"):
        answer, connection = balancer.open("GET", path)
        connection.close()
        assert answer.status == 200, path


def test_a_replica_that_is_killed_fails_its_own_calls_and_no_others(balancer, stubs):
    """The call it worked on fails once and goes to nobody else; the stream ends; all that come next are answered."""
    streams = {}
    while set(streams) != {"one", "two"}:
        answer, connection = balancer.open("GET", "/mcp")
        streams[event(answer).split()[1]] = (answer, connection)
    held = []
    thread = threading.Thread(target=lambda: held.append(balancer.ask("hold")))
    thread.start()
    parts.wait_until(lambda: sum(replica.seen("hold") for replica in stubs) == 1, "one holds the call")
    (victim,) = [replica for replica in stubs if replica.seen("hold")]
    (other,) = [replica for replica in stubs if replica is not victim]
    victim.kill()
    thread.join(60)
    assert [status for status, _ in held] == [502]
    assert set(balancer.served_by(30)) == {other.name}
    assert other.seen("hold") == 0

    ended, _ = streams[victim.name]
    with contextlib.suppress(http.client.IncompleteRead, ConnectionError):
        assert event(ended) == ""
    goes_on, connection = streams[other.name]
    other.tell("/next")
    assert event(goes_on) == f"next {other.name}"
    connection.close()

    victim.start()
    parts.wait_until(lambda: victim.name in balancer.served_by(OUT), "it is back")


def test_a_replica_that_is_gone_costs_no_request(balancer, stubs):
    """Nothing was sent to it, so another one is asked: also by a client that keeps its connection."""
    connection = http.client.HTTPSConnection("127.0.0.1", balancer.port, timeout=60, context=balancer.tls)
    with contextlib.closing(connection):
        for gone in (None, *stubs):
            if gone:
                gone.kill()
            for _ in range(10):
                connection.request("POST", "/mcp", json.dumps({"do": "answer"}), {"Content-Type": "application/json"})
                answer = connection.getresponse()
                assert answer.status == 200, answer.read()
                answer.read()
            if gone:
                gone.start()
                parts.wait_until(lambda: gone.name in balancer.served_by(OUT), "it is back")


def test_a_call_that_kills_its_replica_kills_no_second(balancer, stubs):
    assert balancer.ask("die") == (502, None)
    assert sum(replica.seen("die") for replica in stubs) == 1
    parts.wait_until(lambda: any(replica.process.poll() is not None for replica in stubs), "one is dead")
    (living,) = [replica for replica in stubs if replica.process.poll() is None]
    assert set(balancer.served_by(20)) == {living.name}


def test_a_replica_that_is_taken_out_finishes_what_is_open(balancer, stubs):
    """No new request comes to it, none fails meanwhile, and its stream goes on."""
    answer, connection = balancer.open("POST", "/mcp", json.dumps({"do": "stream"}))
    word, name = event(answer).split()
    assert word == "open"
    (leaves,) = [replica for replica in stubs if replica.name == name]
    (stays,) = [replica for replica in stubs if replica is not leaves]
    balancer.take_out(leaves)
    balancer.wait_for_only(stays.name)
    before = leaves.seen("answer")
    assert set(balancer.served_by(30)) == {stays.name} and leaves.seen("answer") == before
    for _ in range(3):
        leaves.tell("/next")
        assert event(answer) == f"next {leaves.name}"
    connection.close()


def test_events_pass_as_they_come(balancer, stubs):
    """The next event is only made when the one before has arrived: nobody holds it back."""
    for method, body in (("POST", json.dumps({"do": "stream"})), ("GET", None)):
        answer, connection = balancer.open(method, "/mcp", body, {"Accept": "text/event-stream"})
        assert answer.headers["Content-Type"] == "text/event-stream"
        name = event(answer).split()[1]
        (replica,) = [replica for replica in stubs if replica.name == name]
        for _ in range(5):
            replica.tell("/next")
            assert event(answer) == f"next {name}"
        connection.close()


def test_a_long_body_passes(balancer):
    answer, connection = balancer.open("POST", "/mcp", json.dumps({"do": "answer", "text": "x" * 4_000_000}))
    with contextlib.closing(connection):
        assert answer.status == 200


# --- real replicas

REVISION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "interop", "version": "1"},
}
TOOL = "time__get_current_time"
# Longer than any balancer needs to find out that a replica leaves.
CONFIG = {"mcpServers": {"time": {"builtin": "time"}}, "scale": {"drainDelay": 10_000}}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def knows_replicas():
    with contextlib.suppress(OSError):
        done = subprocess.run([gateway.MANIFOLD, "http", "--help"], capture_output=True, text=True, timeout=60)
        return "--state-key-file" in done.stdout
    return False


class Real:
    """A gateway that shares its sealing keys with another."""

    def __init__(self, folder, name, keys):
        self.name, self.port, self._folder = name, gateway.free_port(), folder / name
        self._folder.mkdir()
        (self._folder / "config.json").write_text(json.dumps(CONFIG))
        self._keys = keys
        self.start()

    def start(self):
        words = ["--config", str(self._folder / "config.json"), "--port", str(self.port)]
        words += ["--state-key-file", str(self._keys), "--replica", self.name]
        # Not through env: the process that is killed must be the gateway.
        settings = dict(word.split("=", 1) for word in gateway.surroundings(self._folder)[1:])
        with open(self._folder / "log", "a") as log:
            self.process = subprocess.Popen(
                [gateway.MANIFOLD, "http", *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | settings
            )
        parts.wait_until(self.is_ready, f"replica {self.name} is ready")

    def is_ready(self):
        assert self.process.poll() is None, (self._folder / "log").read_text()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        return False

    def drain(self):
        self.process.terminate()

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def real(tmp_path, kind):
    if not knows_replicas():
        pytest.skip("this gateway knows no --state-key-file")
    keys = tmp_path / "keys"
    keys.write_text(subprocess.run(["openssl", "rand", "-base64", "32"], capture_output=True, text=True, check=True).stdout)
    keys.chmod(0o600)
    replicas = [Real(tmp_path, name, keys) for name in ("one", "two")]
    balancer = KINDS[kind](tmp_path, [replica.port for replica in replicas])
    with balancer.start() as balancer.process:
        parts.wait_until(lambda: modern(balancer)[0] == 200, f"{kind} serves")
        yield balancer, replicas
    for replica in replicas:
        replica.kill()


def modern(balancer):
    """Calls a tool without a session; returns the status and the message that answers."""
    headers = ACCEPT | {"MCP-Protocol-Version": REVISION, "Mcp-Method": "tools/call", "Mcp-Name": TOOL}
    return post(balancer, "tools/call", {"name": TOOL, "arguments": {"timezone": "UTC"}, "_meta": META}, headers)[:2]


def post(balancer, method, params, headers, number=1):
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
    answer, connection = balancer.open("POST", "/mcp", json.dumps(message), headers)
    with contextlib.closing(connection):
        text = answer.read().decode()
        if answer.headers.get("Content-Type", "").startswith("text/event-stream"):
            text = re.findall(r"^data: (\{.*)$", text, re.M)[-1]
        return answer.status, json.loads(text) if text.startswith("{") else text, answer.headers


def is_answered(done):
    status, message = done
    return status == 200 and message.get("result", {}).get("content")


def test_real_replicas_serve_one_another_s_clients(real):
    """One is killed, comes back, and is then stopped as a rollout does it: nothing of all that is seen through the door."""
    balancer, (one, two) = real
    assert all(is_answered(modern(balancer)) for _ in range(40))
    one.kill()
    assert all(is_answered(modern(balancer)) for _ in range(40))
    one.start()
    assert all(is_answered(modern(balancer)) for _ in range(40))

    done, over = [], threading.Event()

    def client():
        while not over.is_set():
            done.append(modern(balancer))

    threads = [threading.Thread(target=client) for _ in range(4)]
    for thread in threads:
        thread.start()
    parts.wait_until(lambda: len(done) > 50, "calls go through")
    balancer.take_out(two)
    assert two.process.wait(120) == 0
    after = len(done)
    parts.wait_until(lambda: len(done) > after + 50, "calls go on")
    over.set()
    for thread in threads:
        thread.join(60)
    failed = [each for each in done if not is_answered(each)]
    assert not failed, f"{len(failed)} of {len(done)}: {failed[:3]}"


def test_a_session_is_good_at_either_replica(real):
    """A client that has a session is served by both, and by the one that is left."""
    balancer, (one, _) = real
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "interop", "version": "1"}}
    status, message, headers = post(balancer, "initialize", hello, ACCEPT)
    assert status == 200 and message["result"], message
    session = ACCEPT | {"Mcp-Session-Id": headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-11-25"}
    assert post(balancer, "notifications/initialized", {}, session, number=None)[0] == 202
    call = {"name": TOOL, "arguments": {"timezone": "UTC"}}
    for number in range(2, 12):
        assert is_answered(post(balancer, "tools/call", call, session, number)[:2])
    one.kill()
    for number in range(12, 22):
        assert is_answered(post(balancer, "tools/call", call, session, number)[:2])
