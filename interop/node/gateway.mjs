// Where the gateway and the servers are, and a config that puts these behind it.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const interop = join(root, "target/interop");

/** Loads a package installed under target/interop, which import would not find from here. */
export const load = createRequire(join(interop, "node/"));

export const manifold = process.env.MANIFOLD_BIN || join(root, "target/release/manifold");

const server = (name, ...args) => ({
  command: process.execPath,
  args: [join(interop, `node/node_modules/@modelcontextprotocol/server-${name}/dist/index.js`), ...args],
});

export const everything = server("everything", "stdio");
export const time = { command: join(interop, "venv/bin/mcp-server-time"), args: ["--local-timezone", "UTC"] };
export const git = { command: join(interop, "venv/bin/mcp-server-git"), args: [] };
export const filesystem = (folder) => server("filesystem", folder);
export const memory = (file) => ({ ...server("memory"), env: { MEMORY_FILE_PATH: file } });

/** The fake server of crates/testkit, for what no real server does on demand. */
export function fake(knobs) {
  const command = process.env.FAKE_SERVER_BIN || join(root, "target/debug/fake-server");
  if (!existsSync(command)) throw new Error(`${command} is not built: cargo build -p manifold-testkit`);
  return { command, args: [JSON.stringify(knobs)] };
}

const ends = new WeakMap();

/** Has this done when the test is over, passed or failed: the last thing begun is the first to end. */
export function atEnd(test, end) {
  if (!ends.has(test)) {
    const stack = [];
    ends.set(test, stack);
    test.after(async () => {
      const problems = [];
      for (let next = stack.pop(); next; next = stack.pop()) await Promise.resolve(next()).catch((error) => problems.push(error));
      if (problems.length > 0) throw problems[0];
    });
  }
  ends.get(test).push(async () => end());
}

/** A temporary folder that goes when the test, and all that it started there, is over. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), "manifold-interop-"));
  // With a daemon, that one ends a moment after its last client, and writes until then.
  atEnd(test, () => rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }));
  return path;
}

/**
 * Runs a test in one cell of a matrix. Each promise is kept in one cell, another one for each promise, and with
 * MANIFOLD_LONG in all of them.
 */
export const inMatrix = (cell, cells) => (promise, ...rest) => {
  const place = [...promise].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 65521, 7);
  if (process.env.MANIFOLD_LONG || cells[place % cells.length] === cell) test(promise, ...rest);
};

/** Writes a config into the folder and returns how to start a gateway with these servers. */
export function serve(path, mcpServers) {
  const config = join(path, "config.json");
  // With a daemon, that one is the test's own and ends soon after it.
  writeFileSync(config, JSON.stringify({ mcpServers, daemon: { linger: 1000 } }));
  return { command: manifold, args: ["serve", "--stdio", "--config", config], env: surroundings(path), stderr: "ignore" };
}

/** What a gateway learns about its servers stays in the test's folder. */
export function surroundings(path) {
  const [XDG_CACHE_HOME, XDG_RUNTIME_DIR, XDG_STATE_HOME] = ["cache", "run", "state"].map((name) => join(path, name));
  mkdirSync(XDG_RUNTIME_DIR, { recursive: true, mode: 0o700 });
  return { MANIFOLD_DAEMON: "off", ...process.env, XDG_CACHE_HOME, XDG_RUNTIME_DIR, XDG_STATE_HOME };
}

/** Makes a git repository with one commit and returns its path. */
export function repository(path) {
  const place = join(path, "repository");
  mkdirSync(place);
  writeFileSync(join(place, "hello.txt"), "hello\n");
  const person = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  for (const args of [["init", "-q"], ["add", "."], [...person, "commit", "-q", "-m", "the first commit"]]) {
    execFileSync("git", args, { cwd: place });
  }
  return place;
}

/** The tools that a fake server began to run, in order; later rounds of the same call are left out. */
export function ran(runs) {
  const lines = existsSync(runs) ? readFileSync(runs, "utf8").split("\n") : [];
  return lines.filter((line) => line.endsWith(" run")).map((line) => line.split(" ")[0]);
}

/** The messages of one method that a fake server wrote into its log. */
export function received(log, method) {
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
  return lines.map((line) => JSON.parse(line).msg).filter((message) => message?.method === method);
}
