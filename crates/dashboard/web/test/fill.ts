// Fills in a form as a user would: by what the model offers, one field after the other, never by writing the whole.

import type { Field, Shape } from "../src/form/model.ts";
import { fresh, typed } from "../src/form/values.ts";
import { find, parse, set, type Path } from "../src/json/text.ts";

/** Numbers that are the same in every run. */
export function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export interface Wish {
  /** Says whether an optional field is set. */
  sets: () => boolean;
  random: () => number;
}

const MATCHING: Record<string, string> = {
  date: "2026-11-18",
  "date-time": "2026-11-18T07:30:00Z",
  time: "07:30:00Z",
  uri: "https://example.org/a?b=c",
  url: "https://example.org/",
  email: "somebody@example.org",
  uuid: "3f0f1e0a-8f2f-4d7e-9a7e-2f4f6a1f0c11",
  ipv4: "127.0.0.1",
  hostname: "example.org",
};
const WORDS = ["a", "Grüße, \"Welt\"", "two\nlines", "back\\slash", "💡", "main", "a-b", "a/b", "0", "abc123", "ABC-12", "2026-11-18", "#a1b2c3", "a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4", "-x", "1h", "24h", "user:me", "a1B2c3D4e5"];

function textFor(schema: Record<string, unknown>, random: () => number): string {
  const format = MATCHING[String(schema.format)];
  if (format) return format;
  const pattern = typeof schema.pattern === "string" ? new RegExp(schema.pattern, "u") : null;
  const [least, most] = [Number(schema.minLength) || 0, Number(schema.maxLength) || Infinity];
  const good = WORDS.map((word) => word.padEnd(least, "x")).filter((word) => (!pattern || pattern.test(word)) && word.length <= most);
  const word = good[Math.floor(random() * good.length)];
  if (word === undefined) throw new Error(`no word for ${JSON.stringify(schema)}`);
  return word;
}

function numberFor(schema: Record<string, unknown>, isInteger: boolean): string {
  const least = Number(schema.minimum ?? (schema.exclusiveMinimum === undefined ? -3 : Number(schema.exclusiveMinimum) + 1));
  const most = Number(schema.maximum ?? (schema.exclusiveMaximum === undefined ? Infinity : Number(schema.exclusiveMaximum) - 1));
  const value = Math.min(most, Math.max(least, 7));
  // Spelled as few would, so that a spelling that is lost is noticed.
  return isInteger || value + 0.5 > most ? String(value) : `${value}.50`;
}

/** Returns the text once the value at `path` is filled in. It is there, or its parent is. */
export function fill(shape: Shape, text: string, path: Path, wish: Wish, isRequired = true): string {
  const { kind, schema } = shape;
  if (shape.isNullable && wish.random() < 0.25) return set(text, path, "null");
  switch (kind.is) {
    case "text":
      return typed(text, path, textFor(schema, wish.random), isRequired);
    case "number":
      return set(text, path, numberFor(schema, kind.isInteger));
    case "boolean":
      return set(text, path, wish.random() < 0.5 ? "true" : "false");
    case "choice":
      return set(text, path, kind.options[Math.floor(wish.random() * kind.options.length)]?.raw ?? "null");
    case "constant":
      return set(text, path, kind.raw);
    case "array": {
      let next = find(parse(text).root, path) ? text : set(text, path, "[]");
      const count = Math.max(kind.minItems, Math.min(Number(schema.maxItems ?? 2), 2));
      for (let at = 0; at < count; at++) {
        if (!find(parse(next).root, [...path, at])) next = set(next, [...path, at], fresh(kind.item()));
        next = fill(kind.item(), next, [...path, at], wish);
      }
      return next;
    }
    case "map": {
      let next = find(parse(text).root, path) ? text : set(text, path, "{}");
      for (const name of ["one", "a \"quoted\" name"]) {
        next = set(next, [...path, name], fresh(kind.value()));
        next = fill(kind.value(), next, [...path, name], wish);
      }
      return next;
    }
    case "object": {
      const next = find(parse(text).root, path) ? text : set(text, path, fresh(shape));
      return fillFields(kind.fields(), next, path, wish);
    }
    case "branches": {
      const branch = kind.branches[Math.floor(wish.random() * kind.branches.length)]?.shape();
      if (!branch) return text;
      return fill(branch, set(text, path, fresh(branch)), path, wish, isRequired);
    }
    case "raw":
      return set(text, path, kind.why.includes("object") || schema.type === "object" ? '{"any": [1.0, "x"]}' : schema.type === "array" ? "[]" : '"anything"');
  }
}

export function fillFields(fields: Field[], text: string, path: Path, wish: Wish): string {
  let next = text;
  for (const field of fields) {
    if (field.isRequired || wish.sets()) next = fill(field.shape, next, [...path, field.name], wish, field.isRequired);
  }
  return next;
}
