"""The official Python SDK, modern by default, and servers of each era, through the gateway on stdio and HTTP."""

import contextlib
import json

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

import gateway

MODERN = "2026-07-28"
QUESTION = {
    "method": "elicitation/create",
    "params": {
        "message": "Who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
    },
}

both_modes = pytest.mark.parametrize("mode", ["auto", "legacy"])
both_transports = pytest.mark.parametrize("transport", ["stdio", "http"])


def through(tmp_path, transport, servers, test, mode, **callbacks):
    """Runs an async test with a client of a gateway with these servers."""

    async def run(server):
        with anyio.fail_after(60):
            async with Client(server, mode=mode, read_timeout_seconds=30, **callbacks) as client:
                assert (client.protocol_version == MODERN) == (mode == "auto")
                await test(client)

    with contextlib.ExitStack() as stack:
        if transport == "stdio":
            command = gateway.serve(tmp_path, servers)
            anyio.run(run, StdioServerParameters(command=command[0], args=command[1:]))
        else:
            anyio.run(run, stack.enter_context(gateway.one_gateway(tmp_path, servers)))


async def elicit(_, params):
    return types.ElicitResult(action="accept", content={"name": "Ada"})


def text(result):
    assert not result.is_error, result
    return result.content[0].text


async def list_tools(client, *wanted):
    """Lists until the tools wanted are there: a list does not wait long for a slow server (decision 18)."""
    while True:
        names = {tool.name for tool in (await client.list_tools()).tools}
        if names >= set(wanted):
            return names
        await anyio.sleep(0.1)


def runs(path):
    """The tools that a fake server began to run; later rounds of the same call are left out."""
    return [line.split()[0] for line in path.read_text().splitlines() if line.endswith(" run")]


@both_modes
@both_transports
@pytest.mark.parametrize("era", ["legacy", "modern", "dual"])
def test_a_server_of_each_era_asks_the_client_and_runs_once(tmp_path, era, transport, mode):
    log = tmp_path / "runs"

    async def test(client):
        await list_tools(client, "asking__ask")
        said = json.loads(text(await client.call_tool("asking__ask", QUESTION)))
        assert said["action"] == "accept" and said["content"] == {"name": "Ada"}
        assert runs(log) == ["ask"]

    server = gateway.fake({"era": era, "tools": [{"name": "ask"}], "runs": str(log)})
    through(tmp_path, transport, {"asking": server}, test, mode, elicitation_callback=elicit)


@both_modes
@both_transports
def test_several_rounds_are_one_run(tmp_path, transport, mode):
    log = tmp_path / "runs"

    async def test(client):
        said = json.loads(text(await client.call_tool("asking__ask", QUESTION | {"rounds": 3})))
        assert said["content"] == {"name": "Ada"}
        assert runs(log) == ["ask"]

    server = gateway.fake({"era": "modern", "tools": [{"name": "ask"}], "runs": str(log)})
    through(tmp_path, transport, {"asking": server}, test, mode, elicitation_callback=elicit)


@both_modes
@both_transports
def test_real_servers_of_each_era(tmp_path, transport, mode):
    """mcp-server-time speaks both eras, server-everything the old ones."""

    async def test(client):
        await list_tools(client, "time__get_current_time", "everything__trigger-elicitation-request")
        now = text(await client.call_tool("time__get_current_time", {"timezone": "UTC"}))
        assert json.loads(now)["timezone"] == "UTC"
        assert text(await client.call_tool("everything__echo", {"message": "hi"})) == "Echo: hi"
        elicited = await client.call_tool("everything__trigger-elicitation-request", {})
        assert "Ada" in "\n".join(block.text for block in elicited.content)

    servers = {"time": gateway.TIME, "everything": gateway.EVERYTHING}
    through(tmp_path, transport, servers, test, mode, elicitation_callback=elicit)


@both_modes
@pytest.mark.parametrize("era", ["dies-on-discover", "silent-on-discover"])
def test_a_server_that_cannot_bear_the_probe(tmp_path, era, mode):
    async def test(client):
        await list_tools(client, "old__echo")
        assert text(await client.call_tool("old__echo", {"text": "here"})) == "here"

    through(tmp_path, "stdio", {"old": gateway.fake({"era": era})}, test, mode)


@both_transports
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_modern_client_hears_that_a_list_changed(tmp_path, era, transport):
    async def test(client):
        await list_tools(client, "s__addtool")
        async with client.listen(tools_list_changed=True) as news:
            await client.call_tool("s__addtool", {"name": "new"})
            async for _ in news:
                break
            await list_tools(client, "s__new")

    server = gateway.fake({"era": era, "tools": [{"name": "addtool"}]})
    through(tmp_path, transport, {"s": server}, test, "auto")
