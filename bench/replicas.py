"""What replicas and their Redis cost: a call, a session, a stream's event; measured with one, two and three of them."""
import concurrent.futures, http.client, json, os, re, shutil, socket, statistics, subprocess, time
from contextlib import ExitStack, closing
from pathlib import Path

REVISION = "2025-11-25"
# What a replica asks of Redis to be known, whether or not it has anything to do.
ASIDE = {"info", "ping", "client", "hello", "config", "select", "subscribe", "script"}


class Redis:
    """A Redis that keeps nothing, and what it was asked."""

    def __init__(self, port, folder):
        self.port = port
        command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(1000):
            try:
                return socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                time.sleep(0.01)
        raise RuntimeError("redis-server does not answer")

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def info(self, section):
        with socket.create_connection(("127.0.0.1", self.port)) as connection, connection.makefile("rb") as answer:
            connection.sendall(f"INFO {section}\r\n".encode())
            return answer.read(int(answer.readline()[1:])).decode()

    def asked(self):
        """How often it was asked anything, and for how many µs it worked on that."""
        found = re.findall(r"cmdstat_([^:]+):calls=(\d+),usec=(\d+)", self.info("commandstats"))
        found = [(int(calls), int(micros)) for name, calls, micros in found if name.split("|")[0] not in ASIDE]
        return [sum(column) for column in zip(*found)] if found else [0, 0]

    def bytes(self):
        return int(re.search(r"used_memory:(\d+)", self.info("memory"))[1])

    def over(self, work, seconds=0):
        """Does some work; returns what it gave, and what Redis was asked and came to hold meanwhile. What replicas ask for
        themselves is measured beforehand, and taken off."""
        before, began = self.asked(), time.monotonic()
        time.sleep(4)
        aside = [(late - early) / (time.monotonic() - began) for early, late in zip(before, self.asked())]
        asked, held, began = self.asked(), self.bytes(), time.monotonic()
        result = work()
        took = time.monotonic() - began
        ops, micros = [late - early - rest * took for early, late, rest in zip(asked, self.asked(), aside)]
        return result, {"ops": max(ops, 0), "us": max(micros, 0), "bytes": self.bytes() - held}


class Client:
    """A client with a session, as small as can be."""

    def __init__(self, port):
        self.port, self.session = port, None
        about = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.post("initialize", about)
        self.post("notifications/initialized", {}, number=None)

    def post(self, method, params, number=1):
        """Returns how many events said something, if the answer is a stream."""
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": REVISION}
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number is not None else {})
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as connection:
            connection.request("POST", "/mcp", json.dumps(message), headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            assert answer.status < 300, f"{method}: {answer.status} {body}"
            self.session = self.session or answer.headers["Mcp-Session-Id"]
            return sum(line.startswith("data: {") for line in body.splitlines())


def measure(bench, counts=(1, 2, 3)):
    """`bench` has the programs, the scratch folder, the load and how to start a gateway."""
    if not shutil.which("redis-server"):
        return print("\n## Replicas\n\nnot run: there is no redis-server", flush=True)
    busy = os.getloadavg()[0]
    mark = f"; the machine was busy with other things (load {busy:.1f}), so times and rates are too long and too low" if busy > 0.5 else ""
    print(f"\n## Replicas (legacy sessions, 16 in flight at each replica{mark})\n")
    print("| replicas | calls/s together | CPU µs/call | Redis ops/call | p50 µs | p99 ms | RSS MB each |\n|---|---|---|---|---|---|---|", flush=True)
    for count in counts:
        rounds = [calls(bench, count) for _ in range(bench.repeat)]
        found = {key: statistics.median(round[key] for round in rounds) for key in rounds[0]}
        print(
            f"| {count} | {found['rate']:,.0f} | {found['cpu']:.1f} | {found['ops']:.4f} | {found['p50']:,.0f} "
            f"| {found['p99']:.2f} | {found['rss']:.1f} |",
            flush=True,
        )
    print("\n| what | Redis ops | Redis µs | Redis bytes | of a replica |\n|---|---|---|---|---|", flush=True)
    for name, (times, cost, replica) in parts(bench):
        each = {key: value / times for key, value in cost.items()}
        print(f"| {name} | {each['ops']:.2f} | {each['us']:.1f} | {each['bytes']:,.0f} | {replica} |", flush=True)


def running(bench, count, stack):
    """Starts a Redis and replicas, and returns them."""
    redis = Redis(bench.free_port(), str(bench.scratch))
    stack.callback(redis.stop)
    keys = bench.scratch / "keys"
    if not keys.exists():
        keys.touch(mode=0o600)
        keys.write_text("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n")
    shared = ["--state", f"redis://127.0.0.1:{redis.port}/0", "--state-key-file", str(keys)]
    replicas = [stack.enter_context(bench.gateway([*shared, "--replica", f"r{at}"])) for at in range(count)]
    # All are known to all, and what a start leaves to be done is done.
    time.sleep(5)
    return redis, replicas


def calls(bench, count):
    with ExitStack() as stack:
        redis, replicas = running(bench, count, stack)
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(count))
        load = lambda replica: replica.calls(connections=16, sessions=16, tools="s0__echo")
        found, cost = redis.over(lambda: list(pool.map(load, replicas)))
        mean = lambda key: statistics.mean(one[key] for one in found)
        # Opening the sessions is no part of a call.
        ops = max(cost["ops"] - 16 * count * opening(bench, redis, replicas[0]), 0)
        return {
            "rate": sum(one["rate"] for one in found), "cpu": mean("cpu_us"), "p50": mean("p50_us"),
            "p99": mean("p99_us") / 1000, "rss": mean("rss_kb") / 1024, "ops": ops / sum(one["calls"] for one in found),
        }


def opening(bench, redis, replica):
    """How often Redis is asked for a session that is opened."""
    _, cost = redis.over(lambda: [Client(replica.port) for _ in range(50)])
    return cost["ops"] / 50


def parts(bench):
    """Each of what costs a Redis anything, by itself: how often it was done, and what that cost."""
    with ExitStack() as stack:
        redis, (one, two) = running(bench, 2, stack)
        found, cost = redis.over(lambda: bench.load("sessions", "--url", f"http://127.0.0.1:{one.port}/mcp", "--count", 5000, "--pid", one.process.pid))
        yield "a session is opened", (5100, cost, f"{found['kib_each']:.1f} KiB")
        clients = [Client(one.port) for _ in range(200)]
        cost = redis.over(lambda: [client.post("ping", {}) for client in clients])[1]
        yield "a call on a session that the replica knows", (200, cost, "")

        def moved():
            for client in clients:
                client.port = two.port
                client.post("ping", {})

        yield "a call on one that it does not know", (200, redis.over(moved)[1], "")
        cost = redis.over(lambda: [client.post("logging/setLevel", {"level": "info"}) for client in clients])[1]
        yield "a level is set", (200, cost, "")
    if not bench.fake:
        return
    with ExitStack() as stack:
        bench.use_fake()
        redis, (one,) = running(bench, 1, stack)
        client = Client(one.port)
        stream = {"name": "s0__progress", "arguments": {"steps": 500, "ms": 1}, "_meta": {"progressToken": "t"}}
        client.post("tools/call", stream)
        streams, cost = redis.over(lambda: [client.post("tools/call", stream) for _ in range(10)])
        yield "an event of a stream", (sum(streams), cost, "")
        subscribe = lambda at: client.post("resources/subscribe", {"uri": f"file:///r{at}"})
        yield "a subscription", (200, redis.over(lambda: [subscribe(at) for at in range(200)])[1], "")
