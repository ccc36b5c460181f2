"""LiteMCP both ways: the official Python SDK uses the sample LiteMCP server, the sample LiteMCP client real servers."""

import contextlib
import json
import sys
import time

import pytest

import gateway
from test_sdk import both_modes, text, with_gateway

SAMPLES = gateway.ROOT / "examples/litemcp"
sys.path.insert(0, str(SAMPLES))

import client  # noqa: E402

CALCULATOR = [sys.executable, str(SAMPLES / "calculator.py")]


@contextlib.contextmanager
def calculator(transport):
    """Runs the sample server, or lets the gateway run it, and gives its config entry."""
    if transport == "stdio":
        yield {"type": "litemcp", "command": CALCULATOR[0], "args": CALCULATOR[1:]}
        return
    port = gateway.free_port()
    with gateway.running([*CALCULATOR, f"--{transport}", str(port)], port):
        yield {"type": "litemcp", "url": f"{transport}://127.0.0.1:{port}/"}


def litemcp(tmp_path, servers, *more):
    """Returns the command line of a gateway that serves LiteMCP."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    return [*gateway.surroundings(tmp_path), gateway.MANIFOLD, "litemcp", "--config", str(config), *more]


@both_modes
@pytest.mark.parametrize("transport", ["stdio", "http", "ws"])
def test_the_sdk_calls_the_sample_calculator(tmp_path, mode, transport):
    """S4-8, S4-9, S4-11, decision 28."""

    async def test(session):
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert tools["calc__Calculator"].input_schema["required"] == ["a", "b"]
        result = await session.call_tool("calc__Calculator", {"a": "2", "b": "3"})
        assert text(result) == "5"
        assert result.content[0].meta == {"litemcp/type": "number"}
        assert (await session.call_tool("calc__Calculator", {"a": "two", "b": "3"})).is_error

    with calculator(transport) as entry:
        with_gateway(tmp_path, test, {"calc": entry}, mode)


def test_a_litemcp_client_calls_a_tool_of_a_real_server(tmp_path):
    """S4-1, S4-8, S4-9, S4-12, decision 27: `mcp-server-time`, exposed alone."""
    with client.connect(litemcp(tmp_path, {"time": gateway.TIME}, "--tool", "time__convert_time")) as server:
        tool = server.tool()
        names = [parameter["name"] for parameter in tool["parameters"]]
        assert sorted(names) == ["source_timezone", "target_timezone", "time"]
        assert "time__convert_time" in client.prompt(tool)
        values = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        result = server.call(*(values[name] for name in names))
        assert result["params"] == values
        assert not result["response"]["error"], result
        item = result["response"]["content"][0]
        assert item["type"] == "text"
        assert json.loads(item["data"])["target"]["datetime"].endswith("21:00:00+09:00")
        failed = server.call(*({**values, "time": "noon"}[name] for name in names))
        assert failed["response"]["error"], failed


def test_a_litemcp_client_finds_every_tool_behind_one(tmp_path):
    """Decision 27: without `--tool` one tool calls all others."""
    with calculator("stdio") as entry, client.connect(
        litemcp(tmp_path, {"time": gateway.TIME, "calc": entry})
    ) as server:
        told = client.prompt(server.tool())
        # A server that takes its time is announced later, and told of from then on.
        deadline = time.monotonic() + 60
        while "time__get_current_time" not in told and time.monotonic() < deadline:
            time.sleep(0.1)
            told = client.prompt(server.tool())
        assert "time__get_current_time" in told and "calc__Calculator" in told
        result = server.call("time__get_current_time", '{"timezone":"UTC"}')
        assert json.loads(result["response"]["content"][0]["data"])["timezone"] == "UTC"
        assert server.call("calc__Calculator", '{"a":"2","b":"3"}')["response"]["content"] == [
            {"type": "number", "data": "5"}
        ]


def test_a_litemcp_client_calls_a_litemcp_server_unchanged(tmp_path):
    """S4-9: the answer through the gateway is the answer without it."""
    with calculator("stdio") as entry, client.connect(CALCULATOR) as direct, client.connect(
        litemcp(tmp_path, {"calc": entry}, "--tool", "calc__Calculator")
    ) as through:
        assert through.tool() == {**direct.tool(), "name": "calc__Calculator"}
        for arguments in (("2", "3"), ("two", "3")):
            assert through.call(*arguments) == direct.call(*arguments)
