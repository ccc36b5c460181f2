// Clients of the TypeScript SDKs in each era, through the gateway, to servers of each era.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { atEnd, everything, fake, folder, inMatrix, load, ran, received, serve, time } from "./gateway.mjs";
import { http } from "./http.mjs";

const v1 = {
  ...load("@modelcontextprotocol/sdk/client/index.js"),
  ...load("@modelcontextprotocol/sdk/client/stdio.js"),
  ...load("@modelcontextprotocol/sdk/client/streamableHttp.js"),
  types: load("@modelcontextprotocol/sdk/types.js"),
};
const v2 = { ...load("@modelcontextprotocol/client"), ...load("@modelcontextprotocol/client/stdio") };

const MODERN = "2026-07-28";
const capabilities = { elicitation: {} };
const answer = () => ({ action: "accept", content: { name: "Ada" } });

const inMode = (mode, version) => ({
  sdk: v2,
  version,
  client() {
    const client = new v2.Client({ name: "eras", version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
    client.setRequestHandler("elicitation/create", answer);
    return client;
  },
  call: (client, name, args) => client.callTool({ name, arguments: args }),
});

const clients = {
  "TypeScript SDK v1": {
    sdk: v1,
    client() {
      const client = new v1.Client({ name: "eras", version: "1.0.0" }, { capabilities });
      client.setRequestHandler(v1.types.ElicitRequestSchema, answer);
      return client;
    },
    call: (client, name, args) => client.callTool({ name, arguments: args }, undefined),
  },
  "TypeScript SDK v2, legacy": inMode("legacy", "2025-11-25"),
  "TypeScript SDK v2, auto": inMode("auto", MODERN),
  "TypeScript SDK v2, pinned": inMode({ pin: MODERN }, MODERN),
};

const transports = {
  stdio: async (t, sdk, path, servers) => new sdk.StdioClientTransport(serve(path, servers)),
  http: async (t, sdk, path, servers) => new sdk.StreamableHTTPClientTransport(new URL(await http(t, path, servers))),
};

const text = (result) => {
  assert.ok(!result.isError, JSON.stringify(result));
  return result.content[0].text;
};

// A list does not wait long for a slow server (decision 18), so we list until the tools wanted are there.
const list = async (client, ...wanted) => {
  for (let patience = 300; ; patience--) {
    const tools = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
    if (wanted.every((tool) => tools.has(tool))) return tools;
    assert.ok(patience > 0, `${wanted} are not among ${[...tools.keys()]}`);
    await sleep(100);
  }
};

const question = {
  method: "elicitation/create",
  params: {
    message: "Who?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
};

const cells = Object.keys(clients).flatMap((name) => Object.keys(transports).map((transport) => `${name} over ${transport}`));

for (const [name, { sdk, version, client: make, call }] of Object.entries(clients)) {
  for (const [transport, connect] of Object.entries(transports)) {
    const test = inMatrix(`${name} over ${transport}`, cells);
    describe(`${name} over ${transport}`, { concurrency: 4 }, () => {
      const through = async (t, servers, path = folder(t)) => {
        const client = make();
        const transport = await connect(t, sdk, path, servers);
        atEnd(t, () => transport.close());
        atEnd(t, () => client.close());
        await client.connect(transport);
        return client;
      };

      for (const era of ["legacy", "modern", "dual"]) {
        test(`it is asked by a ${era} server, whose tool runs once`, async (t) => {
          const path = folder(t);
          const runs = join(path, "runs");
          const client = await through(t, { asking: fake({ era, tools: [{ name: "ask" }], runs }) }, path);
          if (version) assert.equal(client.getNegotiatedProtocolVersion(), version);
          await list(client, "asking__ask");
          const said = JSON.parse(text(await call(client, "asking__ask", question)));
          assert.deepEqual(said, { action: "accept", content: { name: "Ada" } });
          assert.deepEqual(ran(runs), ["ask"]);
        });
      }

      test("a modern server asks three times in one call, which runs once", async (t) => {
        const path = folder(t);
        const runs = join(path, "runs");
        const client = await through(t, { asking: fake({ era: "modern", tools: [{ name: "ask" }], runs }) }, path);
        const said = JSON.parse(text(await call(client, "asking__ask", { ...question, rounds: 3 })));
        assert.equal(said.content.name, "Ada");
        assert.deepEqual(ran(runs), ["ask"]);
      });

      test("mcp-server-time speaks both eras, server-everything the old ones", async (t) => {
        const client = await through(t, { time, everything });
        await list(client, "time__get_current_time", "everything__trigger-elicitation-request");
        const now = text(await call(client, "time__get_current_time", { timezone: "UTC" }));
        assert.equal(JSON.parse(now).timezone, "UTC");
        assert.equal(text(await call(client, "everything__echo", { message: "hi" })), "Echo: hi");
        const elicited = await call(client, "everything__trigger-elicitation-request", {});
        assert.match(elicited.content.map((block) => block.text).join("\n"), /Ada/);
      });

      for (const era of ["dies-on-discover", "silent-on-discover"]) {
        test(`a server that ${era.replaceAll("-", " ")} works all the same`, async (t) => {
          const path = folder(t);
          const log = join(path, "log");
          const client = await through(t, { old: fake({ era, log }) }, path);
          await list(client, "old__echo");
          assert.equal(text(await call(client, "old__echo", { text: "here" })), "here");
          assert.equal(received(log, "tools/call").length, 1);
        });
      }

      test("output that is no object, and content of an unknown kind, spoil neither the list nor the call", async (t) => {
        const numbers = { name: "weird", outputSchema: { type: "array", items: { type: "number" } } };
        const odd = fake({ era: "modern", tools: [{ name: "echo" }, numbers] });
        const client = await through(t, { odd });
        const tools = await list(client, "odd__weird");
        assert.deepEqual([...tools.keys()].filter((tool) => tool.startsWith("odd__")), ["odd__echo", "odd__weird"]);
        const content = [{ type: "text", text: "[1,2]" }];
        const result = await call(client, "odd__weird", { raw: JSON.stringify({ content, structuredContent: [1, 2] }) });
        const wrapped = version === MODERN ? [1, 2] : { result: [1, 2] };
        assert.deepEqual(result.structuredContent, wrapped);
        if (version === MODERN) return;
        // A client of the newest revision may refuse what it does not know; the others are spared it.
        const hologram = { content: [...content, { type: "hologram", light: 1 }], structuredContent: [] };
        const spelled = await call(client, "odd__weird", { raw: JSON.stringify(hologram) });
        assert.match(spelled.content[1].text, /hologram/);
      });
    });
  }
}
