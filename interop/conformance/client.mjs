// The client scenarios of the conformance suite: the suite is the server, the gateway is its client.

import { mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { table, total } from "./compare.mjs";
import { binary, clientScenarios, runClientScenario } from "./processes.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

const help = `usage: interop/conformance/client [OPTIONS] [SCENARIO...]

Runs every client scenario that a revision requires, or that the suite reports without scoring it, but for extensions
that the gateway does not have. Fails if a check fails, or warns where it is about signing in (auth/*), and where all
are run also if one of the 14 or 25 of signing in that a revision requires is not there. A SCENARIO that ends in / stands
for all whose names begin so.

  --requirements REVISION  2025-11-25 or 2026-07-28; may be repeated (both)
  --caller ERA             what the program in front of the gateway speaks: same, legacy or modern (same)
  --jobs N                 how many scenarios at once (3)
  -o, --output DIR         where results and logs go (target/conformance)

MANIFOLD_BIN names the binary, else target/release/manifold.`;

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    requirements: { type: "string", multiple: true, default: ["2025-11-25", "2026-07-28"] },
    caller: { type: "string", default: "same" },
    jobs: { type: "string", default: "3" },
    output: { type: "string", short: "o", default: join(root, "target/conformance") },
    help: { type: "boolean", short: "h", default: false },
  },
});

if (options.help) {
  console.log(help);
  process.exit(0);
}

// Later, if at all: tokens that are bound to a key, and logins that another identity provider vouches for.
const left = ["auth/enterprise-managed-authorization", "auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer"];

// What both revisions ask of signing in, and what the later one adds: where the suite does not offer one of these, nothing
// has shown that it holds.
const both = [
  "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd", "scope-from-www-authenticate",
  "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up", "scope-retry-limit",
  "token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none", "pre-registration",
];
const later = [
  "resource-mismatch", "offline-access-scope", "offline-access-not-supported", "authorization-server-migration",
  "iss-supported", "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected",
  "iss-normalized", "metadata-issuer-mismatch",
];
const required = { "2025-11-25": both, "2026-07-28": [...both, ...later] };

const manifold = binary("MANIFOLD_BIN", "target/release/manifold");
const driver = join(root, "interop/conformance/driver.mjs");
let passed = 0;
let failed = 0;
let warned = 0;
let missing = 0;
for (const revision of options.requirements) {
  const result = await run(revision);
  const sum = total(result);
  passed += sum.passed;
  failed += sum.failed;
  console.log(`\n=== ${revision}, the gateway as a client, its caller: ${options.caller}\n`);
  console.log(table(result, null, "checks"));
  const has = (name) => result.some(({ scenario, checks }) => scenario === `auth/${name}` && checks?.length > 0);
  const lacking = wanted.length === 0 ? (required[revision] ?? []).filter((name) => !has(name)) : [];
  if (lacking.length > 0) console.log(`\nnot run though required: ${lacking.join(", ")}`);
  missing += lacking.length;
  report("failed", result, (_, status) => status === "FAILURE");
  warned += report("warned", result, (scenario, status) => status === "WARNING" && scenario.startsWith("auth/"));
}
console.log(`\n${passed} passed, ${failed} failed, ${warned} warned, ${missing} missing`);
process.exitCode = failed + warned + missing === 0 && passed > 0 ? 0 : 1;

async function run(revision) {
  const place = join(resolve(options.output), `${revision}-client-${options.caller}`);
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  const all = (await clientScenarios(revision)).filter((name) => !left.includes(name));
  const isWanted = (name) => wanted.some((each) => (each.endsWith("/") ? name.startsWith(each) : name === each));
  const scenarios = all.filter((name) => wanted.length === 0 || isWanted(name));
  const results = new Map();
  const env = { ...process.env, MANIFOLD_BIN: manifold, MANIFOLD_CALLER: options.caller };
  const queue = [...scenarios];
  const work = async () => {
    for (let name = queue.shift(); name; name = queue.shift()) {
      results.set(name, await runClientScenario(`${process.execPath} ${driver}`, name, revision, place, env));
    }
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, work));
  return scenarios.map((scenario) => ({ scenario, checks: results.get(scenario) }));
}

/** Lists the checks that are meant, with what the suite says of them, and returns how many there are. */
function report(title, result, isMeant) {
  const meant = result.flatMap(({ scenario, checks }) =>
    checks.filter(({ status }) => isMeant(scenario, status)).map((check) => ({ scenario, ...check })),
  );
  if (meant.length > 0) console.log(`\n${title}:`);
  for (const { scenario, id, name, errorMessage, details } of meant) {
    const why = errorMessage ?? details?.message;
    const shown = why ? `: ${why.trim().split("\n").slice(-12).join("\n    ").slice(0, 1200)}` : "";
    console.log(`  ${scenario}: ${id}${name && name !== id ? ` (${name})` : ""}${shown}`);
  }
  return meant.length;
}
