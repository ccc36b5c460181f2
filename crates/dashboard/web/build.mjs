// Builds ../dist from the sources here: one bundle, one style sheet, one page, and a gzip copy of each. The same sources
// give the same bytes, so `./check` builds anew and compares.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = new URL(".", import.meta.url);
const dist = process.argv[2] ? new URL(`file://${process.argv[2].replace(/\/?$/, "/")}`) : new URL("../dist/", here);

const { outputFiles } = await build({
  absWorkingDir: fileURLToPath(here),
  entryPoints: { app: "src/main.tsx" },
  outdir: fileURLToPath(dist),
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  write: false,
});

const files = Object.fromEntries(outputFiles.map((file) => [file.path.replace(/.*\//, ""), Buffer.from(file.contents)]));
const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);
let page = await readFile(new URL("index.html", here), "utf8");
for (const name of ["app.js", "app.css"]) page = page.replace(`${name}?v=HASH`, `${name}?v=${hashOf(files[name])}`);
files["index.html"] = Buffer.from(page);

await mkdir(dist, { recursive: true });
for (const [name, bytes] of Object.entries(files)) {
  // Node writes no time into the head; byte 9, the system, is set so that it does not depend on the machine either.
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255;
  await writeFile(new URL(name, dist), bytes);
  await writeFile(new URL(`${name}.gz`, dist), packed);
  console.log(`${name.padEnd(12)}${String(bytes.length).padStart(8)}${String(packed.length).padStart(8)} gz`);
}
