// A gateway over HTTP in front of real servers, and a relay that cuts connections.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import * as parts from "../replicas.mjs";
import { atEnd, everything, manifold, surroundings } from "./gateway.mjs";

/** Runs `manifold http` with these servers until the test is over and returns its address. */
export async function http(test, path, mcpServers) {
  const config = join(path, "config.json");
  writeFileSync(config, JSON.stringify({ mcpServers }));
  const port = await freePort();
  await run(test, manifold, ["http", "--config", config, "--port", `${port}`], port, surroundings(path));
  return `http://127.0.0.1:${port}/mcp`;
}

/** Runs two gateways with these servers, a Redis and the balancer until the test is over and returns its address. */
export async function replicated(test, path, mcpServers) {
  const config = join(path, "config.json");
  writeFileSync(config, JSON.stringify({ mcpServers }));
  const redisPort = await freePort();
  const redis = parts.redis(path, redisPort);
  await run(test, redis.command, redis.args, redisPort);
  const shared = parts.sharing(path, redisPort);
  const ports = [];
  for (const name of ["one", "two"]) {
    const { own, args } = shared(name);
    const port = await freePort();
    await run(test, manifold, ["http", "--config", config, "--port", `${port}`, ...args], port, surroundings(own));
    ports.push(port);
  }
  await Promise.all(ports.map(parts.ready));
  const port = await freePort();
  const balancer = parts.haproxy(path, port, ports);
  await run(test, balancer.command, balancer.args, port);
  return `http://127.0.0.1:${port}/mcp`;
}

/** Runs server-everything over `streamableHttp` or `sse` until the test is over and returns its config entry. */
export async function everythingAt(test, transport) {
  const port = await freePort();
  const env = { ...process.env, PORT: `${port}` };
  await run(test, everything.command, [everything.args[0], transport], port, env);
  return { url: `http://127.0.0.1:${port}/${transport === "sse" ? "sse" : "mcp"}` };
}

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

async function run(test, command, args, port, env = process.env) {
  const child = spawn(command, args, { stdio: "ignore", env });
  running.add(child);
  const exited = once(child, "exit").then(() => running.delete(child));
  atEnd(test, async () => {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 20_000);
    await exited;
    clearTimeout(late);
  });
  for (let patience = 400; !(await reachable(port)); patience--) {
    if (patience === 0 || child.exitCode !== null) throw new Error(`${command} does not listen on ${port}`);
    await sleep(50);
  }
}

/** Passes bytes on to the address; `cutAfter(text)` cuts the connection that next answers with the text. */
export async function relay(test, address) {
  const target = new URL(address);
  const seen = { heads: [], cuts: 0 };
  let mark = null;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
    upstream.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("data", (data) => {
      seen.heads.push(data.toString());
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (mark === null || !data.includes(mark)) return client.write(data);
      mark = null;
      seen.cuts++;
      client.write(data, () => setTimeout(() => client.destroy(), 50));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(test, () => server.close());
  const through = new URL(address);
  through.port = server.address().port;
  return { address: through.href, seen, cutAfter: (text) => (mark = text) };
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function reachable(port) {
  const socket = connect(port, "127.0.0.1");
  const up = await new Promise((done) => socket.on("connect", () => done(true)).on("error", () => done(false)));
  socket.destroy();
  return up;
}
