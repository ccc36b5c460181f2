// The program that the suite runs as a client: a gateway in front of the suite's server, and an SDK client that drives
// it as the scenario needs. Its last argument is the server's address.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { oauthFor, signInAndCall } from "./signin.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const load = createRequire(join(root, "target/interop/node/"));
const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || "{}");
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
const own = revision === "2026-07-28" ? "modern" : "legacy";
const caller = { same: own, undefined: own }[process.env.MANIFOLD_CALLER] ?? process.env.MANIFOLD_CALLER;

const capabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} };

async function connect(url, era = caller) {
  const mode = era === "modern" ? { pin: "2026-07-28" } : "legacy";
  const client = new Client({ name: "conformance", version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
  // Nothing is filled in: the schema's defaults must do.
  client.setRequestHandler("elicitation/create", ({ params }) => {
    const asks = Object.keys(params.requestedSchema?.properties ?? {});
    return { action: "accept", content: asks.includes("confirmed") ? { confirmed: true } : {} };
  });
  client.setRequestHandler("roots/list", () => ({ roots: [] }));
  client.setRequestHandler("sampling/createMessage", () => ({
    role: "assistant",
    model: "none",
    content: { type: "text", text: "no" },
  }));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

/** Makes arguments that a tool's schema accepts. */
function argumentsFor(tool) {
  const values = { string: "text", number: 1.5, integer: 1, boolean: true, array: [], object: {}, null: null };
  const properties = Object.entries(tool.inputSchema.properties ?? {});
  return Object.fromEntries(properties.map(([key, property]) => [key, values[property.type] ?? "text"]));
}

async function callAll(client) {
  for (const tool of (await client.listTools()).tools) {
    await client.callTool({ name: tool.name, arguments: argumentsFor(tool) });
  }
}

const scenarios = {
  initialize: (client) => client.listTools(),
  "request-metadata": (client) => client.listTools(),
  "json-schema-ref-no-deref": (client) => client.listTools(),
  "sse-retry": callAll,
  "elicitation-sep1034-client-defaults": callAll,
  "sep-2322-client-request-state": callAll,

  async tools_call(client) {
    await client.listTools();
    const sum = await client.callTool({ name: "add_numbers", arguments: { a: 5, b: 3 } });
    if (sum.content[0].text !== "The sum of 5 and 3 is 8") throw new Error(JSON.stringify(sum));
  },

  async "http-standard-headers"(client) {
    await callAll(client);
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
    for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
  },

  async "http-custom-headers"(client) {
    await client.listTools();
    for (const call of context.toolCalls) await client.callTool(call);
  },

  // The SDK leaves bad tools out by itself where it speaks the newest revision. A legacy client has nothing to go by, so
  // what it can call is what the gateway let through.
  async "http-invalid-tool-headers"(client, url) {
    await callAll(client);
    const legacy = await connect(url, "legacy");
    await callAll(legacy);
    await legacy.close();
  },

  async "json-schema-2020-12-preservation"(client) {
    const { tools } = await client.listTools();
    const { inputSchema: schema } = tools.find(({ name }) => name !== "json_schema_echo");
    await client.callTool({ name: "json_schema_echo", arguments: { schema } });
  },
};

async function startGateway(upstream, place) {
  const config = join(place, "config.json");
  const settings = { separator: "", managerTools: false, prefixPrompts: false, prefixDescriptions: false };
  const server = { url: upstream, ...oauthFor(scenario, context) };
  writeFileSync(config, JSON.stringify({ ...settings, mcpServers: { conformance: server } }));
  const folders = Object.fromEntries(["CACHE", "DATA", "STATE"].map((name) => [`XDG_${name}_HOME`, join(place, name)]));
  const env = { ...process.env, ...folders, HOME: place, MANIFOLD_CONFIG: config, MANIFOLD_DAEMON: "off" };
  const program = process.env.MANIFOLD_BIN || join(root, "target/release/manifold");
  const child = spawn(program, ["http", "--port", "0"], { stdio: ["ignore", "ignore", "pipe"], env });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stderr });
  const url = await new Promise((found, failed) => {
    lines.on("line", (line) => {
      // What the gateway says is kept with the results, to read when a check fails.
      console.error(line);
      const address = line.match(/listening on (http:\/\/127\.0\.0\.1:\d+)/);
      if (address) found(`${address[1]}/mcp`);
    });
    exited.then(([code]) => failed(new Error(`the gateway ended with ${code}`)), failed);
  });
  const stop = async () => {
    child.kill("SIGTERM");
    await exited;
  };
  return { url, stop, start: (...args) => spawn(program, args, { stdio: "pipe", env }) };
}

const drive = scenario.startsWith("auth/") ? (client) => signInAndCall(scenario, client, gateway) : scenarios[scenario];
if (!drive) {
  console.error(`no such scenario here: ${scenario}`);
  process.exit(1);
}
const place = mkdtempSync(join(tmpdir(), "manifold-conformance-"));
const gateway = await startGateway(process.argv.at(-1), place);
try {
  const client = await connect(gateway.url);
  await drive(client, gateway.url);
  await client.close();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await gateway.stop();
  rmSync(place, { recursive: true, force: true });
}
