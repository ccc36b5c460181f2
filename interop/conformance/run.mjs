// The conformance suite, directly and through the gateway, and what differs.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { compare, ranAgain, readExceptions, table, total } from "./compare.mjs";
import { missing } from "../replicas.mjs";
import { binary, freePort, runSuite, start, stopAll } from "./processes.mjs";
import { startReplicas } from "./replicas.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

const help = `usage: interop/conformance/run [OPTIONS]

Fails if a check fails through the gateway that does not fail directly, or a tool runs more often.

  --requirements REVISION  2025-11-25 or 2026-07-28; may be repeated (both)
  --upstream KIND          http or stdio: how the gateway reaches the server; may be repeated (both)
  --direct                 without the gateway; fails if any check fails
  --era ERA                what the server behind the gateway speaks: legacy, modern or dual (dual)
  --except FILE            checks that may fail, a line each: scenario, or scenario:check; fails if one passes
  --replicas 2             through a balancer to two gateways that share a Redis (one gateway, no balancer)
  --strict                 also fails if a check that passes directly is not reached through the gateway, or warns there
  -o, --output DIR         where results and logs go (target/conformance)

MANIFOLD_BIN and CONFORMANCE_SERVER_BIN name the binaries, else target/release/manifold and
target/debug/conformance-server (cargo build -p manifold-testkit --features conformance).`;

const { values: options } = parseArgs({
  options: {
    requirements: { type: "string", multiple: true, default: ["2025-11-25", "2026-07-28"] },
    upstream: { type: "string", multiple: true, default: ["http", "stdio"] },
    direct: { type: "boolean", default: false },
    era: { type: "string", default: "dual" },
    except: { type: "string" },
    replicas: { type: "string", default: "1" },
    strict: { type: "boolean", default: false },
    output: { type: "string", short: "o", default: join(root, "target/conformance") },
    help: { type: "boolean", short: "h", default: false },
  },
});

if (options.help) {
  console.log(help);
  process.exit(0);
}

if (!["1", "2"].includes(options.replicas)) {
  console.error("--replicas is 1 or 2: the example of the balancer has two");
  process.exit(2);
}

if (options.replicas === "2" && missing().length > 0) {
  console.log(`not run: there is no ${missing().join(" and no ")}`);
  process.exit(0);
}

const output = resolve(options.output);
const server = binary("CONFORMANCE_SERVER_BIN", "target/debug/conformance-server");
const manifold = options.direct ? null : binary("MANIFOLD_BIN", "target/release/manifold");
const how = options.replicas === "2" ? "through the balancer and two gateways" : "through the gateway";
const exceptions = options.except ? readExceptions(options.except) : [];

try {
  process.exitCode = (await main()) ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await stopAll();
}

/** Runs what was asked for; the last line is the sum over all runs that count. */
async function main() {
  let good = true;
  let passed = 0;
  let failed = 0;
  for (const revision of options.requirements) {
    // Each has its own server, port and folder, so they run side by side.
    const kinds = options.direct ? [] : options.upstream;
    const [directly, ...behind] = await Promise.all([
      direct(revision),
      ...kinds.map(async (kind) => ({ kind, ...(await through(revision, kind)) })),
    ]);
    const runs = options.direct ? [{ kind: null, ...directly }] : behind;
    for (const { kind, result, log } of runs) {
      const sum = total(result);
      passed += sum.passed;
      failed += sum.failed;
      console.log(`\n=== ${revision}, ${kind ? `${how} to ${kind}` : "directly"}\n`);
      console.log(table(directly.result, kind ? result : null));
      // A question asked in another era splits a run into other rounds, so only like is compared with like.
      const again = kind && options.era === "dual" ? ranAgain(directly.log, log) : [];
      good = (kind ? report(compare(directly.result, result, exceptions), again) : reportDirect(result)) && good;
    }
  }
  console.log(`\n${passed} passed, ${failed} failed`);
  return good;
}

function reportDirect(result) {
  const failures = result.flatMap(({ scenario, checks }) =>
    checks.filter(({ status }) => status === "FAILURE").map((check) => ({ scenario, ...check })),
  );
  list("failed", failures);
  return failures.length === 0;
}

function report({ worse, excepted, stale, lost }, again) {
  list("failed, but not directly", worse);
  list("ran more often than directly", again);
  list("failed, as expected", excepted);
  list("expected to fail, but passed", stale);
  list("passed directly, not reached through the gateway", lost);
  return worse.length + again.length + stale.length === 0 && !(options.strict && lost.length > 0);
}

function list(title, checks) {
  if (checks.length === 0) return;
  console.log(`\n${title}:`);
  for (const { scenario, id, errorMessage } of checks) {
    console.log(`  ${scenario}: ${id}${errorMessage ? `: ${errorMessage.split("\n")[0].slice(0, 300)}` : ""}`);
  }
}

async function direct(revision) {
  const place = folder(revision, "direct");
  const upstream = await startServer(place, "dual");
  const result = await runSuite(upstream.url, revision, place);
  await upstream.stop();
  return { result, log: join(place, "runs.log") };
}

/** The server is pinned to the era that was asked for; the suite still speaks the revision it is run for. */
async function through(revision, kind) {
  const place = folder(revision, kind);
  const upstream = kind === "http" ? await startServer(place, options.era) : null;
  const command = { command: server, args: ["--stdio", "--era", options.era, "--log", join(place, "runs.log")] };
  // The suite leaves calls behind whose questions it never answers. Without sessions each of its requests is another
  // client's, and a legacy server that clients share asks nobody in doubt (H3).
  if (revision === "2026-07-28" && options.era === "legacy") command.shared = false;
  // Tasks and what else a process remembers are its own: one serves both gateways.
  if (options.replicas === "2") command.replicas = "one";
  const config = join(place, "config.json");
  const settings = { separator: "", managerTools: false, prefixPrompts: false, prefixDescriptions: false };
  const mcpServers = { conformance: upstream ? { url: upstream.url } : command };
  writeFileSync(config, JSON.stringify({ ...settings, mcpServers }, null, 2));
  const gateway = await (options.replicas === "2" ? startReplicas : startGateway)(manifold, config, place);
  const result = await runSuite(`http://127.0.0.1:${gateway.port}/mcp`, revision, place);
  await gateway.stop();
  await upstream?.stop();
  return { result, log: join(place, "runs.log") };
}

async function startGateway(manifold, config, place) {
  const port = await freePort();
  const args = ["http", "--config", config, "--port", String(port)];
  return { port, ...(await start(manifold, args, { log: join(place, "gateway.log"), port })) };
}

async function startServer(place, era) {
  const port = await freePort();
  const args = ["--http", `127.0.0.1:${port}`, "--era", era, "--log", join(place, "runs.log")];
  const started = await start(server, args, { log: join(place, "server.log"), port });
  return { url: `http://127.0.0.1:${port}/mcp`, ...started };
}

function folder(revision, name) {
  const replicas = options.replicas === "2" ? "-replicas" : "";
  const place = join(output, `${revision}-${options.era}-${name}${replicas}`);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  return place;
}
