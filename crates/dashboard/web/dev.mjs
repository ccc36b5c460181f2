// Serves ../dist in front of a gateway that runs, for work on the page: what `manifold open` does, without its locks.
//
//   node dev.mjs [PORT] [SOCKET]     the control socket of `manifold daemon status`, unless one is named
//
// Every code is good for a session; its scope is the code's first word: `#code=act`, `#code=edit-2`, `#code=view`.

import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { fileURLToPath } from "node:url";

const port = Number(process.argv[2] ?? 8737);
const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const manifold = process.env.MANIFOLD_BIN ?? "manifold";

const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

let socket = process.argv[3];

const server = createServer((asked, answer) => {
  const url = new URL(asked.url, `http://127.0.0.1:${port}`);
  if (url.pathname === "/v1/web/token") return token(asked, answer);
  if (url.pathname.startsWith("/v1/")) return forward(asked, answer);
  return file(url.pathname, answer);
});
server.listen(port, "127.0.0.1", () => {
  for (const scope of ["view", "act", "edit"]) console.log(`http://127.0.0.1:${server.address().port}/ui/#code=${scope}`);
});

async function token(asked, answer) {
  let text = "";
  for await (const part of asked) text += part;
  const scope = /^(view|act|edit)/.exec(JSON.parse(text).code ?? "")?.[0];
  if (!scope) return refuse(answer, 401, "session-ended", "The code is not known");
  answer.writeHead(200, { "Content-Type": "application/json" });
  answer.end(JSON.stringify({ token: `dev-${scope}`, scope, sessionId: "dev", expiresInMs: 900000 }));
}

function forward(asked, answer) {
  const scope = /^Bearer dev-(\w+)$/.exec(asked.headers.authorization ?? "")?.[1];
  if (!scope) return refuse(answer, 401, "session-ended", "This page's session has ended: `manifold open` opens a new one");
  if (scope !== "edit" && asked.url.startsWith("/v1/config") && asked.url !== "/v1/config/check")
    return refuse(answer, 403, "denied", "This page's session may not read or change the config");
  const { host, authorization, ...headers } = asked.headers;
  const onward = request({ socketPath: control(), path: asked.url, method: asked.method, headers: { ...headers, host: "manifold" } }, (got) => {
    answer.writeHead(got.statusCode, got.headers);
    got.pipe(answer);
    got.on("error", () => answer.destroy());
  });
  onward.on("error", () => {
    socket = process.argv[3];
    if (answer.headersSent) answer.destroy();
    else refuse(answer, 502, "failed", "The gateway does not answer");
  });
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
}

async function file(path, answer) {
  const name = path === "/ui/" ? "index.html" : path.replace(/^\/ui\//, "");
  if (!/^(index\.html|app\.js|app\.css)$/.test(name)) return answer.writeHead(404).end();
  answer.writeHead(200, { ...HEADERS, "Content-Type": TYPES[name.split(".")[1]], "Cache-Control": "no-cache" });
  answer.end(await readFile(dist + name));
}

function refuse(answer, status, code, message) {
  answer.writeHead(status, { "Content-Type": "application/json" });
  answer.end(JSON.stringify({ error: { code, message } }));
}

function control() {
  socket ??= JSON.parse(execFileSync(manifold, ["daemon", "status", "--json"], { encoding: "utf8" })).control;
  return socket;
}
