// What the page costs (D3): how soon it is drawn, and 1,000 frames a second from a gateway that is made up, for a minute.
// Figures, no test.
//
//   bench/page [SECONDS]      with what is in dist; chromium by CHROMIUM, else /usr/bin/chromium

import { readFileSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const packages = process.env.PACKAGES ?? fileURLToPath(new URL("../../../../target/interop/node/", import.meta.url));
const { chromium } = createRequire(packages)("playwright-core");
const seconds = Number(process.argv[2] ?? 60);
const dist = process.env.DIST ?? fileURLToPath(new URL("../../dist/", import.meta.url));
const RATE = 1000;
const EPOCH = "5f876fdac3ec335b";

const all = [];
let listener = null;
let n = 0;

/** Makes the four frames of a call. */
function call(number) {
  const t = number * 4e6;
  const [tool, server] = [`tool_${number % 37}`, `server${number % 9}`];
  const client = { id: 1, name: "editor", version: "1.0" };
  const params = { name: `${server}__${tool}`, arguments: { path: `/src/file${number}.rs`, line: number, flags: ["a", "b", "c"] } };
  const result = { content: [{ type: "text", text: `line ${number}: ${"lorem ipsum dolor sit amet ".repeat(8)}` }] };
  const took = 1_000_000 + ((number * 7919) % 50) * 1_000_000;
  const status = number % 23 === 0 ? "error" : "ok";
  const request = { jsonrpc: "2.0", id: number, method: "tools/call", params };
  const response = { jsonrpc: "2.0", id: number, result };
  return [
    { t, hop: "client", dir: "in", kind: "request", client, method: "tools/call", tool: params.name, id: number, call: number, bytes: 180, body: request },
    { t: t + 2e4, hop: "server", dir: "out", kind: "request", server, method: "tools/call", tool, id: number, call: number, bytes: 170, body: request },
    { t: t + took, hop: "server", dir: "in", kind: "response", server, method: "tools/call", tool, id: number, call: number, status, took, bytes: 320, body: response },
    { t: t + took + 3e4, hop: "client", dir: "out", kind: "response", client, method: "tools/call", tool: params.name, id: number, call: number, status, took: took + 5e4, bytes: 320, body: response },
  ].map((frame) => ({ n: ++n, ...frame }));
}

const written = (frame) => `id: ${EPOCH}-${frame.n}\nevent: frame\ndata: ${JSON.stringify(frame)}\n\n`;

function pump() {
  const began = Date.now();
  let sent = 0;
  return setInterval(() => {
    let text = "";
    for (; sent < ((Date.now() - began) * RATE) / 1000; sent += 4) {
      for (const frame of call(n / 4 + 1)) {
        all.push(frame);
        if (!listener?.server || frame.server === listener.server) text += written(frame);
      }
    }
    if (all.length > 20_000) all.splice(0, 10_000);
    if (text) listener?.answer.write(text);
  }, 20);
}

const SNAPSHOT = {
  at: `${EPOCH}-0`,
  gateway: { version: "0.0.0", profile: "manifold", listeners: [], uptimeMs: 1 },
  config: { format: "mcpServers", problems: [] },
  servers: [],
  namespaces: [],
  clients: [],
};

const server = createServer(async (asked, answer) => {
  const url = new URL(asked.url, "http://127.0.0.1");
  const json = (value) => answer.setHeader("Content-Type", "application/json").end(JSON.stringify(value));
  const stream = () => answer.writeHead(200, { "Content-Type": "text/event-stream" }).write("retry: 1000\n\n");
  if (url.pathname === "/v1/web/token") return json({ token: "t", scope: "act", sessionId: "1", expiresInMs: 1e6 });
  if (url.pathname === "/v1/snapshot") return json(SNAPSHOT);
  if (url.pathname === "/v1/about") return json({ ...SNAPSHOT.gateway, kind: "daemon" });
  if (url.pathname === "/v1/events") return stream();
  if (url.pathname === "/v1/traffic") {
    stream();
    const after = Number(/-(\d+)$/.exec(url.searchParams.get("after") ?? "")?.[1] ?? n);
    const wanted = /^server:(\S+)$/.exec(url.searchParams.get("filter") ?? "")?.[1];
    answer.write(`id: ${EPOCH}-${after}\nevent: cursor\ndata: {"at":"${EPOCH}-${after}"}\n\n`);
    answer.write(all.filter((frame) => frame.n > after && (!wanted || frame.server === wanted)).map(written).join(""));
    listener = { answer, server: wanted };
    asked.on("close", () => listener?.answer === answer && (listener = null));
    return undefined;
  }
  if (url.pathname.startsWith("/v1/")) return json({});
  const name = url.pathname.replace(/^\/ui\//, "") || "index.html";
  const type = { js: "text/javascript", css: "text/css" }[name.split(".").pop()] ?? "text/html";
  return answer.setHeader("Content-Type", type).end(await readFile(dist + name));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

/** Returns the processor's seconds that a process and all below it have used. */
function usedBy(root) {
  const stats = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" ");
      return [{ pid: Number(pid), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]), line: readFileSync(`/proc/${pid}/cmdline`, "utf8") }];
    } catch {
      return [];
    }
  });
  const family = new Set([root]);
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const one of stats) if (family.has(one.parent)) family.add(one.pid);
  }
  const mine = stats.filter((one) => family.has(one.pid));
  const sum = (list) => list.reduce((total, one) => total + one.ticks, 0) / 100;
  return { all: sum(mine), renderer: sum(mine.filter((one) => one.line.includes("--type=renderer"))) };
}

const browser = await chromium.launchServer({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--js-flags=--expose-gc"] });
try {
  const page = await (await chromium.connect(browser.wsEndpoint())).newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`http://127.0.0.1:${server.address().port}/ui/#code=x`);
  await page.getByRole("navigation").getByRole("link", { name: "Traffic" }).click();
  const painted = await page.evaluate(() => Math.round(performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN));
  const timer = pump();
  await page.waitForTimeout(3000);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const figures = async () => Object.fromEntries((await devtools.send("Performance.getMetrics")).metrics.map((one) => [one.name, one.value]));
  const pid = browser.process().pid;
  const [before, usedBefore, at] = [await figures(), usedBy(pid), Date.now()];
  await page.waitForTimeout(seconds * 1000);
  const [after, usedAfter, wall] = [await figures(), usedBy(pid), (Date.now() - at) / 1000];
  const share = (used) => `${((100 * used) / wall).toFixed(1)} % of a core`;
  await devtools.send("HeapProfiler.collectGarbage");
  const { JSHeapUsedSize } = await figures();
  const filtered = await page.evaluate(async () => {
    const input = document.querySelector("[data-filter]");
    input.value = "server:server3";
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
    const asked = performance.now();
    const isShown = () => {
      const cells = [...document.querySelectorAll(".traffic-rows .t-server")];
      return cells.length > 10 && cells.every((one) => one.textContent === "server3");
    };
    while (!isShown()) await new Promise((done) => setTimeout(done, 2));
    return Math.round(performance.now() - asked);
  });
  clearInterval(timer);
  console.log(`frames sent          ${n} in ${(seconds + 3).toFixed(0)} s`);
  console.log(`page's main thread   ${share(after.TaskDuration - before.TaskDuration)} (${["Script", "RecalcStyle", "Layout"].map((what) => `${what} ${share(after[`${what}Duration`] - before[`${what}Duration`])}`).join(", ")})`);
  console.log(`renderer process     ${share(usedAfter.renderer - usedBefore.renderer)}`);
  console.log(`whole browser        ${share(usedAfter.all - usedBefore.all)}`);
  console.log(`heap                 ${(JSHeapUsedSize / 1e6).toFixed(1)} MB used, after ${n} frames seen`);
  console.log(`filter               ${filtered} ms from what is typed to its rows (wanted: 100)`);
  console.log(`first paint          ${painted} ms after the address was opened (wanted: 150)`);
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
