"""The official Python SDK uses real servers through `manifold http`, at /mcp and at the old /sse, and at /mcp through a
balancer before two of them."""

import contextlib
import socket
import threading

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.sse import sse_client

import gateway

both_modes = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture(scope="module")
def servers():
    """Runs server-everything as a process, over Streamable HTTP and over the old SSE."""
    with contextlib.ExitStack() as stack:
        servers = {"local": gateway.EVERYTHING, "time": gateway.TIME}
        servers["remote"] = stack.enter_context(gateway.everything_at("streamableHttp"))
        servers["old"] = stack.enter_context(gateway.everything_at("sse"))
        yield servers


@pytest.fixture(scope="module")
def one_gateway(tmp_path_factory, servers):
    with gateway.one_gateway(tmp_path_factory.mktemp("http"), servers) as address:
        yield address


@pytest.fixture(scope="module")
def two_gateways(tmp_path_factory, servers):
    with gateway.two_gateways(tmp_path_factory.mktemp("replicas"), servers) as address:
        yield address


@pytest.fixture(params=["one_gateway", "two_gateways"])
def address(request):
    return request.getfixturevalue(request.param)


def with_client(server, test, mode="auto", **callbacks):
    async def run():
        with anyio.fail_after(90):
            async with Client(server, mode=mode, read_timeout_seconds=30, **callbacks) as client:
                await test(client)

    anyio.run(run)


def text(result):
    assert not result.is_error, result
    return result.content[0].text


async def list_tools(client, *wanted):
    """Lists until the tools wanted are there: a list does not wait long for a slow server (decision 18)."""
    while True:
        names = {tool.name for tool in (await client.list_tools()).tools}
        if names >= set(wanted):
            return names
        await anyio.sleep(0.2)


@both_modes
def test_tools_are_listed_and_called(address, mode):
    """S1-17, S3-8, S3-9."""

    async def test(client):
        assert client.server_info.name == "manifold"
        await list_tools(client, "local__echo", "remote__echo", "old__echo", "time__get_current_time")
        for server in ("local", "remote", "old"):
            assert text(await client.call_tool(f"{server}__echo", {"message": server})) == f"Echo: {server}"

    with_client(address, test, mode)


def test_the_old_transport_is_served(one_gateway):
    """Decision 35: /sse and /messages. What is posted must come to the gateway that has the stream."""

    async def test(client):
        await list_tools(client, "remote__echo")
        assert text(await client.call_tool("remote__echo", {"message": "old"})) == "Echo: old"

    with_client(sse_client(one_gateway.replace("/mcp", "/sse")), test, "legacy")


@both_modes
@pytest.mark.parametrize("server", ["local", "remote", "old"])
def test_questions_of_a_server_reach_the_client(address, server, mode):
    """Decision 29: to the client whose call asked, over HTTP on both sides."""

    async def sample(_, params):
        content = types.TextContent(type="text", text=f"heard {params.messages[0].content.text}")
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def elicit(_, params):
        return types.ElicitResult(action="decline")

    async def test(client):
        await list_tools(client, f"{server}__trigger-sampling-request")
        sampled = text(await client.call_tool(f"{server}__trigger-sampling-request", {"prompt": "hi"}))
        assert "heard Resource trigger-sampling-request context: hi" in sampled
        elicited = text(await client.call_tool(f"{server}__trigger-elicitation-request", {}))
        assert "declined" in elicited

    with_client(address, test, mode, sampling_callback=sample, elicitation_callback=elicit)


@both_modes
@pytest.mark.parametrize("server", ["local", "remote", "old"])
def test_progress_reaches_the_client(address, server, mode):
    async def test(client):
        steps = []

        async def on_progress(progress, total, message):
            steps.append((progress, total))

        name, operation = f"{server}__trigger-long-running-operation", {"duration": 0.6, "steps": 3}
        await client.call_tool(name, operation, progress_callback=on_progress)
        assert steps == [(1, 3), (2, 3), (3, 3)]

    with_client(address, test, mode)


def test_a_cut_stream_is_taken_up_again(address):
    """A call whose stream breaks after its first event comes to its end all the same, by `Last-Event-ID`."""

    async def test(client):
        steps = []

        async def on_progress(progress, total, message):
            steps.append(progress)

        relay.cut_after = b"notifications/progress"
        name, operation = "local__trigger-long-running-operation", {"duration": 3, "steps": 3}
        result = await client.call_tool(name, operation, progress_callback=on_progress)
        assert "3 seconds" in text(result)
        assert relay.cuts == 1
        assert steps == [1, 2, 3], "each once, in order"

    with Relay(address) as relay:
        with_client(relay.address, test, "legacy")
        assert any(b"last-event-id" in head.lower() for head in relay.heads)


class Relay:
    """Passes bytes between a client and the gateway, and cuts one connection once it has passed some text."""

    def __init__(self, address):
        self._target = int(address.rsplit(":", 1)[1].split("/")[0])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = address.replace(f":{self._target}/", f":{self._listener.getsockname()[1]}/")
        self.cut_after = None
        self.cuts = 0
        self.heads = []

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                threading.Thread(target=self._pump, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, client, True), daemon=True).start()

    def _pump(self, source, sink, is_answer):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
                if not is_answer:
                    self.heads.append(data)
                elif self.cut_after and self.cut_after in data:
                    self.cut_after = None
                    self.cuts += 1
                    break
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
