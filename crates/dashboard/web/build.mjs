// Builds ../dist from the sources here: one bundle, one style sheet, one page, and a gzip copy of each. The same sources
// give the same bytes, so `./check` builds anew and compares.

import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipAsync } from "@gfx/zopfli";
import { minify } from "terser";

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
  // Shorter than what `automatic` makes of it. TypeScript itself reads tsconfig.json; this takes nothing from there.
  jsx: "transform",
  jsxFactory: "h",
  jsxFragment: "Fragment",
  inject: ["jsx.mjs"],
  tsconfigRaw: {},
  charset: "utf8",
  legalComments: "none",
  write: false,
});

const files = Object.fromEntries(outputFiles.map((file) => [file.path.replace(/.*\//, ""), Buffer.from(file.contents)]));
// A second look makes the script smaller when it is packed.
const script = await minify(files["app.js"].toString(), {
  module: true,
  ecma: 2022,
  compress: { passes: 3, ecma: 2022, pure_getters: true, unsafe_arrows: true, unsafe_methods: true, keep_fargs: false },
  format: { ecma: 2022, comments: false },
});
files["app.js"] = Buffer.from(script.code);
const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);
let page = await readFile(new URL("index.html", here), "utf8");
for (const name of ["app.js", "app.css"]) page = page.replace(`${name}?v=HASH`, `${name}?v=${hashOf(files[name])}`);
files["index.html"] = Buffer.from(page);

await mkdir(dist, { recursive: true });
for (const [name, bytes] of Object.entries(files)) {
  const packed = Buffer.from(await gzipAsync(bytes, { numiterations: 30 }));
  // No time stands in the head; byte 9, the system, is set so that it does not depend on the machine either.
  packed.fill(0, 4, 8);
  packed[9] = 255;
  await writeFile(new URL(name, dist), bytes);
  await writeFile(new URL(`${name}.gz`, dist), packed);
  console.log(`${name.padEnd(12)}${String(bytes.length).padStart(8)}${String(packed.length).padStart(8)} gz`);
}
