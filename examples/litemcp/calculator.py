#!/usr/bin/env python3
"""A LiteMCP server: one tool, `Calculator`, that adds two numbers.

    calculator.py                 on standard input and output, each message ended by three newlines
    calculator.py --http PORT     over HTTP: GET gives the tool, POST calls it
    calculator.py --ws PORT       over WebSocket: one message per text frame

Port 0 takes any free one; the address is written to standard error. With `--token` (or LITEMCP_TOKEN) clients must
send it as `Authorization: Bearer …`, over HTTP and WebSocket only. Needs nothing but Python 3.9.
"""

import argparse
import hmac
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import litewire

VERSION = [1, 0, 0]
TOOL = {
    "version": VERSION,
    "name": "Calculator",
    "description": "A simple calculator",
    "example": "Calculate the sum of 2 and 3",
    "parameters": [
        {"name": "a", "type": "number", "description": "The first number", "example": "2"},
        {"name": "b", "type": "number", "description": "The second number", "example": "3"},
    ],
}


def call(tool_call):
    """Answers a ToolCall with a CallResult. A failure has the same shape, marked by `error`."""
    arguments = tool_call.get("arguments") or []
    try:
        if tool_call.get("tool") != TOOL["name"]:
            raise ValueError(f"there is no tool {tool_call.get('tool')!r}")
        first, second = arguments
        content, error = {"type": "number", "data": format(float(first) + float(second), ".15g")}, False
    except ValueError as problem:
        content, error = {"type": "text", "data": str(problem)}, True
    params = {parameter["name"]: value for parameter, value in zip(TOOL["parameters"], arguments)}
    return {"version": VERSION, "params": params, "response": {"content": [content], "error": error}}


class Conversation:
    """Answers the messages of one client. A message whose id was there before is ignored."""

    def __init__(self, send):
        self.send = send
        self.seen = set()
        # Calls run side by side: without a lock their answers could be written into each other.
        self.lock = threading.Lock()

    def receive(self, text):
        try:
            message = json.loads(text)
            identity, kind = message["id"], message["type"]
        except (ValueError, TypeError, KeyError) as problem:
            return log(f"not a message: {problem!r}")
        if identity in self.seen:
            return log(f"the id {identity} was there before")
        self.seen.add(identity)
        if kind == "get":
            self.answer(identity, "info", TOOL)
        elif kind == "call":
            threading.Thread(target=lambda: self.answer(identity, "result", call(message["data"]))).start()
        else:
            log(f"a message of type {kind!r}")

    def answer(self, identity, kind, data):
        with self.lock:
            self.send({"version": VERSION, "id": identity, "type": kind, "data": data})


def serve_stdio():
    def send(message):
        sys.stdout.buffer.write(litewire.encode(message))
        sys.stdout.buffer.flush()

    conversation = Conversation(send)
    for text in litewire.read_messages(sys.stdin.buffer):
        conversation.receive(text)


class Door(BaseHTTPRequestHandler):
    """What HTTP and WebSocket share: who is let in."""

    protocol_version = "HTTP/1.1"
    token = None

    def is_welcome(self):
        # Parts of the LiteMCP papers spell the header `Authentication`.
        given = self.headers.get("Authorization") or self.headers.get("Authentication") or ""
        if self.token is None or hmac.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            return True
        self.reply(403, {"error": "this needs a bearer token"})
        return False

    def reply(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format, *values):
        log(format % values)


class Http(Door):
    def do_GET(self):
        if self.is_welcome():
            self.reply(200, TOOL)

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.is_welcome():
            try:
                self.reply(200, call(json.loads(text)))
            except (ValueError, AttributeError) as problem:
                self.reply(400, {"error": str(problem)})


class Ws(Door):
    def do_GET(self):
        if not self.is_welcome():
            return
        key = self.headers.get("Sec-WebSocket-Key")
        if key is None:
            return self.reply(426, {"error": "this is a WebSocket"})
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", litewire.accept_key(key))
        self.end_headers()
        socket = litewire.WebSocket(self.rfile, self.wfile, masks=False)
        conversation = Conversation(lambda message: socket.send(json.dumps(message)))
        for text in socket:
            conversation.receive(text)
        self.close_connection = True


def serve_at(port, scheme, door):
    server = ThreadingHTTPServer(("127.0.0.1", port), door)
    log(f"listening on {scheme}://127.0.0.1:{server.server_port}/")
    server.serve_forever()


def log(line):
    """Standard error is free for logs."""
    print(line, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description="A LiteMCP server that adds two numbers.")
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--ws", type=int, metavar="PORT")
    parser.add_argument("--token", default=os.environ.get("LITEMCP_TOKEN"))
    options = parser.parse_args()
    Door.token = options.token
    if options.http is not None:
        serve_at(options.http, "http", Http)
    elif options.ws is not None:
        serve_at(options.ws, "ws", Ws)
    else:
        serve_stdio()


if __name__ == "__main__":
    main()
