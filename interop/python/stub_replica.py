"""A replica that does as it is told, for balancers: stub_replica.py PORT NAME LOG.

POST /mcp with {"do": "answer"} is answered with its name, "hold" never, "die" kills it, "stream" is a stream of events. Each
request is a line of the log before anything else happens. POST /next gives every open stream its next event, POST /drain
has /readyz answer 503 from then on."""

import json
import os
import queue
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, NAME, LOG = int(sys.argv[1]), sys.argv[2], sys.argv[3]
streams = []
drains = threading.Event()


class Replica(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/readyz":
            self.answer(503 if drains.is_set() else 200, b"draining" if drains.is_set() else b"ready")
        elif self.path == "/mcp":
            self.log("listen")
            self.stream()
        else:
            self.answer(200, b"live")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/next":
            for stream in streams:
                stream.put("next")
            self.answer(200, b"")
        elif self.path == "/drain":
            drains.set()
            self.answer(200, b"")
        else:
            wish = json.loads(body)["do"]
            self.log(wish)
            {"answer": self.tell, "hold": self.hold, "die": self.die, "stream": self.stream}[wish]()

    def tell(self):
        told = {"replica": NAME, "host": self.headers["Host"], "for": self.headers["X-Forwarded-For"]}
        self.answer(200, json.dumps(told).encode())

    def hold(self):
        threading.Event().wait()

    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def stream(self):
        events = queue.Queue()
        streams.append(events)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        word = "open"
        while True:
            event = f"data: {word} {NAME}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            word = events.get()

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log(self, what):
        with open(LOG, "a") as log:
            log.write(what + "\n")

    def log_message(self, *_):
        pass


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", PORT), Replica).serve_forever()
