// D4: the forms of tools of real servers. What a form sends validates, what is not set is absent, and form and JSON are one.

import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { shapeOf, type Field, type Shape } from "../src/form/model.ts";
import { beginning, flawsOf, fresh, shown } from "../src/form/values.ts";
import { memberOf, parse, rawOf, remove, set, type Node, type Path } from "../src/json/text.ts";
import { dice, fill, fillFields } from "./fill.ts";

declare const SCHEMAS: string;

const corpus = readdirSync(SCHEMAS).filter((name) => name.endsWith(".json")).sort().map((name) => JSON.parse(readFileSync(join(SCHEMAS, name), "utf8")) as { server: string; tool: string; inputSchema: Record<string, unknown> });

function validator(schema: Record<string, unknown>) {
  const options = { strict: false, allErrors: true };
  // A list of kinds under `items` is the older draft's, whatever else is said.
  const isOld = String(schema.$schema ?? "").includes("draft-07") || JSON.stringify(schema).includes('"items":[');
  const ajv = isOld ? new Ajv(options) : new Ajv2020(options);
  (formats as unknown as (ajv: unknown) => void)(ajv);
  return ajv.compile(schema);
}

function fieldsOf(shape: Shape): Field[] {
  assert.equal(shape.kind.is, "object");
  return shape.kind.is === "object" ? shape.kind.fields() : [];
}

test("the corpus has fifty schemas and every kind of field", () => {
  assert.ok(corpus.length >= 50, `${corpus.length}`);
  const kinds = new Set<string>();
  const walk = (shape: Shape): void => {
    kinds.add(shape.kind.is);
    if (shape.isNullable) kinds.add("nullable");
    if (shape.kind.is === "object") shape.kind.fields().forEach((one) => walk(one.shape));
    if (shape.kind.is === "array") walk(shape.kind.item());
    if (shape.kind.is === "map") walk(shape.kind.value());
    if (shape.kind.is === "branches") shape.kind.branches.forEach((one) => walk(one.shape()));
  };
  corpus.forEach((one) => walk(shapeOf(one.inputSchema)));
  assert.deepEqual([...kinds].sort(), ["array", "boolean", "branches", "choice", "constant", "map", "nullable", "number", "object", "raw", "text"]);
});

for (const { server, tool, inputSchema } of corpus) {
  test(`${server}: ${tool}`, () => {
    const shape = shapeOf(inputSchema);
    const fields = fieldsOf(shape);
    const validate = validator(inputSchema);
    assert.deepEqual(fields.map((one) => one.name), Object.keys((inputSchema.properties as object | undefined) ?? {}));
    const begun = beginning(shape);
    const required = new Set(fields.filter((one) => one.isRequired).map((one) => one.name));
    for (const name of Object.keys(JSON.parse(begun) as object)) assert.ok(required.has(name), `${name} is sent and nobody set it`);

    for (let seed = 0; seed < 24; seed++) {
      const random = dice(seed * 7919 + tool.length);
      const set = new Set<string>();
      const sets = () => (seed === 0 ? false : seed === 1 ? true : random() < 0.4);
      let text = begun;
      for (const field of fields) {
        if (!field.isRequired && !sets()) continue;
        set.add(field.name);
        text = fill(field.shape, text, [field.name], { sets, random }, field.isRequired);
      }
      const value = JSON.parse(text) as Record<string, unknown>;
      assert.ok(validate(value), `${JSON.stringify(validate.errors?.slice(0, 3))}\n${text}`);
      assert.deepEqual(Object.keys(value).sort(), [...set].sort(), "absent stays absent");
      bothWays(shape, text);
    }
  });

  test(`${server}: ${tool}, set and taken back`, () => {
    const shape = shapeOf(inputSchema);
    const random = dice(5);
    const text = fillFields(fieldsOf(shape), beginning(shape), [], { sets: () => random() < 0.5, random });
    for (const field of fieldsOf(shape)) {
      if (memberOf(parse(text).root, field.name)) continue;
      const ticked = set(text, [field.name], fresh(field.shape));
      assert.notEqual(ticked, text);
      assert.equal(remove(ticked, [field.name]), text);
    }
  });
}

/** Asserts that the form shows every value of the text, and that what it shows, written back, changes no byte. */
function bothWays(shape: Shape, text: string): void {
  const { root } = parse(text);
  assert.ok(root);
  const walk = (one: Shape, node: Node, path: Path): void => {
    const view = shown(one, root, text, path);
    assert.notEqual(view.is, "absent");
    assert.notEqual(view.is, "strange", `${path.join(".")} of ${text}`);
    const raw = view.is === "null" ? "null" : view.is === "value" ? view.raw : "";
    assert.equal(set(text, path, raw), text);
    if (view.is === "value" && node.kind === "string") assert.equal(view.text, JSON.parse(rawOf(text, node)));
    if (one.kind.is === "object") for (const field of one.kind.fields()) {
      const there = memberOf(node, field.name)?.value;
      if (there) walk(field.shape, there, [...path, field.name]);
    }
    if (one.kind.is === "array" && node.kind === "array") node.items.forEach((item, at) => one.kind.is === "array" && walk(one.kind.item(), item, [...path, at]));
  };
  walk(shape, root, []);
}

test("a property that must not be there has no field", () => {
  const shape = shapeOf({ type: "object", properties: { a: { type: "string" }, never: false, any: true } });
  assert.deepEqual(fieldsOf(shape).map((field) => field.name), ["a", "any"]);
});

test("what a tool answers is held against its output schema", () => {
  const schema = { type: "object", required: ["a", "list"], properties: { a: { type: "integer" }, b: { type: ["string", "null"] }, list: { type: "array", items: { type: "object", required: ["x"], properties: { x: { type: "boolean" } } } } } };
  const check = (value: unknown) => {
    const text = JSON.stringify(value);
    const { root } = parse(text);
    assert.ok(root);
    return flawsOf(shapeOf(schema), root, text);
  };
  assert.deepEqual(check({ a: 1, b: null, list: [{ x: true }], more: 1 }), []);
  assert.deepEqual(check({ a: 1.5, list: [{ x: true }, {}] }), ["$.list[1].x is missing", "$.a is number"]);
  assert.deepEqual(check({ b: 7, list: {} }), ["$.a is missing", "$.b is number", "$.list is object"]);
  assert.deepEqual(check("no"), ["$ is string"]);
});
