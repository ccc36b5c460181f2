"""What a client gets through Manifold is what the server said, byte for byte.

Every method of server-everything is asked twice, of the server itself and of a gateway in front of it, with the
same questions answered in the same way. The gateway reaches it over each of its transports in turn: a server behaves
alike on all of them. Results are compared as the text they came in. Only where Manifold puts
its label on, on names and descriptions, are they compared member by member.

`INTEROP_DIRECT=1` asks the server itself both times: what differs then is the server's own doing.
"""

import base64
import contextlib
import json
import os
import re

import pytest

import gateway
from wire import Peer, elements, members

DIRECT = bool(os.environ.get("INTEROP_DIRECT"))
KEY = "" if DIRECT else "everything__"
LABEL = "" if DIRECT else "[everything] "

# All that a client can offer, so that the server shows all its tools.
CAPABILITIES = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": True}}

ANSWERS = {
    "roots/list": {"roots": [{"uri": "file:///home/one", "name": "One"}, {"uri": "file:///two"}]},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "naïve “answer” \u2028 1.50"},
        "model": "test-model",
        "stopReason": "endTurn",
    },
    "elicitation/create": {
        "action": "accept",
        "content": {"name": "Ærø", "check": True, "email": "a@example.com", "integer": 42, "number": 3.5},
    },
}


@pytest.fixture(scope="module", params=["stdio", "streamableHttp", "sse"])
def peers(request, tmp_path_factory):
    """Returns the server itself and the gateway in front of it, both past the handshake."""
    folder = tmp_path_factory.mktemp("fidelity")
    # The server shows its environment in `get-env`, so both get the same one.
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TZ") if name in os.environ}
    env["XDG_CACHE_HOME"] = str(folder / "cache")
    direct = gateway.command_line(gateway.EVERYTHING)
    with contextlib.ExitStack() as stack:
        entry = gateway.EVERYTHING
        if request.param != "stdio":
            entry = stack.enter_context(gateway.everything_at(request.param, env))
        through = direct if DIRECT else gateway.serve(folder, {"everything": entry})
        server = stack.enter_context(Peer(direct, env, ANSWERS))
        manifold = stack.enter_context(Peer(through, env, ANSWERS))
        for peer in (server, manifold):
            assert "result" in peer.initialize(CAPABILITIES)
            # The server registers tools after the handshake and then reads the roots: let it come to rest.
            peer.ask("tools/list")
            peer.wait_to_be_asked("roots/list")
        yield server, manifold


# The server writes the time of day into its dynamic resources: the only thing it does not say twice.
CLOCK = re.compile(r"created at [0-9:]+\s?[AP]M")


def without_clock(text):
    def decoded(match):
        return '"blob":' + json.dumps(base64.b64decode(match[1]).decode())

    return CLOCK.sub("created at TIME", re.sub(r'"blob":"([A-Za-z0-9+/=]+)"', decoded, text))


def without_session(text):
    """The server names its session, which it has over HTTP only."""
    return re.sub(r"session (undefined|[0-9a-f-]{36})", "session ID", text)


def same(peers, method, params=None, through=None, mask=lambda text: text):
    """Asks both and compares what they say; `through` are the params for the gateway, where they differ."""
    server, manifold = peers
    asked = len(server.asked), len(manifold.asked)
    expected = server.ask(method, params)
    actual = manifold.ask(method, params if through is None else through)
    assert expected.keys() == actual.keys(), f"{expected} is not {actual}"
    for member in ("result", "error"):
        assert mask(actual.get(member, "")) == mask(expected.get(member, ""))
    # The questions asked on the way are the same too, in the same bytes.
    assert manifold.asked[asked[1] :] == server.asked[asked[0] :]
    return expected


def same_call(peers, tool, arguments, **options):
    def params(name):
        return {"name": name, "arguments": arguments}

    return same(peers, "tools/call", params(tool), params(KEY + tool), **options)


def check_labelled_list(peers, method, key, label=LABEL):
    """Compares a list whose items bear the server's key, all members but the label in their own bytes."""
    expected, actual = (elements(members(peer.ask(method)["result"])[key]) for peer in peers)
    actual = [item for item in map(members, actual) if not json.loads(item["name"]).startswith("manifold__")]
    assert len(actual) == len(expected) > 0
    for theirs, ours in zip(map(members, expected), actual):
        assert list(ours) == list(theirs), "members keep their order"
        for member in theirs:
            if member == "name":
                assert json.loads(ours["name"]) == KEY + json.loads(theirs["name"])
            elif member == "description":
                assert json.loads(ours["description"]) == label + json.loads(theirs["description"])
            else:
                assert ours[member] == theirs[member]


def test_tools_are_listed_as_they_are(peers):
    """S1-17, S1-18, S1-19, S3-7."""
    check_labelled_list(peers, "tools/list", "tools")


def test_prompts_are_listed_as_they_are(peers):
    """Prompts get a name of ours; their descriptions are for people who see that name anyway."""
    check_labelled_list(peers, "prompts/list", "prompts", label="")


def test_resources_are_listed_as_they_are(peers):
    """Decision 22: URIs stay."""
    expected = same(peers, "resources/list")
    assert elements(members(expected["result"])["resources"])


def test_resource_templates_are_listed_as_they_are(peers):
    same(peers, "resources/templates/list")


CALLS = [
    ("echo", {"message": "plain"}),
    ("echo", {"message": "ünï 漢字 \U0001f980 \u2028 \"quoted\" \\ \n\t \u0000"}),
    ("echo", {"message": ""}),
    ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    ("get-annotated-message", {"messageType": "success"}),
    ("get-annotated-message", {"messageType": "debug"}),
    ("get-resource-links", {"count": 5}),
    ("get-structured-content", {"location": "New York"}),
    ("get-sum", {"a": 1.5, "b": 1e21}),
    ("get-tiny-image", {}),
    ("get-roots-list", {}),
    ("trigger-elicitation-request", {}),
    ("trigger-url-elicitation", {"url": "https://example.com/", "elicitationId": "fixed"}),
    ("trigger-sampling-request", {"prompt": "say “hi”", "maxTokens": 7}),
    ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}),
    # Errors of the server: an `isError` result, and a JSON-RPC error.
    ("get-sum", {"a": "not a number"}),
    ("get-annotated-message", {"messageType": "unknown"}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=[f"{n}-{tool}" for n, (tool, _) in enumerate(CALLS)])
def test_a_tool_answers_the_same(peers, tool, arguments):
    """S0-7, S1-42, S3-8; an upstream's own error passes unchanged (decision 15)."""
    same_call(peers, tool, arguments)


def test_the_server_has_the_same_environment(peers):
    """Decision 30. The order of variables means nothing; the guard's mark is how it knows its own processes, the
    gateway's how one below it knows who stands above (D1), and a server over HTTP is told its port; the folders are
    this test's, and so is that there is no daemon."""
    folders = {"XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"}
    ours = {"MANIFOLD_TREE", "MANIFOLD_ABOVE", "MANIFOLD_DAEMON", "PORT"} | folders

    def in_order(text):
        content = json.loads(text)["content"] if text else []
        variables = (json.loads(block["text"]) for block in content)
        return [sorted((name, value) for name, value in each.items() if name not in ours) for each in variables]

    same_call(peers, "get-env", {}, mask=in_order)


def test_a_tool_that_only_runs_as_a_task_can_be_called_without_one(peers):
    """The server itself refuses that; the gateway makes the task and waits for it."""
    server, manifold = peers
    call = {"name": "simulate-research-query", "arguments": {"topic": "tasks"}}
    assert "requires task augmentation" in str(server.ask("tools/call", call))
    if not DIRECT:
        call["name"] = KEY + call["name"]
        assert "Research Report: tasks" in str(manifold.ask("tools/call", call))


def test_roots_are_asked_outside_of_calls(peers):
    """Decision 29: the server reads them soon after the handshake, when no call is open."""
    for peer in peers:
        assert "roots/list" in [method for method, _ in peer.asked]


def test_every_tool_has_been_called(peers):
    """So that a tool added by a newer server is not forgotten."""
    elsewhere = {
        "get-env",
        "get-resource-reference",
        "gzip-file-as-resource",
        "simulate-research-query",
        "toggle-simulated-logging",
        "toggle-subscriber-updates",
    }
    tools = elements(members(peers[0].ask("tools/list")["result"])["tools"])
    assert {json.loads(members(tool)["name"]) for tool in tools} == {tool for tool, _ in CALLS} | elsewhere


@pytest.mark.parametrize("kind", ["Text", "Blob"])
def test_embedded_resources_come_through(peers, kind):
    same_call(peers, "get-resource-reference", {"resourceType": kind, "resourceId": 3}, mask=without_clock)


@pytest.mark.parametrize("output", ["resource", "resourceLink"])
def test_a_resource_made_in_a_call_can_be_read(peers, output):
    arguments = {"name": f"{output}.gz", "data": "data:text/plain,hello", "outputType": output}
    result = members(same_call(peers, "gzip-file-as-resource", arguments)["result"])
    made = json.loads(elements(result["content"])[0])
    uri = made.get("uri") or made["resource"]["uri"]
    assert "result" in same(peers, "resources/read", {"uri": uri})


def test_url_elicitation_by_error_comes_through(peers):
    """Error -32042 carries what the client needs in `data`."""
    arguments = {"url": "https://example.com/", "elicitationId": "by-error", "errorPath": True}

    def without_random_id(text):
        # The prerequisite bears a UUID, new for each call.
        return re.sub(r'("elicitationId":")[0-9a-f-]{36}"', r'\1UUID"', text)

    expected = same_call(peers, "trigger-url-elicitation", arguments, mask=without_random_id)
    assert members(expected["error"])["code"] == "-32042"


def test_progress_comes_through_with_the_client_s_token(peers):
    told = []
    for peer, name in zip(peers, ("trigger-long-running-operation", KEY + "trigger-long-running-operation")):
        peer.notifications.clear()
        arguments = {"duration": 0.3, "steps": 3}
        peer.ask("tools/call", {"name": name, "arguments": arguments, "_meta": {"progressToken": "töken-1"}})
        told.append([note for note in peer.notifications if note["method"] == "notifications/progress"])
    assert told[0] == told[1]
    assert [note["params"]["progress"] for note in told[0]] == [1, 2, 3]


def test_resources_read_the_same(peers):
    """S0-8."""
    resources = elements(members(peers[0].ask("resources/list")["result"])["resources"])
    for resource in resources:
        expected = same(peers, "resources/read", {"uri": json.loads(members(resource)["uri"])})
        assert "result" in expected


@pytest.mark.parametrize("kind", ["text", "blob"])
def test_templated_resources_read_the_same(peers, kind):
    """S0-8: no list names these, only a template."""
    expected = same(peers, "resources/read", {"uri": f"demo://resource/dynamic/{kind}/7"}, mask=without_clock)
    assert "result" in expected


def test_the_server_s_own_read_error_comes_through(peers):
    expected = same(peers, "resources/read", {"uri": "demo://resource/dynamic/text/nonsense"})
    assert "error" in expected


def test_subscriptions_bring_updates(peers):
    uri = "demo://resource/static/document/features.md"
    same(peers, "resources/subscribe", {"uri": uri})
    for peer in peers:
        peer.notifications.clear()
    same_call(peers, "toggle-subscriber-updates", {}, mask=without_session)
    for peer in peers:
        assert peer.wait_for("notifications/resources/updated") == {"uri": uri}
    same_call(peers, "toggle-subscriber-updates", {}, mask=without_session)
    same(peers, "resources/unsubscribe", {"uri": uri})


PROMPTS = [
    ("simple-prompt", None),
    ("args-prompt", {"city": "Århus"}),
    ("args-prompt", {"city": "Paris", "state": "Texas"}),
    ("completable-prompt", {"department": "Sales", "name": "Eve"}),
    ("resource-prompt", {"resourceType": "Text", "resourceId": "2"}),
    ("resource-prompt", {"resourceType": "Blob", "resourceId": "2"}),
    # Errors of the server.
    ("args-prompt", {}),
    ("resource-prompt", {"resourceType": "None", "resourceId": "2"}),
]


@pytest.mark.parametrize(("prompt", "arguments"), PROMPTS)
def test_a_prompt_is_the_same(peers, prompt, arguments):
    """S0-9."""

    def params(name):
        return {"name": name} if arguments is None else {"name": name, "arguments": arguments}

    same(peers, "prompts/get", params(prompt), params(KEY + prompt), mask=without_clock)


def test_every_prompt_has_been_got(peers):
    prompts = elements(members(peers[0].ask("prompts/list")["result"])["prompts"])
    assert {json.loads(members(prompt)["name"]) for prompt in prompts} == {prompt for prompt, _ in PROMPTS}


@pytest.mark.parametrize("value", ["", "S", "nothing"])
def test_prompt_arguments_are_completed_the_same(peers, value):
    def params(name):
        return {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "department", "value": value}}

    same(peers, "completion/complete", params("completable-prompt"), params(KEY + "completable-prompt"))


def test_completion_context_comes_through(peers):
    def params(name):
        argument = {"name": "name", "value": ""}
        context = {"arguments": {"department": "Sales"}}
        return {"ref": {"type": "ref/prompt", "name": name}, "argument": argument, "context": context}

    expected = same(peers, "completion/complete", params("completable-prompt"), params(KEY + "completable-prompt"))
    assert "David" in expected["result"]


def test_template_variables_are_completed_the_same(peers):
    ref = {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}
    same(peers, "completion/complete", {"ref": ref, "argument": {"name": "resourceId", "value": "12"}})


def test_ping_is_answered(peers):
    """S1-41."""
    same(peers, "ping")


def test_the_log_level_is_set_and_log_messages_come_through(peers):
    same(peers, "logging/setLevel", {"level": "debug"})
    for peer in peers:
        peer.notifications.clear()
    same_call(peers, "toggle-simulated-logging", {}, mask=without_session)
    for peer in peers:
        assert peer.wait_for("notifications/message").keys() >= {"level", "data"}
    same_call(peers, "toggle-simulated-logging", {}, mask=without_session)
