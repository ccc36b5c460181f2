// A recording of the real server-everything, served back: every client of the TypeScript SDKs gets the same answers.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { atEnd, everything, folder, load, manifold, serve, surroundings } from "./gateway.mjs";

const v1 = { ...load("@modelcontextprotocol/sdk/client/index.js"), ...load("@modelcontextprotocol/sdk/client/stdio.js") };
const v2 = { ...load("@modelcontextprotocol/client"), ...load("@modelcontextprotocol/client/stdio") };
const who = { name: "replay", version: "1.0.0" };

const clients = {
  "TypeScript SDK v1": { sdk: v1, make: () => new v1.Client(who) },
  "TypeScript SDK v2, legacy": { sdk: v2, make: () => new v2.Client(who, { versionNegotiation: { mode: "legacy" } }) },
  "TypeScript SDK v2, auto": { sdk: v2, make: () => new v2.Client(who, { versionNegotiation: { mode: "auto" } }) },
};

const calls = [
  ["everything__echo", { message: "hello" }],
  ["everything__get-sum", { a: 2, b: 40 }],
  ["everything__get-structured-content", { location: "Chicago" }],
  ["everything__get-tiny-image", {}],
];

/** Returns what a client is told by the program it starts: tools, what some of them give, a prompt, a resource. */
async function asked(t, { sdk, make }, command) {
  const client = make();
  const transport = new sdk.StdioClientTransport(command);
  atEnd(t, () => transport.close());
  atEnd(t, () => client.close());
  await client.connect(transport);
  const { tools } = await client.listTools();
  const results = [];
  for (const [name, args] of calls) {
    const { content, structuredContent, isError } = await client.callTool({ name, arguments: args });
    results.push({ content, structuredContent, isError });
  }
  const { messages } = await client.getPrompt({ name: "everything__args-prompt", arguments: { city: "Oslo" } });
  const { resources } = await client.listResources();
  await client.close();
  // Later eras may mark what they list; a definition is the same in all.
  const defined = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return { defined, results, messages, uris: resources.map((resource) => resource.uri) };
}

/** Runs a daemon of the folder's config until the test is over, and returns how its commands are run. */
async function daemon(t, env, config) {
  const child = spawn(manifold, ["daemon", "run", "--config", config], { stdio: "ignore", env });
  const exited = once(child, "exit");
  const run = (...words) => promisify(execFile)(manifold, [...words, "--config", config], { env, timeout: 60_000 });
  atEnd(t, async () => {
    await run("daemon", "stop").catch(() => {});
    const late = setTimeout(() => child.kill("SIGKILL"), 30_000);
    await exited;
    clearTimeout(late);
  });
  for (let patience = 600; ; patience--) {
    const isThere = await run("daemon", "status").then(() => true, () => false);
    if (isThere) return run;
    assert.ok(patience > 0 && child.exitCode === null, "no daemon");
    await sleep(100);
  }
}

describe("a recording answers as the server did", { skip: process.env.MANIFOLD_DAEMON === "off" }, () => {
  for (const [name, recorded] of Object.entries(clients)) {
    test(`what ${name} was told, all are told`, async (t) => {
      const path = folder(t);
      const command = serve(path, { everything });
      const env = { ...surroundings(path), MANIFOLD_DAEMON: "on" };
      const run = await daemon(t, env, command.args.at(-1));
      await run("record", "start", "everything");
      const told = await asked(t, recorded, { ...command, env });
      const { file } = JSON.parse((await run("record", "stop", "everything", "--json")).stdout);
      assert.equal(told.results[0].content[0].text, "Echo: hello");
      for (const [other, client] of Object.entries(clients)) {
        const replay = { command: manifold, args: ["replay", file, "--serve"], env, stderr: "ignore" };
        assert.deepEqual(await asked(t, client, replay), told, other);
      }
    });
  }
});
