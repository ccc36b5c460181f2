// Text that would turn the page around.

import assert from "node:assert/strict";
import { test } from "node:test";
import { h } from "preact";
import { keepTextPlain, plain } from "../src/ui/plain.ts";

test("characters that turn text around are written out, and no others", () => {
  assert.equal(plain("a\u202etxt.exe"), "a\\u202etxt.exe");
  for (const turning of "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") assert.equal(plain(turning).length, 6);
  for (const text of ["שלום", "مرحبا", "👩‍👩‍👧", "line\nline\ttab", ""]) assert.equal(plain(text), text);
});

test("all that is drawn is plain, and what is typed is left alone", () => {
  keepTextPlain();
  const drawn = h("p", { title: "\u202ea" }, "x\u202ey", ["z\u2066"], 7, null);
  assert.deepEqual(drawn.props, { title: "\\u202ea", children: ["x\\u202ey", ["z\\u2066"], 7, null] });
  const typed = h("textarea", { value: "\u202e" });
  assert.equal((typed.props as { value: string }).value, "\u202e");
});
