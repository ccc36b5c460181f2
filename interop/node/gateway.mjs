// Where the gateway and the servers are, and a config that puts these behind it.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

/** A temporary folder that goes when the test is over. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), "manifold-interop-"));
  test.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes a config into the folder and returns how to start a gateway with these servers. */
export function serve(path, mcpServers) {
  const config = join(path, "config.json");
  writeFileSync(config, JSON.stringify({ mcpServers }));
  // SDKs hand down few variables, and what is remembered of these servers is not the user's.
  const args = [`XDG_CACHE_HOME=${path}`, manifold, "serve", "--stdio", "--config", config];
  return { command: "env", args, stderr: "ignore" };
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

/** The messages of one method that a fake server wrote into its log. */
export function received(log, method) {
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n").filter(Boolean) : [];
  return lines.map((line) => JSON.parse(line).msg).filter((message) => message?.method === method);
}
