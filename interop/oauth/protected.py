"""A real protected server: FastMCP, which takes the tokens that an authorization server signs for it.

    python protected.py '{"issuer": "http://127.0.0.1:9400"}'

It tells its address, then every request with its headers and body, a line of JSON each, and ends with its stdin.
"""

import json
import os
import socket
import sys
import threading

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token
from starlette.middleware import Middleware

settings = {"port": 0, "scopes": ["mcp:read"]} | json.loads(sys.argv[1])


def tell(line):
    print(json.dumps(line), flush=True)


class Witness:
    """Tells of every request before it is answered: who has an answer can count on the line."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        body = []

        async def received():
            message = await receive()
            body.append(message.get("body", b""))
            return message

        async def sent(message):
            if message["type"] == "http.response.start":
                headers = {name.decode(): value.decode() for name, value in scope["headers"]}
                text = b"".join(body).decode()
                request = {"at": "protected", "method": scope["method"], "url": scope["path"], "headers": headers}
                tell(request | {"body": text, "status": message["status"]})
            await send(message)

        await self.app(scope, received, sent)


listener = socket.create_server(("127.0.0.1", settings["port"]))
origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
issuer = settings["issuer"]
verifier = JWTVerifier(
    jwks_uri=f"{issuer}/jwks", issuer=issuer, audience=f"{origin}/mcp", required_scopes=settings["scopes"]
)
auth = RemoteAuthProvider(token_verifier=verifier, authorization_servers=[issuer], base_url=origin)
server = FastMCP("protected", auth=auth)


@server.tool
def whoami() -> str:
    """Says whose token came with the call."""
    return get_access_token().claims["sub"]


@server.tool
def echo(text: str) -> str:
    return text


def end_with_stdin():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_stdin, daemon=True).start()
tell({"ready": f"{origin}/mcp"})
app = server.http_app(middleware=[Middleware(Witness)])
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
