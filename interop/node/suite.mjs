// What every client of the TypeScript SDK must be able to do through `manifold serve --stdio`.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { atEnd, everything, fake, filesystem, folder, git, inMatrix, memory, received, repository, serve, time } from "./gateway.mjs";

/**
 * Runs the suite with one SDK.
 *
 * `client(answers)` makes a client; `answers` maps the methods a server may ask to functions of the params.
 * `Transport` starts a server by its parameters. `call(client, name, args, options)` calls a tool.
 */
export function suite(name, { client: make, Transport, call }) {
  const test = inMatrix(name, ["TypeScript SDK v1", "TypeScript SDK v2, legacy", "TypeScript SDK v2, auto"]);
  const through = async (t, servers, answers = {}) => {
    const client = make(answers);
    const transport = new Transport(serve(folder(t), servers));
    // Also where they never come to speak.
    atEnd(t, () => transport.close());
    atEnd(t, () => client.close());
    await client.connect(transport);
    return client;
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
      await sleep(200);
    }
  };

  describe(name, () => {
    test("tools of three servers in two languages are listed flat (S1-17, S1-18, S3-17)", async (t) => {
      const client = await through(t, { everything, time, git });
      const wanted = ["everything__echo", "time__convert_time", "git__git_log", "manifold__servers_list"];
      const listed = await list(client, ...wanted);
      assert.match(listed.get("git__git_log").description, /^\[git\] /);
      assert.equal(client.getServerVersion().name, "manifold");
    });

    test("tools of three servers are called (S0-7, S1-42, S3-8)", async (t) => {
      const path = repository(folder(t));
      const client = await through(t, { everything, time, git });
      assert.equal(text(await call(client, "everything__echo", { message: "hello" })), "Echo: hello");
      const now = text(await call(client, "time__get_current_time", { timezone: "UTC" }));
      assert.equal(JSON.parse(now).timezone, "UTC");
      assert.match(text(await call(client, "git__git_log", { repo_path: path })), /the first commit/);
    });

    test("files are read and facts remembered, with the server's own environment", async (t) => {
      const path = folder(t);
      writeFileSync(join(path, "note.txt"), "a note\n");
      const servers = { files: filesystem(path), memory: memory(join(path, "memory.jsonl")) };
      const client = await through(t, servers);
      assert.equal(text(await call(client, "files__read_text_file", { path: join(path, "note.txt") })), "a note\n");
      const entities = [{ name: "Ada", entityType: "person", observations: ["writes notes"] }];
      await call(client, "memory__create_entities", { entities });
      const found = await call(client, "memory__search_nodes", { query: "notes" });
      assert.equal(found.structuredContent.entities[0].name, "Ada");
    });

    test("a server that cannot start leaves the others working (S1-31, S1-32)", async (t) => {
      const client = await through(t, { broken: { command: "/no/such/program" }, time });
      const listed = await list(client, "time__get_current_time");
      assert.ok(![...listed.keys()].some((tool) => tool.startsWith("broken__")));
      await assert.rejects(call(client, "broken__anything", {}));
    });

    test("structured content passes the client's check against the output schema", async (t) => {
      const client = await through(t, { everything });
      await list(client, "everything__get-structured-content");
      const weather = await call(client, "everything__get-structured-content", { location: "Chicago" });
      assert.equal(weather.structuredContent.humidity, 82);
    });

    test("sampling, elicitation and roots reach the client (decision 29)", async (t) => {
      const answers = {
        "sampling/createMessage": ({ messages, maxTokens }) => {
          const said = [messages].flat()[0].content;
          const content = { type: "text", text: `${[said].flat()[0].text} in ${maxTokens}` };
          return { role: "assistant", model: "test", content };
        },
        "elicitation/create": () => ({ action: "accept", content: { name: "Ada" } }),
        "roots/list": () => ({ roots: [{ uri: "file:///one", name: "One" }] }),
      };
      const client = await through(t, { everything }, answers);
      const sampled = await call(client, "everything__trigger-sampling-request", { prompt: "hi", maxTokens: 9 });
      assert.match(text(sampled), /context: hi in 9/);
      const elicited = await call(client, "everything__trigger-elicitation-request", {});
      assert.match(elicited.content.map((block) => block.text).join("\n"), /Ada/);
      assert.match(text(await call(client, "everything__get-roots-list", {})), /file:\/\/\/one/);
    });

    test("a tool that needs what the client lacks is not offered, or says so (decision 29)", async (t) => {
      const client = await through(t, { everything });
      const tool = "everything__trigger-sampling-request";
      const tools = await list(client, "everything__echo");
      if (client.getNegotiatedProtocolVersion?.() !== "2026-07-28") return assert.ok(!tools.has(tool));
      // There, a list is the same for all clients, so what one lacks shows in the call.
      const refused = await call(client, tool, { prompt: "hi" });
      assert.ok(refused.isError);
      assert.match(refused.content[0].text, /does not support .*sampling/);
    });

    test("progress reaches the client, in order and before the result", async (t) => {
      const client = await through(t, { everything });
      const steps = [];
      const onprogress = ({ progress, total }) => steps.push(`${progress}/${total}`);
      const operation = { duration: 0.3, steps: 3 };
      await call(client, "everything__trigger-long-running-operation", operation, { onprogress });
      // The SDKs drop progress that they read together with the result, from the server itself as from us; the
      // wire-level comparison in test_fidelity.py sees all three.
      assert.deepEqual(steps.slice(0, 2), ["1/3", "2/3"]);
    });

    test("progress of calls to different servers is not mixed up", async (t) => {
      const knobs = { tools: [{ name: "progress" }] };
      const client = await through(t, { a: fake(knobs), b: fake(knobs) });
      const told = async (server, steps) => {
        const heard = [];
        const onprogress = ({ progress, total }) => heard.push({ progress, total });
        await call(client, `${server}__progress`, { steps, ms: 5 }, { onprogress });
        return heard;
      };
      for (const [n, heard] of (await Promise.all([told("a", 3), told("b", 7), told("a", 5)])).entries()) {
        // The SDKs drop what they read together with the result; what they do tell is the call's own and in order.
        const total = [3, 7, 5][n];
        assert.deepEqual(heard, heard.map((_, step) => ({ progress: step + 1, total })));
        assert.ok(heard.length <= total);
      }
    });

    test("cancelling a call cancels it at the server, under the server's id (S1-44)", async (t) => {
      const log = join(folder(t), "log");
      const client = await through(t, { slow: fake({ tools: [{ name: "sleep" }, { name: "echo" }], log }) });
      const controller = new AbortController();
      const slow = call(client, "slow__sleep", { ms: 60_000 }, { signal: controller.signal });
      const refused = assert.rejects(slow);
      while (received(log, "tools/call").length === 0) await sleep(20);
      controller.abort("enough");
      await refused;
      await call(client, "slow__echo", { text: "still here" });
      const [cancelled] = received(log, "notifications/cancelled");
      assert.equal(cancelled?.params.requestId, received(log, "tools/call")[0].id);
    });

    test("a list in pages arrives whole (decision 18)", async (t) => {
      const tools = Array.from({ length: 7 }, (_, n) => ({ name: `tool${n}` }));
      const odd = fake({ tools, pages: 2, emptyCursor: true });
      const client = await through(t, { paged: fake({ tools, pages: 3 }), odd });
      const listed = await list(client, "paged__tool0", "odd__tool0");
      for (const server of ["paged", "odd"]) {
        const ours = [...listed.keys()].filter((tool) => tool.startsWith(`${server}__`));
        assert.deepEqual(ours, tools.map((tool) => `${server}__${tool.name}`));
      }
    });

    test("twenty slow calls run side by side (S1-45)", async (t) => {
      const client = await through(t, { slow: fake({ delayMs: { "tools/call": 500 } }) });
      await list(client, "slow__echo");
      const calls = Array.from({ length: 20 }, (_, n) => call(client, "slow__echo", { text: `${n}` }));
      assert.deepEqual((await Promise.all(calls)).map(text), calls.map((_, n) => `${n}`));
    });

    test("prompts, resources and completions of a server (S0-8, S0-9)", async (t) => {
      const client = await through(t, { everything, time });
      const prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
      assert.ok(prompts.includes("everything__args-prompt"));
      const prompt = await client.getPrompt({ name: "everything__args-prompt", arguments: { city: "Oslo" } });
      assert.match(prompt.messages[0].content.text, /Oslo/);
      const ref = { type: "ref/prompt", name: "everything__completable-prompt" };
      const { completion } = await client.complete({ ref, argument: { name: "department", value: "S" } });
      assert.deepEqual(completion.values, ["Sales", "Support"]);
      const { resources } = await client.listResources();
      const { contents } = await client.readResource({ uri: resources[0].uri });
      assert.equal(contents[0].uri, resources[0].uri);
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.equal(resourceTemplates[0].uriTemplate, "demo://resource/dynamic/text/{resourceId}");
    });

    test("an error of the server comes with its code, message and data (decision 15)", async (t) => {
      const client = await through(t, { odd: fake({ tools: [{ name: "rpcerror" }] }) });
      const wanted = { code: -32055, message: "as wished", data: { why: ["because"] } };
      await assert.rejects(call(client, "odd__rpcerror", wanted), (error) => {
        assert.equal(error.code, wanted.code);
        assert.match(error.message, /as wished/);
        assert.deepEqual(error.data, wanted.data);
        return true;
      });
    });
  });
}
