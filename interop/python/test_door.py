"""Clients of three makers sign in to the gateway's own door, with a real authorization server, and call."""

import base64
import contextlib
import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import anyio
import httpx2
import pytest
from fastmcp import Client as FastClient
from fastmcp.client.auth import OAuth
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

import gateway
import parts

# The first is all that everybody has; the others need more.
SCOPES = {"mcp:read": {"tools": ["time__get_current_time"]}, "mcp:write": {"tools": ["*"]}}
NOW = ("time__get_current_time", {"timezone": "UTC"})
CONVERT = ("time__convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"})
CALLBACK = "http://127.0.0.1:8123/callback"


@pytest.fixture
def authority():
    with parts.provider() as authority:
        yield authority


@contextlib.contextmanager
def door(home, servers, authority, **auth):
    """Runs a gateway over HTTP that lets in whom this authorization server vouches for, and gives its address."""
    port = gateway.free_port()
    auth = {"issuer": authority.address, "requiredScopes": ["mcp:read"], **auth}
    home.write(servers, server={"auth": auth})
    command = [gateway.MANIFOLD, "http", "--port", str(port), "--log-level", "trace"]
    with open(home.folder / "gateway.log", "w") as log:
        with gateway.running(command, port, home.env, log=log):
            yield f"http://127.0.0.1:{port}/mcp"


def in_the_browser(address):
    """Signs in and returns the parameters that the browser comes back with."""
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(parts.visit(address)).query))


class Memory:
    """Keeps what the Python SDK wants kept."""

    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class Visitor:
    """A user whose browser comes back at once."""

    def __init__(self):
        self.came = None

    async def redirect(self, address):
        self.came = await anyio.to_thread.run_sync(in_the_browser, address)

    async def callback(self):
        return AuthorizationCodeResult(code=self.came["code"], state=self.came.get("state"), iss=self.came.get("iss"))


async def python_calls(address, tools):
    user = Visitor()
    metadata = OAuthClientMetadata(client_name="Python SDK", redirect_uris=[CALLBACK], token_endpoint_auth_method="none")
    auth = OAuthClientProvider(address, metadata, Memory(), user.redirect, user.callback)
    async with httpx2.AsyncClient(auth=auth, timeout=60) as http:
        async with Client(streamable_http_client(address, http_client=http), read_timeout_seconds=60) as client:
            return [(await client.call_tool(*tool)).content[0].text for tool in tools]


class FastOAuth(OAuth):
    """FastMCP's own login, with our browser."""

    async def redirect_handler(self, address):
        self._user = Visitor()
        await self._user.redirect(address)

    async def callback_handler(self):
        return await self._user.callback()


async def fastmcp_calls(address, tools):
    async with FastClient(address, auth=FastOAuth(address, client_name="FastMCP")) as client:
        return [(await client.call_tool(*tool)).content[0].text for tool in tools]


async def typescript_calls(address, tools):
    command = [gateway.NODE, str(parts.OAUTH / "client.mjs"), address, json.dumps(tools)]
    done = await anyio.to_thread.run_sync(lambda: subprocess.run(command, capture_output=True, text=True, timeout=240))
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["text"] for line in done.stdout.splitlines()]


MAKERS = {"python": python_calls, "fastmcp": fastmcp_calls, "typescript": typescript_calls}


def calls(maker, address, tools):
    async def run():
        with anyio.fail_after(240):
            return await MAKERS[maker](address, tools)

    return anyio.run(run)


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


def fetched(address):
    with urllib.request.urlopen(address, timeout=60) as page:
        return json.load(page)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_client_signs_in_and_asks_for_more_when_a_call_needs_it(tmp_path, authority, maker):
    """The token is for what the door says it is; the call that needs a scope is told so with 403, and then works."""
    home = parts.Home(tmp_path)
    with door(home, {"time": {"builtin": "time"}}, authority, scopes=SCOPES) as address:
        one, two = calls(maker, address, [NOW, CONVERT])
        assert one and two
        described = fetched(address.replace("/mcp", "/.well-known/oauth-protected-resource/mcp"))
        assert described["resource"] == address and described["authorization_servers"] == [authority.address]
        first, *_, last = authority.answers("/token")
        assert claims(first["access_token"])["aud"] == claims(last["access_token"])["aud"] == address
        assert "mcp:write" not in claims(first["access_token"])["scope"].split()
        assert {"mcp:read", "mcp:write"} <= set(claims(last["access_token"])["scope"].split())


def test_a_token_that_says_nothing_is_asked_about(tmp_path):
    """Opaque tokens: the authorization server says what they are good for."""
    asker = {"client_id": "door", "client_secret": "secret-of-the-door", "redirect_uris": [], "response_types": [], "grant_types": []}
    there = asker | {"token_endpoint_auth_method": "client_secret_basic"}
    with parts.provider(format="opaque", clients=[there]) as authority:
        home = parts.Home(tmp_path)
        url = f"{authority.address}/token/introspection"
        introspection = {"url": url, "clientId": "door", "clientSecret": "secret-of-the-door"}
        with door(home, {"time": {"builtin": "time"}}, authority, introspection=introspection) as address:
            assert calls("python", address, [NOW])
        assert authority.answers("/token/introspection")[0]["active"]


def test_nobody_comes_in_without_a_token(tmp_path, authority):
    """And the answer says where to get one, without calling it an error."""
    home = parts.Home(tmp_path)
    with door(home, {"time": {"builtin": "time"}}, authority) as address:
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(address, b"{}", {"Content-Type": "application/json"}), timeout=60)
        challenge = refused.value.headers["WWW-Authenticate"]
        assert refused.value.code == 401
        assert "/.well-known/oauth-protected-resource/mcp" in challenge and "error=" not in challenge


def test_the_caller_s_token_goes_nowhere(tmp_path, authority):
    """Not to a server, which gets the gateway's own, nor to its authorization server, nor into the log."""
    with parts.provider(user="gateway") as other, parts.protected(other.address) as server:
        home = parts.Home(tmp_path)
        home.write({"docs": {"url": server.address}})
        home.login("docs")
        with door(home, {"docs": {"url": server.address}}, authority) as address:
            assert calls("python", address, [("docs__whoami", {})]) == ["gateway"]
        for answer in authority.answers("/token"):
            for token in (answer["access_token"], answer["refresh_token"]):
                assert not server.heard(token) and not other.heard(token)
                assert token not in (home.folder / "gateway.log").read_text()


def test_a_named_token_opens_what_it_is_for(tmp_path, authority):
    """Made while the gateway runs, used by an SDK, taken back: each is known without a restart."""
    home = parts.Home(tmp_path)
    with door(home, {"time": {"builtin": "time"}}, authority) as address:
        made = home.run("token", "create", "ci", "--tool", "time__get_current_time")
        assert made.returncode == 0, made.stderr
        token = made.stdout.strip()

        parts.wait_until(lambda: listed_with(token, address) == ["time__get_current_time"], "the token is known")
        assert home.run("token", "revoke", "ci").returncode == 0
        parts.wait_until(lambda: listed_with(token, address) == 401, "it is taken back")


def listed_with(token, address):
    """Returns the tools that one sees with a token, or the status of the refusal."""
    head = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}).encode()
    request = urllib.request.Request(address.replace("/mcp", "/api/default/mcp"), body, head)
    try:
        with urllib.request.urlopen(request, timeout=60) as page:
            return [tool["name"] for tool in json.load(page)["result"]["tools"]]
    except urllib.error.HTTPError as refused:
        return refused.code
