"""The official Python SDK uses real servers through `manifold serve --stdio`."""

import json

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

import gateway

THREE = {"everything": gateway.EVERYTHING, "time": gateway.TIME, "git": gateway.GIT}


def connect(command, mode="auto", **callbacks):
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    return Client(parameters, mode=mode, read_timeout_seconds=30, **callbacks)


def with_gateway(tmp_path, test, servers=THREE, mode="auto", **callbacks):
    """Runs an async test with a client of a gateway with these servers."""

    async def run():
        async with connect(gateway.serve(tmp_path, servers), mode, **callbacks) as client:
            await test(client)

    anyio.run(run)


async def list_tools(client, *wanted):
    """Lists until the tools wanted are there: a list does not wait long for a slow server (decision 18)."""
    with anyio.fail_after(60):
        while True:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            if tools.keys() >= set(wanted):
                return tools
            await anyio.sleep(0.2)


def text(result):
    assert not result.is_error, result
    return result.content[0].text


both_modes = pytest.mark.parametrize("mode", ["auto", "legacy"])


def test_the_handshake_is_modern_unless_told_otherwise(tmp_path):
    """S1-38, S1-39. `auto` asks `server/discover` first and is answered; `legacy` begins with `initialize`."""

    def test(versions):
        async def test(client):
            assert client.protocol_version in versions
            assert client.server_info.name == "manifold"
            assert client.server_capabilities.tools.list_changed

        return test

    with_gateway(tmp_path, test(["2026-07-28"]), mode="auto")
    with_gateway(tmp_path, test(HANDSHAKE_PROTOCOL_VERSIONS), mode="legacy")


@both_modes
def test_tools_of_three_servers_are_listed_flat(tmp_path, mode):
    """S1-17, S1-18, S3-5, S3-6, S3-17."""

    async def test(client):
        tools = await list_tools(client, "everything__echo", "time__get_current_time", "git__git_log")
        assert "manifold__servers_list" in tools
        assert tools["time__get_current_time"].description.startswith("[time] ")

    with_gateway(tmp_path, test, mode=mode)


@both_modes
def test_tools_of_three_servers_are_called(tmp_path, mode):
    """S0-7, S1-42, S3-8."""
    repository = gateway.repository(tmp_path)

    async def test(client):
        assert text(await client.call_tool("everything__echo", {"message": "hello"})) == "Echo: hello"
        time = text(await client.call_tool("time__get_current_time", {"timezone": "UTC"}))
        assert json.loads(time)["timezone"] == "UTC"
        log = text(await client.call_tool("git__git_log", {"repo_path": repository}))
        assert "the first commit" in log

    with_gateway(tmp_path, test, mode=mode)


def test_a_listed_tool_is_the_server_s_own_but_for_its_label(tmp_path):
    """S1-19, S3-7: input schemas, output schemas, annotations and titles come through."""

    async def own_tools(key, server):
        async with connect(gateway.command_line(server), mode="legacy") as client:
            return {f"{key}__{tool.name}": tool for tool in (await client.list_tools()).tools}

    async def test(client):
        for key, server in THREE.items():
            own = await own_tools(key, server)
            listed = await list_tools(client, *own)
            for name, tool in own.items():
                label = {"name": name, "description": f"[{key}] {tool.description}"}
                assert listed[name] == tool.model_copy(update=label)

    with_gateway(tmp_path, test, mode="legacy")


def test_calls_to_several_servers_run_side_by_side(tmp_path):
    """S1-45."""

    async def test(client):
        order = []

        async def call(name, arguments):
            await client.call_tool(name, arguments)
            order.append(name)

        await list_tools(client, "everything__echo", "time__get_current_time")
        async with anyio.create_task_group() as group:
            group.start_soon(call, "everything__trigger-long-running-operation", {"duration": 2, "steps": 1})
            await anyio.sleep(0.2)
            group.start_soon(call, "time__get_current_time", {"timezone": "UTC"})
        assert order == ["time__get_current_time", "everything__trigger-long-running-operation"]

    with_gateway(tmp_path, test)


def test_a_server_that_cannot_start_leaves_the_others_working(tmp_path):
    """S1-31, S1-32, S1-33, S3-18."""

    async def test(client):
        names = await list_tools(client, "time__get_current_time")
        assert not any(name.startswith("broken__") for name in names)
        await client.call_tool("time__get_current_time", {"timezone": "UTC"})

    broken = {"command": str(tmp_path / "no-such-program"), "args": []}
    with_gateway(tmp_path, test, servers={"broken": broken, "time": gateway.TIME})


def test_questions_of_a_server_reach_the_client(tmp_path):
    """Decision 29: sampling, elicitation and roots go to the client whose call asked."""

    async def sample(_, params):
        said = params.messages[0].content.text
        content = types.TextContent(type="text", text=f"heard {said}")
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def elicit(_, params):
        return types.ElicitResult(action="decline")

    async def roots(_):
        return types.ListRootsResult(roots=[types.Root(uri="file:///one", name="One")])

    async def test(client):
        sampled = text(await client.call_tool("everything__trigger-sampling-request", {"prompt": "hi"}))
        assert "heard Resource trigger-sampling-request context: hi" in sampled
        elicited = text(await client.call_tool("everything__trigger-elicitation-request", {}))
        assert "declined" in elicited
        # The server asks for them by itself, sooner or later, and tells what it knows.
        with anyio.fail_after(120):
            while "file:///one" not in text(await client.call_tool("everything__get-roots-list", {})):
                await anyio.sleep(0.05)

    questions = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}
    with_gateway(tmp_path, test, servers={"everything": gateway.EVERYTHING}, **questions)


def test_progress_reaches_the_client(tmp_path):
    async def test(client):
        steps = []

        async def on_progress(progress, total, message):
            steps.append((progress, total))

        operation = {"duration": 0.3, "steps": 3}
        await client.call_tool(
            "everything__trigger-long-running-operation", operation, progress_callback=on_progress
        )
        assert steps == [(1, 3), (2, 3), (3, 3)]

    with_gateway(tmp_path, test, servers={"everything": gateway.EVERYTHING})


def test_prompts_and_resources_of_real_servers(tmp_path):
    """S0-8, S0-9; resource URIs stay as the server gave them (decision 22)."""

    async def test(client):
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert "everything__args-prompt" in prompts
        prompt = await client.get_prompt("everything__args-prompt", {"city": "Oslo"})
        assert "Oslo" in prompt.messages[0].content.text
        uri = (await client.list_resources()).resources[0].uri
        assert uri.startswith("demo://")
        assert (await client.read_resource(uri)).contents[0].text
        templates = (await client.list_resource_templates()).resource_templates
        assert "demo://resource/dynamic/text/{resourceId}" in [template.uri_template for template in templates]

    with_gateway(tmp_path, test)


def test_the_manager_lists_the_servers(tmp_path):
    """S1-47."""

    async def test(client):
        await client.list_tools()
        servers = json.loads(text(await client.call_tool("manifold__servers_list", {})))
        assert {server["id"] for server in servers} == set(THREE)

    with_gateway(tmp_path, test)
