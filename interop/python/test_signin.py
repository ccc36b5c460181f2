"""Signing in to protected servers, with an authorization server, a protected server and a browser that are real."""

import json
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

import parts

LONG = bool(os.environ.get("MANIFOLD_LONG"))


@pytest.fixture(scope="module")
def running():
    """The authorization server and the server that most tests use, each for itself, one after the other."""
    with parts.provider() as authority, parts.protected(authority.address) as server:
        yield authority, server


@pytest.fixture
def authority(running):
    authority, _ = running
    authority.set(ttl=3600)
    authority.forget()
    return authority


@pytest.fixture
def server(running, authority):
    return running[1]


@pytest.fixture
def home(tmp_path, server):
    return parts.Home(tmp_path, {"docs": {"url": server.address}})


@pytest.fixture(params=["alone", "daemon"])
def new_home(tmp_path, request):
    """A home without servers, whose clients have a gateway each, or a daemon in common."""
    home = parts.Home(tmp_path, daemon={"linger": 1000})
    home.env["MANIFOLD_DAEMON"] = "on" if request.param == "daemon" else "off"
    yield home
    home.run("daemon", "stop")


def test_a_new_user_adds_a_server_and_signs_in(new_home, authority, server):
    """The first call says what to do; a client that runs meanwhile has the tools without a restart."""
    home = new_home
    added = home.run("add", "docs", server.address)
    assert added.returncode == 0, added.stderr
    with home.client() as client:
        assert "docs__whoami" not in parts.listed(client)
        assert "manifold login docs" in parts.call(client, "docs__whoami")
        assert home.browsers() == [], "nothing opens by itself"
        home.login("docs")
        (opened,) = home.browsers()
        assert opened.startswith(f"{authority.address}/auth?")
        client.wait_for("notifications/tools/list_changed")
        parts.wait_until(lambda: "docs__whoami" in parts.listed(client), "the tools are there")
        assert parts.call(client, "docs__whoami") == "alice"


def test_what_is_asked_for_is_what_the_server_says(home, authority, server):
    """The same resource at every step, to the byte, and PKCE."""
    home.login("docs")
    (opened,) = home.browsers()
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(opened).query))
    (exchanged,) = authority.forms("/token")
    assert asked["resource"] == exchanged["resource"] == server.address
    assert asked["code_challenge_method"] == "S256" and exchanged["grant_type"] == "authorization_code"


def expired(home, authority, servers=("docs",)):
    """Signs in for tokens that are soon expired, and waits until they are; those that come next are good for long."""
    authority.set(ttl=4)
    for each in servers:
        home.login(each)
    end = time.time() + 5
    parts.wait_until(lambda: time.time() > end, "the tokens are expired")
    authority.set(ttl=3600)
    return len(authority.forms("/token"))


def at_once(work, count):
    """Does the work in as many threads and returns what each gave."""
    results = [None] * count

    def run(place):
        results[place] = work(place)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.parametrize("processes", [1, 4])
def test_sixty_four_calls_with_an_expired_token_cost_one_token_request(home, authority, processes):
    """However many processes they come from: a refresh token that is sent twice would end the login."""
    before = expired(home, authority)
    calls = [{"name": "docs__whoami", "arguments": {}}] * (64 // processes)
    clients = [home.client() for _ in range(processes)]
    try:
        answers = at_once(lambda place: clients[place].ask_all("tools/call", calls), processes)
    finally:
        for client in clients:
            client.__exit__()
    assert [parts.text(answer) for each in answers for answer in each] == ["alice"] * 64
    asked = authority.forms("/token")[before:]
    assert [form["grant_type"] for form in asked] == ["refresh_token"]
    assert len(home.browsers()) == 1


def test_rotation_goes_on_and_on(home, authority):
    """Four processes, tokens of five seconds, each refresh token good for once: no login is lost, no call fails."""
    wanted, seconds = (55, 300) if LONG else (3, 0)
    authority.set(ttl=5)
    home.login("docs")
    end = time.monotonic() + seconds
    renewed = lambda: [form for form in authority.forms("/token") if form["grant_type"] == "refresh_token"]
    over = threading.Event()

    def work(client):
        answers = []
        while not over.wait(0.2):
            answers.append(parts.call(client, "docs__whoami"))
        return answers

    def watch():
        limit = end + 240
        while time.monotonic() < limit and (len(renewed()) < wanted or time.monotonic() < end):
            time.sleep(0.2)
        over.set()

    clients = [home.client() for _ in range(4)]
    try:
        *answers, _ = at_once(lambda place: work(clients[place]) if place < 4 else watch(), 5)
    finally:
        for client in clients:
            client.__exit__()
    assert all(set(each) == {"alice"} for each in answers), answers
    assert len(renewed()) >= wanted and {form["status"] for form in renewed()} == {200}
    assert len(home.browsers()) == 1
    print(f"{len(renewed())} rotations, {sum(map(len, answers))} calls")


# --- without a browser here


def with_query(address, **changes):
    """Returns the address with some of its parameters changed."""
    place = urllib.parse.urlsplit(address)
    query = dict(urllib.parse.parse_qsl(place.query)) | changes
    return place._replace(query=urllib.parse.urlencode(query)).geturl()


def test_the_address_may_be_pasted_but_no_other_answer(home, authority):
    """One with another state, issuer or path is refused and sends nothing; the login stays open for the right one."""
    process = home.start("login", "docs", "--no-browser")
    try:
        back = parts.visit(parts.address_in(process))
        wrong = [with_query(back, state="x" * 43), with_query(back, iss="http://127.0.0.1:9"), back.replace("?", "/more?")]
        for each in wrong:
            process.stdin.write(f"{each}\n")
        process.stdin.flush()
        process.stdin.write(f"{back}\n")
        process.stdin.flush()
        shown = process.communicate(timeout=60)[1]
        assert process.returncode == 0, shown
        (exchanged,) = authority.forms("/token")
        assert exchanged["code"] in back and home.browsers() == []
    finally:
        process.kill()


def test_a_wrong_answer_at_the_callback_is_refused(home, authority):
    """4xx, nothing sent, nothing of it on the page, and the login still open."""
    process = home.start("login", "docs", "--no-browser")
    try:
        back = parts.visit(parts.address_in(process))
        error = with_query(back, iss="http://127.0.0.1:9", error="marker-of-an-error").replace("code=", "other=")
        for each in (with_query(back, state="marker-of-a-state"), with_query(back, iss="http://127.0.0.1:9"), error):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(each, timeout=60)
            assert 400 <= refused.value.code < 500
            assert b"marker" not in refused.value.read()
        assert authority.forms("/token") == [] and process.poll() is None
        urllib.request.urlopen(back, timeout=60).close()
        shown = process.communicate(timeout=60)[1]
        assert process.returncode == 0, shown
        assert len(authority.forms("/token")) == 1
    finally:
        process.kill()


def test_a_code_may_be_typed_on_another_device(home, authority):
    process = home.start("login", "docs", "--device")
    try:
        parts.follow(parts.address_in(process, "user_code="))
        shown = process.communicate(timeout=90)[1]
        assert process.returncode == 0, shown
        assert authority.forms("/token")[-1]["grant_type"].endswith(":device_code")
    finally:
        process.kill()
    with home.client() as client:
        assert parts.call(client, "docs__whoami") == "alice"


# --- who is signed in


def test_two_accounts_are_two_users(home, authority, server):
    """One address, two entries, two logins: no call of one goes with the other's token."""
    home.write({"mine": {"url": server.address}, "theirs": {"url": server.address, "account": "work"}})
    home.login("mine")
    authority.set(user="bob")
    home.login("theirs", "--account", "work")
    authority.set(user="alice")
    names = ["mine__whoami", "theirs__whoami"] * 100
    with home.client() as client:
        for name in names[:2]:
            parts.wait_until(lambda: name in parts.listed(client), f"{name} is there")
        answers = client.ask_all("tools/call", [{"name": name, "arguments": {}} for name in names])
    assert [parts.text(answer) for answer in answers] == ["alice", "bob"] * 100


def machine(way):
    """Returns a client that needs nobody to sign in, as the authorization server and as our config know it."""
    shared = {"client_id": "machine", "grant_types": ["client_credentials"], "redirect_uris": [], "response_types": []}
    if way == "secret":
        secret = {"client_secret": "secret-of-the-machine", "token_endpoint_auth_method": "client_secret_basic"}
        return shared | secret, {"clientSecret": secret["client_secret"]}
    key = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(key.public_key()))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    signs = {"jwks": {"keys": [public]}, "token_endpoint_auth_method": "private_key_jwt"}
    return shared | signs | {"token_endpoint_auth_signing_alg": "ES256"}, {"privateKey": key.private_bytes(*form).decode()}


@pytest.mark.parametrize("way", ["secret", "key"])
def test_a_machine_needs_no_login(tmp_path, way):
    there, here = machine(way)
    with parts.provider(clients=[there]) as authority, parts.protected(authority.address) as server:
        oauth = {"grant": "client_credentials", "clientId": "machine", "scopes": ["mcp:read"], **here}
        home = parts.Home(tmp_path, {"docs": {"url": server.address, "oauth": oauth}})
        with home.client() as client:
            parts.wait_until(lambda: "docs__whoami" in parts.listed(client), "the tools are there")
            assert parts.call(client, "docs__whoami") == "machine"
        (asked,) = authority.forms("/token")
        assert asked["grant_type"] == "client_credentials" and asked["resource"] == server.address
        assert home.browsers() == []


# --- another authorization server


DOCUMENT = "https://client.example/manifold.json"
REGISTERED = {
    "client_id": "known-client-id",
    "client_secret": "known-client-secret-of-some-length",
    "token_endpoint_auth_method": "client_secret_basic",
    "application_type": "native",
    "redirect_uris": ["http://127.0.0.1/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
}


def known(way):
    """Returns what the authorization server and the config say of us, by the way we are known there."""
    if way == "configured":
        return {"clients": [REGISTERED]}, {"clientId": REGISTERED["client_id"], "clientSecret": REGISTERED["client_secret"]}
    if way == "document":
        shared = {key: REGISTERED[key] for key in ("application_type", "redirect_uris", "grant_types")}
        document = shared | {"client_id": DOCUMENT, "client_name": "Manifold", "token_endpoint_auth_method": "none"}
        return {"documents": {DOCUMENT: document}}, {"clientMetadataUrl": DOCUMENT}
    return {}, {}


@pytest.mark.parametrize("way", ["registered", "configured", "document"])
def test_another_authorization_server_gets_nothing_of_the_first(tmp_path, way):
    """The server names another one after the login: no id, secret or token of the old login goes there."""
    there, here = known(way)
    # A document is for everybody to read; a client that is configured is known to the one that it was registered with.
    with parts.provider(**there) as first, parts.provider(**(there if way == "document" else {})) as second:
        server = parts.protected(first.address)
        home = parts.Home(tmp_path, {"docs": {"url": server.address, "oauth": here}})
        home.login("docs")
        secrets = {value for answer in first.answers("/token") for key, value in answer.items() if key.endswith("_token")}
        for answer in first.answers("/reg"):
            secrets |= {answer["client_id"], answer["registration_access_token"]} | {answer[key] for key in answer if key == "client_secret"}
        if way == "configured":
            secrets |= {REGISTERED["client_id"], REGISTERED["client_secret"]}
        assert (way == "registered") == bool(first.answers("/reg")) and len(secrets) >= 2
        server.stop()
        with parts.protected(second.address, port=server.port), home.client() as client:
            assert "docs" in parts.call(client, "docs__whoami")
            again = home.run("login", "docs")
            assert not [each for each in secrets if second.heard(each)]
            if way == "configured":
                assert again.returncode == 1, "a client belongs to the authorization server that knows it"
            else:
                assert again.returncode == 0, again.stderr
                parts.wait_until(lambda: parts.call(client, "docs__whoami") == "alice", "the new login is used")
                assert not [each for each in secrets if second.heard(each)]


# --- what no good one does


def hostile(tmp_path, **settings):
    part = parts.misbehaving(**settings)
    return part, parts.Home(tmp_path, {"docs": {"url": f"{part.address}/mcp"}})


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"pkce": False}, "PKCE|S256"),
        ({"metadataBytes": 2 << 20}, "large|long|big|MiB|bytes"),
        ({"redirects": 40}, "redirect"),
        ({"issuer": "http://127.0.0.1:9"}, "issuer"),
    ],
)
def test_such_an_authorization_server_is_refused(tmp_path, setting, reason):
    """With the reason, before a browser is opened."""
    part, home = hostile(tmp_path, **setting)
    with part:
        assert re.search(reason, home.refused("docs"))
        assert home.browsers() == [] and part.forms("/token") == []


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ({"tokenType": "mac"}, "mac|type"),
        ({"token": "500"}, "500"),
        ({"token": "invalid_grant"}, "invalid_grant"),
        ({"token": "echo"}, "invalid_request"),
    ],
)
def test_such_a_token_answer_is_refused(tmp_path, setting, reason):
    """With the reason, and without what was sent, though the answer repeats it."""
    part, home = hostile(tmp_path, **setting)
    with part:
        said = home.refused("docs")
        assert re.search(reason, said)
        (sent,) = part.forms("/token")
        assert sent["code"] not in said and sent["code_verifier"] not in said
        with home.client() as client:
            assert "manifold login docs" in parts.call(client, "docs__hello")


def test_a_token_of_64_kib_is_kept_or_refused(tmp_path):
    part, home = hostile(tmp_path, tokenBytes=65536)
    with part:
        done = home.run("login", "docs")
        assert done.returncode in (0, 1) and done.stderr
        assert "panicked" not in done.stderr


@pytest.mark.parametrize("trouble", ["500", "slow", "invalid_request"])
def test_trouble_at_a_renewal_costs_no_login(tmp_path, trouble):
    """While the access token is good it is used; when the trouble is over the login is renewed."""
    part, home = hostile(tmp_path, ttl=20)
    with part:
        home.login("docs")
        part.set(token=trouble)
        with home.client() as client:
            assert parts.call(client, "docs__hello") == "hello"
            part.set(token="good", ttl=3600)
            renewed = lambda: [form for form in part.forms("/token") if form["grant_type"] == "refresh_token" and form["status"] == 200]
            parts.wait_until(lambda: parts.call(client, "docs__hello") and renewed(), "it is renewed")
            assert parts.call(client, "docs__hello") == "hello"
        assert len(home.browsers()) == 1


# --- signing out


def test_logout_takes_back_and_removes(home, authority):
    home.login("docs")
    refresh = authority.answers("/token")[0]["refresh_token"]
    with home.client() as client:
        assert parts.call(client, "docs__whoami") == "alice"
        done = home.run("logout", "docs")
        assert done.returncode == 0, done.stderr
        assert authority.forms("/token/revocation")[0]["token"] == refresh
        parts.wait_until(lambda: "manifold login docs" in parts.call(client, "docs__whoami"), "it is gone here")


def test_logout_works_where_the_authorization_server_is_gone(tmp_path):
    """What is here goes, and it is said that nothing could be taken back there."""
    part, home = hostile(tmp_path)
    with part:
        home.login("docs")
    done = home.run("logout", "docs")
    assert done.returncode == 0, done.stderr
    assert "not revoked" in done.stderr
    with parts.misbehaving(port=part.port), home.client() as client:
        assert "manifold login docs" in parts.call(client, "docs__hello")


def test_logout_does_not_wait_for_an_authorization_server_that_hangs(tmp_path):
    part, home = hostile(tmp_path)
    with part:
        home.login("docs")
        part.set(revocation="slow")
        done = home.run("logout", "docs")
        assert done.returncode == 0, done.stderr
        with home.client() as client:
            assert "manifold login docs" in parts.call(client, "docs__hello")
