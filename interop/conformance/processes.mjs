// Servers, gateways and the suite as child processes.

import { spawn } from "node:child_process";
import { createWriteStream, existsSync, openSync, readFileSync, readdirSync } from "node:fs";
import { once } from "node:events";
import { createServer, connect } from "node:net";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const suite = join(root, "target/interop/node/node_modules/@modelcontextprotocol/conformance/dist/index.js");
const running = new Set();

/** Starts a process and waits until its port can be reached. */
export async function start(command, args, { log, port }) {
  const file = openSync(log, "w");
  // What a gateway remembers of its servers is not the user's.
  const env = { ...process.env, XDG_CACHE_HOME: dirname(log) };
  const child = spawn(command, args, { env, stdio: ["ignore", file, file] });
  const ended = new Promise((done) => child.on("error", done).on("exit", done));
  const stop = async () => {
    running.delete(stop);
    child.kill("SIGTERM");
    if ((await Promise.race([ended, sleep(10_000, "late")])) === "late") child.kill("SIGKILL");
    await ended;
  };
  running.add(stop);
  const until = Date.now() + 20_000;
  while (!(await reachable(port))) {
    if (child.exitCode !== null || child.pid === undefined || Date.now() > until) {
      throw new Error(`${command} did not come up on port ${port}:\n${readFileSync(log, "utf8")}`);
    }
    await sleep(50);
  }
  return { stop };
}

export async function stopAll() {
  for (const stop of [...running]) await stop();
}

/** Runs the suite and returns each scenario with its checks, in the suite's order. */
export async function runSuite(url, revision, place) {
  const args = [suite, "server", "--url", url, "--requirements", revision, "-o", join(place, "results")];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  const log = createWriteStream(join(place, "suite.log"));
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (part) => {
      text += part;
      log.write(part);
    });
  }
  await once(child, "close");
  log.end();
  const scenarios = [...text.matchAll(/^=== Running scenario: (.+) ===$/gm)].map((match) => match[1]);
  if (scenarios.length === 0) throw new Error(`the suite ran no scenario:\n${text}`);
  return scenarios.map((scenario) => ({ scenario, checks: checksOf(scenario, join(place, "results")) }));
}

/** Returns the client scenarios of a revision, those that are reported without being scored too. */
export async function clientScenarios(revision) {
  const child = spawn(process.execPath, [suite, "list", "--requirements", revision], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part) => (text += part));
  await once(child, "close");
  const required = text.split(/^Client scenarios.*$/m)[1]?.split(/^$/m)[0] ?? "";
  const scenarios = [...required.matchAll(/^  - (\S+)$/gm), ...text.matchAll(/^    - (\S+) \[client\]$/gm)];
  if (scenarios.length === 0) throw new Error(`the suite names no scenarios:\n${text}`);
  return scenarios.map((match) => match[1]);
}

/** Runs one client scenario and returns its checks; a client that gave up is a failed one. */
export async function runClientScenario(command, scenario, revision, place, env) {
  const results = join(place, scenario);
  // Extensions belong to no revision: without `--force` they are skipped.
  const args = [suite, "client", "--command", command, "--scenario", scenario, "--spec-version", revision, "--force"];
  const child = spawn(process.execPath, [...args, "--timeout", "60000", "-o", results], { stdio: ["ignore", "pipe", "pipe"], env });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part) => (text += part));
  await once(child, "close");
  try {
    // The folder bears the scenario's name, which may be a path.
    const folder = join(results, dirname(readdirSync(results, { recursive: true }).find((name) => name.endsWith("checks.json"))));
    const checks = JSON.parse(readFileSync(join(folder, "checks.json"), "utf8"));
    const gaveUp = /^.*CLIENT (TIMED OUT|EXITED WITH ERROR).*$/m.exec(text);
    const errors = readFileSync(join(folder, "stderr.txt"), "utf8");
    return gaveUp ? [...checks, { id: "client", status: "FAILURE", errorMessage: errors || gaveUp[0] }] : checks;
  } catch {
    return [{ id: scenario, status: "FAILURE", errorMessage: text.slice(-600) }];
  }
}

/** Finds a binary by its variable, or else where cargo puts it. */
export function binary(variable, fallback) {
  const path = resolve(process.env[variable] || join(root, fallback));
  if (existsSync(path)) return path;
  console.error(`${path} is not there; build it or set ${variable}`);
  process.exit(2);
}

/** A scenario that threw leaves no results; the suite counts that as one failure. */
function checksOf(scenario, results) {
  // Folders are named `server-SCENARIO-2026-01-31T12-00-00-000Z`.
  const name = readdirSync(results).find((name) => name.replace(/-\d{4}-\d\d-\d\dT[\dZ-]+$/, "") === `server-${scenario}`);
  try {
    return JSON.parse(readFileSync(join(results, name, "checks.json"), "utf8"));
  } catch {
    return [{ id: scenario, status: "FAILURE", errorMessage: "the scenario could not be run" }];
  }
}

export async function freePort() {
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
