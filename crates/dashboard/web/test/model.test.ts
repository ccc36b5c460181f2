// The rules for forms, one by one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf } from "../src/form/command.ts";
import { MAX_DEPTH, shapeOf, type Shape } from "../src/form/model.ts";
import { beginning, branchOf, missing, shown, typed } from "../src/form/values.ts";
import { parse } from "../src/json/text.ts";

const of = (property: unknown, more: object = {}) => {
  const shape = shapeOf({ type: "object", properties: { x: property }, ...more });
  return (shape.kind.is === "object" ? shape.kind.fields()[0]?.shape : undefined) as Shape;
};

test("a form begins with what is required and can be nothing else", () => {
  const schema = {
    type: "object",
    properties: { text: { type: "string" }, at: { type: "string", format: "date" }, n: { type: "integer" }, kind: { const: "a" }, list: { type: "array" }, sub: { type: "object", properties: { t: { type: "string" }, o: { type: "string" } }, required: ["t"] }, other: { type: "string", default: "x" } },
    required: ["text", "at", "n", "kind", "list", "sub"],
  };
  const text = beginning(shapeOf(schema));
  assert.deepEqual(JSON.parse(text), { text: "", kind: "a", list: [], sub: { t: "" } });
  assert.deepEqual(missing(shapeOf(schema), parse(text).root, text), [["at"], ["n"]]);
  assert.equal((JSON.parse(beginning(shapeOf(schema), true)) as { other: string }).other, "x");
});

test("an optional text that is emptied is absent, a required one is empty", () => {
  assert.equal(typed('{"a": "x"}', ["a"], "", false), "{}");
  assert.equal(typed('{"a": "x"}', ["a"], "", true), '{"a": ""}');
});

test("what may be null is its kind, and null", () => {
  for (const property of [{ anyOf: [{ type: "integer" }, { type: "null" }] }, { type: ["integer", "null"] }, { oneOf: [{ type: "null" }, { type: "integer" }], default: null }]) {
    const shape = of(property);
    assert.deepEqual([shape.kind.is, shape.isNullable, shape.takes], ["number", true, "integer or null"]);
  }
  const nullable = of({ enum: ["a", null] });
  assert.deepEqual([nullable.isNullable, nullable.kind], [true, { is: "choice", options: [{ raw: '"a"', label: "a" }] }]);
});

test("references lead within the schema, and nowhere else", () => {
  const $defs = { One: { type: "string", description: "said there" }, Round: { $ref: "#/$defs/Round" } };
  assert.equal(of({ $ref: "#/$defs/One" }, { $defs }).kind.is, "text");
  assert.equal(of({ $ref: "#/$defs/One", description: "said here" }, { $defs }).about, "said here");
  for (const $ref of ["#/$defs/Round", "#/$defs/None", "https://example.org/s.json", "other.json#/x", "#/__proto__"]) assert.equal(of({ $ref }, { $defs }).kind.is, "raw", $ref);
});

test("a schema that holds itself ends at the depth of forms", () => {
  const schema = { type: "object", properties: { child: { $ref: "#" } } };
  let shape = shapeOf(schema);
  let depth = 0;
  for (; shape.kind.is === "object"; depth++) shape = shape.kind.fields()[0]?.shape as Shape;
  assert.deepEqual([depth, shape.kind.is], [MAX_DEPTH, "raw"]);
  const branchy = of({ $ref: "#/$defs/V" }, { $defs: { V: { anyOf: [{ $ref: "#/$defs/V" }, { type: "string" }] } } });
  assert.equal(branchy.kind.is === "branches" && branchy.kind.branches[0]?.shape().kind.is, "raw");
});

test("branches are told apart by their marks", () => {
  const shape = of({ oneOf: [{ type: "object", properties: { op: { const: "add" }, value: { type: "number" } }, required: ["op", "value"] }, { type: "object", properties: { op: { const: "drop" } }, required: ["op"] }, { type: "string" }] });
  assert.ok(shape.kind.is === "branches");
  assert.deepEqual(shape.kind.branches.map((one) => one.label), ["op: add", "op: drop", "string"]);
  for (const [text, at] of [['{"op": "add", "value": 1}', 0], ['{"op": "drop"}', 1], ['"x"', 2], ['{"op": "add"}', 0]] as const) {
    assert.equal(branchOf(shape.kind, parse(text).root!, text), at, text);
  }
});

test("several at once are put side by side where that is all it takes", () => {
  const both = of({ allOf: [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: { type: "integer" } } }] });
  assert.deepEqual(both.kind.is === "object" && both.kind.fields().map((one) => [one.name, one.isRequired]), [["a", true], ["b", false]]);
  assert.equal(of({ allOf: [{ type: "string" }, { minLength: 3 }] }).kind.is, "raw");
  assert.equal(of({ allOf: [{ type: "string", description: "only one" }] }).kind.is, "text");
});

test("maps, constants with titles, and what nobody knows", () => {
  const map = of({ type: "object", additionalProperties: { type: "integer" } });
  assert.equal(map.kind.is === "map" && map.kind.value().kind.is, "number");
  assert.deepEqual(of({ oneOf: [{ const: 1, title: "one" }, { const: 2 }] }).kind, { is: "choice", options: [{ raw: "1", label: "one" }, { raw: "2", label: "2" }] });
  for (const property of [{}, true, { type: "object" }, { type: "strange" }, { not: {} }, { type: "array", prefixItems: [{}] }]) assert.equal(of(property).kind.is, "raw", JSON.stringify(property));
});

test("a value of another kind is shown as it is", () => {
  const shape = of({ type: "integer" });
  for (const [text, is] of [['{"x": 1}', "value"], ['{"x": "1"}', "strange"], ['{"x": 1.5}', "strange"], ["{}", "absent"], ['{"x": null}', "strange"]] as const) {
    assert.equal(shown(shape, parse(text).root, text, ["x"]).is, is, text);
  }
});

test("a call as a line for a shell", () => {
  const shape = shapeOf({ type: "object", properties: { text: { type: "string" }, n: { type: "integer" }, "a.b": { type: "string" } } });
  const line = (text: string) => commandOf("demo__x", shape, text);
  assert.equal(line('{"text": "plain", "n": 1.0}'), "manifold call demo__x text=plain n:=1.0");
  assert.equal(line('{"text": "it\'s two words"}'), "manifold call demo__x 'text=it'\\''s two words'");
  assert.equal(line('{"text": "@file", "a.b": "="}'), "manifold call demo__x 'text:=\"@file\"' 'a\\.b=='");
  assert.equal(line('{"free": {"k": [1, 2]}}'), "manifold call demo__x 'free:={\"k\":[1,2]}'");
  assert.equal(line('{"": 1}'), "manifold call demo__x --args '{\"\":1}'");
  assert.equal(commandOf("t", shape, "{}", "my ns"), "manifold call --namespace 'my ns' t");
});
