// Text that would turn the page around, or hide some of itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { h } from "preact";
import { keepTextPlain, plain } from "../src/ui/plain.ts";

test("characters that turn text around are written out, and no others", () => {
  assert.equal(plain("a\u202etxt.exe"), "a\\u202etxt.exe");
  for (const turning of "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") assert.equal(plain(turning).length, 6);
  for (const text of ["שלום", "مرحبا", "👩‍👩‍👧", "line\nline\ttab", ""]) assert.equal(plain(text), text);
});

test("what nobody sees is written out as the terminal does", () => {
  for (const hidden of "\0\x1b\x7f\x9b\u00ad\u180e\u200b\u2028\u2029\u2060\u2064\u206a\u206f\ufeff\ufff9\ufffb") assert.equal(plain(hidden).length, 6, plain(hidden));
  assert.equal(plain("a\u{e0041}b\u{e007f}"), "a\\u{e0041}b\\u{e007f}");
  for (const shown of ["a\u00a0b", "\u200d", "\ufe0f", "\u{1f468}\u200d\u{1f469}", "\ufffc"]) assert.equal(plain(shown), shown);
});

test("all that is drawn is plain, and what is typed is left alone", () => {
  keepTextPlain();
  const named = h("button", { "aria-label": "a\u200bb", alt: "\u2060" });
  assert.deepEqual({ ...named.props, children: undefined }, { children: undefined, "aria-label": "a\\u200bb", alt: "\\u2060" });
  const drawn = h("p", { title: "\u202ea" }, "x\u202ey", ["z\u2066"], 7, null);
  assert.deepEqual(drawn.props, { title: "\\u202ea", children: ["x\\u202ey", ["z\\u2066"], 7, null] });
  const typed = h("textarea", { value: "\u202e" });
  assert.equal((typed.props as { value: string }).value, "\u202e");
});
