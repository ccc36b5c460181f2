#!/usr/bin/env python3
"""A LiteMCP client: shows a server's tool as it is told to a model, and calls it.

    client.py -- python3 calculator.py                      starts a server and shows its tool
    client.py --call 2 3 -- python3 calculator.py           calls it
    client.py --call 2 3 -- http://127.0.0.1:8000/          over HTTP; ws:// works too
    client.py --tool NAME --call … -- manifold litemcp      calls a tool by another name than the one shown

`--token` goes along as a bearer token. Exits with 1 if the call failed. Needs nothing but Python 3.9.

As a module: `with client.connect(["python3", "calculator.py"]) as server: server.call("2", "3")`.
"""

import argparse
import base64
import contextlib
import http.client
import itertools
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import urllib.parse

import litewire

VERSION = [1, 0, 0]


class Client:
    """Speaks with one server. `tool()` returns its Tool, `call()` a CallResult, both as they came."""

    def tool(self):
        raise NotImplementedError

    def call(self, *arguments, tool=None):
        return self.send_call({"version": VERSION, "tool": tool or self.tool()["name"], "arguments": [*arguments]})


class Messages(Client):
    """A server at the other end of a pipe or a WebSocket: messages are numbered, and answers bear their number."""

    def __init__(self, send, messages):
        self.send, self.messages = send, messages
        self.ids = itertools.count(1)
        # Two threads must neither write into each other's messages nor read each other's answers.
        self.lock = threading.Lock()

    def tool(self):
        return self.ask("get", {})

    def send_call(self, tool_call):
        return self.ask("call", tool_call)

    def ask(self, kind, data):
        with self.lock:
            identity = next(self.ids)
            self.send({"version": VERSION, "id": identity, "type": kind, "data": data})
            for text in self.messages:
                answer = json.loads(text)
                if answer["id"] == identity:
                    return answer["data"]
        raise EOFError("the server went without an answer")


class Http(Client):
    """A server at an address: GET gives the tool, POST calls it."""

    def __init__(self, url, headers):
        self.url, self.headers = urllib.parse.urlsplit(url), headers

    def tool(self):
        return self.request("GET", None)

    def send_call(self, tool_call):
        return self.request("POST", json.dumps(tool_call))

    def request(self, method, body):
        secure = self.url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        with contextlib.closing(kind(self.url.netloc)) as connection:
            headers = {"Content-Type": "application/json", **self.headers}
            connection.request(method, path_of(self.url), body, headers)
            answer = connection.getresponse()
            text = answer.read()
        if answer.status != 200:
            raise ConnectionError(f"{answer.status}: {text.decode(errors='replace')}")
        return json.loads(text)


@contextlib.contextmanager
def connect(server, token=None, headers=None):
    """Connects to a command line (a list) or an address (a string) for the time of a `with`."""
    headers = dict(headers or {})
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if not isinstance(server, str):
        with start(server) as client:
            yield client
    elif server.startswith("ws"):
        with open_websocket(server, headers) as client:
            yield client
    else:
        yield Http(server, headers)


@contextlib.contextmanager
def start(command):
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def send(message):
            process.stdin.write(litewire.encode(message))
            process.stdin.flush()

        yield Messages(send, litewire.read_messages(process.stdout))
        # The end of its input is the end of a server.
        process.stdin.close()


@contextlib.contextmanager
def open_websocket(address, headers):
    url = urllib.parse.urlsplit(address)
    secure = url.scheme == "wss"
    with socket.create_connection((url.hostname, url.port or (443 if secure else 80))) as connection:
        if secure:
            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=url.hostname)
        stream = connection.makefile("rwb")
        key = base64.b64encode(os.urandom(16)).decode()
        wanted = {
            "Host": url.netloc,
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": key,
            "Sec-WebSocket-Version": "13",
            **headers,
        }
        lines = [f"GET {path_of(url)} HTTP/1.1", *(f"{name}: {value}" for name, value in wanted.items())]
        stream.write("\r\n".join([*lines, "", ""]).encode())
        stream.flush()
        status = stream.readline().decode()
        answer = http.client.parse_headers(stream)
        if " 101 " not in status or answer["Sec-WebSocket-Accept"] != litewire.accept_key(key):
            raise ConnectionError(status.strip())
        end = litewire.WebSocket(stream, stream, masks=True)
        yield Messages(lambda message: end.send(json.dumps(message)), iter(end))
        end.send(b"", litewire.CLOSE)


def path_of(url):
    return (url.path or "/") + (f"?{url.query}" if url.query else "")


def prompt(tool):
    """Renders a Tool as text for a model, which is how a model comes to know of it."""
    lines = [f"# Tool: {tool['name']}"]
    if tool.get("description"):
        lines.append(tool["description"])
    if tool.get("example"):
        lines.append(f"Example: {tool['example']}")
    parameters = tool.get("parameters") or []
    lines.append("Parameters, in this order, each a string:" if parameters else "It takes no parameters.")
    for number, parameter in enumerate(parameters, 1):
        described = f": {parameter['description']}" if parameter.get("description") else ""
        example = f", for example `{parameter['example']}`" if parameter.get("example") else ""
        lines.append(f"{number}. `{parameter['name']}` ({parameter['type']}){described}{example}")
    sample = [parameter.get("example") or "…" for parameter in parameters]
    asked = json.dumps({"tool": tool["name"], "arguments": sample}, ensure_ascii=False)
    lines.append(f"To call it, answer with nothing but: {asked}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Shows and calls the tool of a LiteMCP server.")
    parser.add_argument("--call", nargs="*", metavar="ARGUMENT", help="call the tool with these arguments")
    parser.add_argument("--tool", metavar="NAME", help="call this tool instead of the one shown")
    parser.add_argument("--token", help="a bearer token for a server at an address")
    parser.add_argument("server", nargs="+", help="an address, or a command with its arguments")
    options = parser.parse_args()
    is_address = len(options.server) == 1 and "://" in options.server[0]
    with connect(options.server[0] if is_address else options.server, options.token) as server:
        if options.call is None:
            return print(prompt(server.tool()))
        response = server.call(*options.call, tool=options.tool)["response"]
    for item in response["content"]:
        print(item["data"])
    return 1 if response["error"] else 0


if __name__ == "__main__":
    sys.exit(main())
