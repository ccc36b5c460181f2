// An authorization server, and a server that it protects, which do what no good one does: each fault is a setting.
//
//   node misbehaving.mjs '{"token": "5xx"}'
//
// It tells its address, then every request (lines.mjs). Settings may be changed while it runs, by lines of stdin.

import { createHash, randomBytes } from "node:crypto";

import { listen, takeOrders, tell, witness } from "./lines.mjs";

const settings = {
  port: 0,
  /** Seconds that tokens are good. */
  ttl: 3600,
  /** What the protected server names as its authorization servers; nothing for this one. */
  authorizationServers: null,
  /** Who the metadata says it is, and who the callback says it comes from (`""` for nobody); nothing for the truth. */
  issuer: null,
  iss: null,
  /** Whether S256 is listed. */
  pkce: true,
  /** How many redirects lie before the metadata, and to how many bytes it is blown up. */
  redirects: 0,
  metadataBytes: 0,
  /** What the token endpoint does: `good`, `500`, `slow`, `invalid_request`, `invalid_grant`, `echo`. */
  token: "good",
  tokenType: "Bearer",
  tokenBytes: 32,
  /** What the revocation endpoint does: `good`, `slow`. */
  revocation: "good",
  /** What the protected server does with a good token: `good`, `401`, `403`. */
  resource: "good",
  ...JSON.parse(process.argv[2] || "{}"),
};

const { server, origin } = await listen(settings.port);
const codes = new Map();
const access = new Map();
const refresh = new Set();

const json = (status, value, headers = {}) => ({ status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) });
const refusal = (error, description) => json(400, { error, error_description: description });

function protectedResource() {
  return json(200, {
    resource: `${origin}/mcp`,
    authorization_servers: settings.authorizationServers ?? [origin],
    scopes_supported: ["mcp:read"],
  });
}

function metadata(url) {
  const hop = Number(url.searchParams.get("hop") ?? 0);
  if (hop < settings.redirects) return { status: 302, headers: { location: `${url.pathname}?hop=${hop + 1}` }, body: "" };
  return json(200, {
    issuer: settings.issuer ?? origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    revocation_endpoint: `${origin}/revoke`,
    response_types_supported: ["code"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: settings.iss !== "",
    ...(settings.pkce ? { code_challenge_methods_supported: ["S256"] } : {}),
    padding: "x".repeat(settings.metadataBytes),
  });
}

function authorize(url) {
  const code = `code-${randomBytes(16).toString("hex")}`;
  codes.set(code, url.searchParams.get("code_challenge"));
  const back = new URL(url.searchParams.get("redirect_uri"));
  back.searchParams.set("code", code);
  back.searchParams.set("state", url.searchParams.get("state"));
  if (settings.iss !== "") back.searchParams.set("iss", settings.iss ?? origin);
  return { status: 302, headers: { location: back.href }, body: "" };
}

function register(_, body) {
  const client = { ...JSON.parse(body), client_id: `client-${randomBytes(8).toString("hex")}` };
  return json(201, { ...client, token_endpoint_auth_method: "none" });
}

function token(_, body) {
  const form = new URLSearchParams(body);
  switch (settings.token) {
    case "500":
      return { status: 500, headers: {}, body: "out of order" };
    case "slow":
      return null;
    case "invalid_request":
    case "invalid_grant":
      return refusal(settings.token, "no");
    case "echo":
      return refusal("invalid_request", `cannot read ${body}`);
  }
  const challenge = codes.get(form.get("code"));
  const verifier = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
  const good = form.get("grant_type") === "refresh_token" ? refresh.delete(form.get("refresh_token")) : challenge === verifier;
  codes.delete(form.get("code"));
  return good ? issue() : refusal("invalid_grant", "not known, or used before");
}

function issue() {
  const [one, two] = [randomBytes(settings.tokenBytes / 2).toString("hex"), randomBytes(16).toString("hex")];
  access.set(one, Date.now() + settings.ttl * 1000);
  refresh.add(two);
  const answer = { access_token: one, token_type: settings.tokenType, expires_in: settings.ttl, refresh_token: two };
  return json(200, answer, { "cache-control": "no-store" });
}

function revoke(_, body) {
  if (settings.revocation === "slow") return null;
  const gone = new URLSearchParams(body).get("token");
  refresh.delete(gone);
  access.delete(gone);
  return { status: 200, headers: {}, body: "" };
}

function mcp(url, body, request) {
  const challenge = (rest) => ({ "www-authenticate": `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"${rest}` });
  const sent = /^Bearer (.*)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (sent === undefined) return json(401, {}, challenge(""));
  if (settings.resource === "401" || !(access.get(sent) > Date.now())) return json(401, {}, challenge(', error="invalid_token"'));
  if (settings.resource === "403") return json(403, {}, challenge(', error="insufficient_scope", scope="mcp:write"'));
  if (request.method !== "POST") return { status: 405, headers: {}, body: "" };
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return { status: 202, headers: {}, body: "" };
  const result = results[method]?.(params);
  return json(200, { jsonrpc: "2.0", id, ...(result ? { result } : { error: { code: -32601, message: "no such method" } }) });
}

const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "misbehaving", version: "1.0.0" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [{ name: "hello", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "hello" }] }),
};

const routes = {
  "/.well-known/oauth-protected-resource/mcp": protectedResource,
  "/.well-known/oauth-authorization-server": metadata,
  "/authorize": authorize,
  "/register": register,
  "/token": token,
  "/revoke": revoke,
  "/mcp": mcp,
};

async function answer(request, response) {
  const url = new URL(request.url, origin);
  const body = Buffer.concat(await request.toArray()).toString();
  const reply = routes[url.pathname] ? routes[url.pathname](url, body, request) : { status: 404, headers: {}, body: "" };
  // What is slow never answers: whoever asked hangs up.
  if (reply) response.writeHead(reply.status, reply.headers).end(reply.body);
}

witness(server, "misbehaving");
server.on("request", (request, response) => answer(request, response).catch((error) => response.writeHead(500).end(`${error}`)));
takeOrders(settings);
tell({ ready: origin });
