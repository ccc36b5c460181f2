// What is committed in dist: how much it is, that its copies are its own, and that the sources give these very bytes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

const web = fileURLToPath(new URL("../../crates/dashboard/web/", import.meta.url));
const dist = fileURLToPath(new URL("../../crates/dashboard/dist/", import.meta.url));
const FILES = ["app.css", "app.js", "index.html"];
const read = (name) => readFileSync(join(dist, name));

describe("dist", () => {
  test("script and style sheet are at most 60 KB when compressed, and the style sheet 10", () => {
    const [css, js] = ["app.css.gz", "app.js.gz"].map((name) => read(name).length);
    assert.ok(css <= 10_000, `app.css.gz has ${css} bytes`);
    assert.ok(css + js <= 60_000, `app.css.gz and app.js.gz have ${css + js} bytes`);
  });

  test("copies are of what they stand beside, and the page asks for these very files", () => {
    for (const name of FILES) assert.ok(gunzipSync(read(`${name}.gz`)).equals(read(name)), name);
    const page = read("index.html").toString();
    for (const name of ["app.css", "app.js"]) {
      const hash = createHash("sha256").update(read(name)).digest("hex").slice(0, 16);
      assert.ok(page.includes(`"${name}?v=${hash}"`), name);
    }
  });

  test("nothing is inline, and nothing makes markup of text", () => {
    const page = read("index.html").toString();
    assert.ok(!/<style|style=|<script[^>]*>[^<]|\son\w+=/.test(page));
    assert.match(page, /<noscript>.*manifold status/);
    for (const file of readdirSync(join(web, "src"), { recursive: true })) {
      if (/\.tsx?$/.test(file)) assert.ok(!/innerHTML|outerHTML|insertAdjacentHTML|\beval\(/i.test(readFileSync(join(web, "src", file), "utf8")), file);
    }
  });

  const isInstalled = existsSync(join(web, "node_modules/esbuild"));
  test("the sources give these very bytes", { skip: !isInstalled && "run `npm ci` in crates/dashboard/web" }, (t) => {
    const place = mkdtempSync(join(tmpdir(), "manifold-dist-"));
    t.after(() => rmSync(place, { recursive: true }));
    execFileSync(process.execPath, [join(web, "build.mjs"), place]);
    for (const name of FILES.flatMap((one) => [one, `${one}.gz`])) assert.ok(readFileSync(join(place, name)).equals(read(name)), name);
  });
});
