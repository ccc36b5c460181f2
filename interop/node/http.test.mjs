// The TypeScript SDKs, mcp-remote and the Inspector at `manifold http`, and through a balancer at two of them.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { missing } from "../replicas.mjs";
import { atEnd, everything, folder, inMatrix, load, time } from "./gateway.mjs";
import { everythingAt, http, relay, replicated } from "./http.mjs";

const v1 = {
  ...load("@modelcontextprotocol/sdk/client/index.js"),
  ...load("@modelcontextprotocol/sdk/client/streamableHttp.js"),
  ...load("@modelcontextprotocol/sdk/client/sse.js"),
  ...load("@modelcontextprotocol/sdk/client/stdio.js"),
  types: load("@modelcontextprotocol/sdk/types.js"),
};
const v2 = load("@modelcontextprotocol/client");
const schemas = {
  "sampling/createMessage": v1.types.CreateMessageRequestSchema,
  "elicitation/create": v1.types.ElicitRequestSchema,
};

const capabilities = (answers) => Object.fromEntries(Object.keys(answers).map((method) => [method.split("/")[0], {}]));

function clientV1(answers = {}) {
  const client = new v1.Client({ name: "interop", version: "1.0.0" }, { capabilities: capabilities(answers) });
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(schemas[method], (request) => answer(request.params));
  }
  return client;
}

function clientV2(mode, answers = {}) {
  const options = { capabilities: capabilities(answers), versionNegotiation: { mode } };
  const client = new v2.Client({ name: "interop", version: "1.0.0" }, options);
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(method, (request) => answer(request.params));
  }
  return client;
}

const callV1 = (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const callV2 = (client, name, args, options) => client.callTool({ name, arguments: args }, options);

const clients = {
  "TypeScript SDK v1": {
    client: clientV1,
    transport: (address) => new v1.StreamableHTTPClientTransport(new URL(address)),
    call: callV1,
  },
  "TypeScript SDK v1, old SSE": {
    client: clientV1,
    transport: (address) => new v1.SSEClientTransport(new URL(address.replace("/mcp", "/sse"))),
    call: callV1,
    resumes: false,
    // What it posts must come to the gateway that has its stream, and no balancer knows which.
    isReplicated: false,
  },
  ...Object.fromEntries(
    ["legacy", "auto"].map((mode) => [
      `TypeScript SDK v2, ${mode}`,
      {
        client: (answers) => clientV2(mode, answers),
        transport: (address) => new v2.StreamableHTTPClientTransport(new URL(address)),
        call: callV2,
        resumes: mode === "legacy",
      },
    ]),
  ),
  "mcp-remote": {
    // A client on stdio, bridged by a program that many clients use for remote servers.
    client: clientV1,
    transport: (address, path) => {
      const script = join(dirname(load.resolve("mcp-remote/package.json")), "dist/proxy.js");
      const env = { ...process.env, MCP_REMOTE_CONFIG_DIR: path };
      const args = [script, address, "--allow-http", "--transport", "http-only"];
      return new v1.StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" });
    },
    call: callV1,
  },
};

const text = (result) => {
  assert.ok(!result.isError, JSON.stringify(result));
  return result.content[0].text;
};

// A list does not wait long for a slow server (decision 18), so we list until the tools wanted are there.
const list = async (client, ...wanted) => {
  for (let patience = 300; ; patience--) {
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    if (wanted.every((tool) => tools.includes(tool))) return tools;
    assert.ok(patience > 0, `${wanted} are not among ${tools}`);
    await sleep(200);
  }
};

const isReplicated = ({ isReplicated = true }) => isReplicated;
const places = {
  "over HTTP": { serve: http, served: () => true, skip: false },
  "through a balancer to two gateways": {
    serve: replicated,
    served: isReplicated,
    skip: missing().length > 0 && `not installed: ${missing().join(", ")}`,
  },
};

for (const [place, { serve, served, skip }] of Object.entries(places)) describe(place, { skip }, () => {
  // One place for all: server-everything as a process, over Streamable HTTP and over the old SSE.
  let end;
  const whole = { after: (hook) => (end = hook) };
  let address;
  let path;
  before(async () => {
    path = folder(whole);
    const remote = await everythingAt(whole, "streamableHttp");
    const old = await everythingAt(whole, "sse");
    address = await serve(whole, path, { local: everything, time, remote, old });
  });
  after(() => end?.());

  const here = Object.keys(clients).filter((name) => served(clients[name]));
  for (const name of here) {
    const { client: make, transport: connect, call, resumes = true } = clients[name];
    describe(name, () => {
      const inCell = inMatrix(name, here);
      const thatResumes = inMatrix(name, here.filter((name) => clients[name].resumes ?? true));
      const open = async (t, answers, at = address) => {
        const client = make(answers);
        const transport = connect(at, path);
        atEnd(t, () => transport.close());
        atEnd(t, () => client.close());
        await client.connect(transport);
        return client;
      };

      inCell("tools are listed and called (S1-17, S3-8, S3-9)", async (t) => {
        const client = await open(t);
        const tools = await list(client, "local__echo", "remote__echo", "old__echo", "time__get_current_time");
        assert.ok(!tools.some((tool) => tool.startsWith("manifold__")));
        for (const server of ["local", "remote", "old"]) {
          assert.equal(text(await call(client, `${server}__echo`, { message: server })), `Echo: ${server}`);
        }
      });

      inCell("sampling and elicitation reach the client (decision 29)", async (t) => {
        const answers = {
          "sampling/createMessage": ({ messages }) => {
            const said = [[messages].flat()[0].content].flat()[0].text;
            return { role: "assistant", model: "test", content: { type: "text", text: `heard ${said}` } };
          },
          "elicitation/create": () => ({ action: "accept", content: { name: "Ada" } }),
        };
        const client = await open(t, answers);
        for (const server of ["local", "remote", "old"]) {
          await list(client, `${server}__trigger-sampling-request`);
          const sampled = await call(client, `${server}__trigger-sampling-request`, { prompt: "hi", maxTokens: 9 });
          assert.match(text(sampled), /heard .*context: hi/);
          const elicited = await call(client, `${server}__trigger-elicitation-request`, {});
          assert.match(elicited.content.map((block) => block.text).join("\n"), /Ada/);
        }
      });

      inCell("progress reaches the client in order", async (t) => {
        const client = await open(t);
        for (const server of ["local", "remote", "old"]) {
          const steps = [];
          const onprogress = ({ progress, total }) => steps.push(`${progress}/${total}`);
          await call(client, `${server}__trigger-long-running-operation`, { duration: 0.6, steps: 3 }, { onprogress });
          // The SDKs drop progress that they read together with the result.
          assert.deepEqual(steps.slice(0, 2), ["1/3", "2/3"]);
        }
      });

      thatResumes("a cut stream is taken up again", { skip: !resumes && "neither the old transport nor the newest revision can" }, async (t) => {
        const between = await relay(t, address);
        const client = await open(t, {}, between.address);
        await list(client, "local__echo");
        between.cutAfter("notifications/progress");
        const steps = [];
        const onprogress = ({ progress }) => steps.push(progress);
        const operation = { duration: 3, steps: 3 };
        const options = { onprogress, timeout: 20_000 };
        const result = await call(client, "local__trigger-long-running-operation", operation, options);
        assert.match(text(result), /3 seconds/);
        assert.equal(between.seen.cuts, 1);
        assert.deepEqual(steps.slice(0, 2), [1, 2], "each once, in order");
        assert.ok(between.seen.heads.some((head) => /^last-event-id:/im.test(head)));
      });
    });
  }

  // It asks a gateway what others ask it, and the old transport is for one alone.
  describe("MCP Inspector", { skip: serve !== http }, () => {
    const script = join(dirname(load.resolve("@modelcontextprotocol/inspector/package.json")), "clients/launcher/build/index.js");
    const inspect = async (...args) => {
      const env = { ...process.env, HOME: path };
      const ran = await promisify(execFile)(process.execPath, [script, "--cli", ...args], { env, timeout: 60_000 });
      return JSON.parse(ran.stdout);
    };

    for (const transport of ["http", "sse"]) {
      test(`lists and calls tools over ${transport}`, async () => {
        const target = transport === "sse" ? address.replace("/mcp", "/sse") : address;
        const listed = await inspect(target, "--transport", transport, "--method", "tools/list");
        assert.ok(listed.tools.some((tool) => tool.name === "remote__echo"));
        const call = ["--method", "tools/call", "--tool-name", "remote__echo", "--tool-arg", "message=hi"];
        const called = await inspect(target, "--transport", transport, ...call);
        assert.equal(called.content[0].text, "Echo: hi");
      });
    }
  });
});
