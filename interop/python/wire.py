"""A client that keeps the bytes: JSON-RPC over pipes, one message per line."""

import json
import queue
import subprocess
import threading
import time

PATIENCE = 30.0


class Peer:
    """A process and its pipes. Questions of the server are answered by `answers`, from method to result."""

    def __init__(self, command, env, answers, folder=None):
        self.answers = answers
        self.asked = []
        self.notifications = []
        self._responses = queue.Queue()
        self._last_id = 0
        pipe = subprocess.PIPE
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=quiet, env=env, cwd=folder)
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()

    def initialize(self, capabilities, name="interop"):
        info = {"name": name, "version": "1.0.0"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        members = self.ask("initialize", params)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return members

    def ask(self, method, params=None):
        """Sends a request and returns the members of its response, each as the text it came in."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        self.send(message if params is None else message | {"params": params})
        text = self._responses.get(timeout=PATIENCE)
        response = members(text)
        assert response["id"] == str(self._last_id), f"the answer to another question: {text}"
        return response

    def ask_all(self, method, every):
        """Sends a request with each of these params, without waiting, and returns the responses in the same order."""
        ids = []
        for params in every:
            self._last_id += 1
            ids.append(str(self._last_id))
            self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        responses = [members(self._responses.get(timeout=PATIENCE)) for _ in ids]
        by_id = {response["id"]: response for response in responses}
        return [by_id[each] for each in ids]

    def wait_for(self, method):
        """Returns the params of the first notification of this method, waiting for it if it has not come."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for notification in self.notifications:
                if notification["method"] == method:
                    return notification.get("params")
            time.sleep(0.01)
        raise TimeoutError(f"no {method}")

    def wait_to_be_asked(self, method, seconds=3.0):
        """Waits until the server has asked this, but does not insist."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and method not in [asked for asked, _ in self.asked]:
            time.sleep(0.01)

    def send(self, message):
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self):
        for line in self._process.stdout:
            text = line.decode().rstrip("\n")
            message = json.loads(text)
            if "method" not in message:
                self._responses.put(text)
            elif "id" not in message:
                self.notifications.append(message)
            else:
                self.asked.append((message["method"], members(text).get("params")))
                result = self.answers[message["method"]]
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def members(text):
    """Splits a JSON object into its members, each value as the text it came in."""
    return dict(_walk(text, "{", "}", keyed=True))


def elements(text):
    """Splits a JSON array into its elements, each as the text it came in."""
    return [value for _, value in _walk(text, "[", "]", keyed=False)]


def _walk(text, opening, closing, keyed):
    decoder = json.JSONDecoder()
    text = text.strip()
    assert text[0] == opening and text[-1] == closing, f"expected {opening}: {text[:80]}"
    place = _skip(text, 1)
    while text[place] != closing:
        key = None
        if keyed:
            key, place = decoder.raw_decode(text, place)
            place = _skip(text, place, ":")
        start = place
        _, place = decoder.raw_decode(text, place)
        yield key, text[start:place]
        place = _skip(text, place, ",")


def _skip(text, place, mark=""):
    while text[place] in " \t\r\n" or (mark and text[place] == mark):
        place += 1
    return place
