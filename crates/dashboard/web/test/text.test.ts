// JSON as text: one place is changed, every other byte stays.

import assert from "node:assert/strict";
import { test } from "node:test";
import { compact, find, parse, pretty, rawOf, remove, set } from "../src/json/text.ts";

test("a value is replaced and nothing else", () => {
  const text = '{ "a" : 1.50e+0,\n\t"b":[1,  2],"c" : "\\u00e9"}';
  assert.equal(set(text, ["b", 1], "1e3"), '{ "a" : 1.50e+0,\n\t"b":[1,  1e3],"c" : "\\u00e9"}');
  assert.equal(set(text, ["c"], '"x"'), '{ "a" : 1.50e+0,\n\t"b":[1,  2],"c" : "x"}');
});

test("numbers keep all their digits", () => {
  const text = '{"n": 12345678901234567890.10}';
  assert.equal(set(text, ["m"], "0.1"), '{"n": 12345678901234567890.10, "m": 0.1}');
});

test("a new member is laid out as those before it", () => {
  assert.equal(set("{}", ["a"], "1"), '{\n  "a": 1\n}');
  assert.equal(set('{\n  "a": 1\n}', ["b"], "2"), '{\n  "a": 1,\n  "b": 2\n}');
  assert.equal(set('{"a":1}', ["b"], "2"), '{"a":1,"b":2}');
  assert.equal(set('{"a": 1}', ["b"], "2"), '{"a": 1, "b": 2}');
  assert.equal(set("[1, 2]", [2], "3"), "[1, 2, 3]");
});

test("what is set and removed leaves the text as it was", () => {
  for (const text of ["{}", '{"a":1}', '{"a": 1, "b": [2]}', '{\n  "a": 1,\n  "b": {}\n}', '{\n\t"x": "y"\n}']) {
    assert.equal(remove(set(text, ["new"], '{"deep": true}'), ["new"]), text);
  }
});

test("the first, a middle and the last member are removed with one comma each", () => {
  const text = '{"a": 1, "b": 2, "c": 3}';
  assert.equal(remove(text, ["a"]), '{"b": 2, "c": 3}');
  assert.equal(remove(text, ["b"]), '{"a": 1, "c": 3}');
  assert.equal(remove(text, ["c"]), '{"a": 1, "b": 2}');
  assert.equal(remove("[1, 2, 3]", [1]), "[1, 3]");
  assert.equal(remove('{"a": 1}', ["a"]), "{}");
});

test("of a name that stands twice the last counts, and none is left behind", () => {
  const text = '{"a": 1, "a": 2}';
  const { root } = parse(text);
  assert.equal(rawOf(text, find(root, ["a"])!), "2");
  assert.equal(set(text, ["a"], "3"), '{"a": 1, "a": 3}');
  assert.equal(remove(text, ["a"]), "{}");
});

test("names that objects have by themselves are names like others", () => {
  const text = set("{}", ["__proto__"], '"x"');
  assert.equal(text, '{\n  "__proto__": "x"\n}');
  assert.equal(find(parse(text).root, ["constructor"]), undefined);
});

test("a text that is no JSON says where, and is left alone", () => {
  const wrong: [string, number, number][] = [["", 1, 1], ['{"a": }', 1, 7], ['{\n  "a": 1,\n}', 3, 1], ["[1 2]", 1, 4], ['{"a": 01}', 1, 8], ['"open', 1, 1], ["{} x", 1, 4], ['{"a": "\n"}', 1, 8], ["'x'", 1, 1], ["nul", 1, 1]];
  for (const [text, line, column] of wrong) {
    const { flaw } = parse(text);
    assert.deepEqual(flaw && [flaw.line, flaw.column], [line, column], text);
    assert.equal(set(text, ["a"], "1"), text);
    assert.equal(remove(text, ["a"]), text);
  }
});

test("it takes what JSON.parse takes", () => {
  for (const text of ['[1,-0,0.5,1e9,1E-2,true,false,null,"",{},[]]', ' \t\r\n{"\\u0041\\n":"\\ud83d\\udca1"} ', '"\\/\\b"']) {
    const { root } = parse(text);
    assert.ok(root);
    assert.deepEqual(JSON.parse(compact(text, root)), JSON.parse(text));
    assert.deepEqual(JSON.parse(pretty(text, root)), JSON.parse(text));
  }
});

test("nesting without end is refused, not followed", () => {
  assert.match(parse("[".repeat(100_000)).flaw?.what ?? "", /deep/);
});

test("a megabyte is read in one go", () => {
  const text = JSON.stringify(Array.from({ length: 12_000 }, (_, at) => ({ id: at, name: `name ${at}`, tags: ["a", "b"], text: "x".repeat(40) })));
  assert.ok(text.length > 1_000_000);
  const { root } = parse(text);
  assert.equal(root?.kind === "array" && root.items.length, 12_000);
});
