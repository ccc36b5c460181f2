// Bundles the tests, which are TypeScript like what they test, and runs them: `npm test [WORD in a file's name]`.

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const word = process.argv[2] ?? "";
const entryPoints = readdirSync(here).filter((name) => name.endsWith(".test.ts") && name.includes(word)).map((name) => join(here, name));
// Beside the sources, so that packages are found.
const out = mkdtempSync(join(here, "../node_modules/.tests-"));
try {
  await build({
    entryPoints,
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { SCHEMAS: JSON.stringify(join(here, "schemas")) },
    logLevel: "warning",
  });
  const files = readdirSync(out).filter((name) => name.endsWith(".mjs")).map((name) => join(out, name));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
