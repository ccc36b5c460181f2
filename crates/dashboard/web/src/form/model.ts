// From a JSON schema to the shape of a form. What is filled in lives in the text (json/text.ts), and a shape says how a value
// there may be shown and changed (values.ts). What is not understood is a box for JSON, for that value alone.

import { branchesOf, merged, resolved, type Schema } from "./schema.ts";

/** How deep forms are nested; what is deeper is typed as JSON. */
export const MAX_DEPTH = 6;

export interface Option {
  raw: string;
  label: string;
}

export type Kind =
  | { is: "text"; format: string; isArea: boolean; isSecret: boolean; mayBeEmpty: boolean }
  | { is: "number"; isInteger: boolean }
  | { is: "boolean" }
  | { is: "choice"; options: Option[] }
  | { is: "constant"; raw: string }
  | { is: "array"; item: () => Shape; minItems: number }
  | { is: "object"; fields: () => Field[] }
  | { is: "map"; value: () => Shape }
  | { is: "branches"; branches: { label: string; shape: () => Shape }[] }
  | { is: "raw"; why: string };

/** What a value may be, wherever it stands. */
export interface Shape {
  kind: Kind;
  isNullable: boolean;
  about: string;
  title: string;
  /** JSON; shown where nothing is typed, and never sent for it. */
  fallback: string | undefined;
  takes: string;
  /** What it was made from, references followed. */
  schema: Schema;
}

export interface Field {
  name: string;
  isRequired: boolean;
  shape: Shape;
}

/** Returns the shape of a tool's arguments, or of what a question wants. */
export function shapeOf(schema: unknown): Shape {
  const root: Schema = isSchema(schema) ? schema : {};
  // Arguments are an object, whether the schema says so or not.
  const isOpen = root.type === undefined && root.$ref === undefined && !root.anyOf && !root.oneOf && !root.allOf;
  const shape = open(isOpen ? { ...root, type: "object" } : root, root, 0);
  return shape.kind.is === "raw" && root.type === "object" ? { ...shape, kind: { is: "object", fields: () => [] } } : shape;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function open(given: unknown, root: Schema, depth: number): Shape {
  const schema = isSchema(given) ? resolved(given, root) : null;
  if (!schema) return rawShape({}, isSchema(given) ? "it is described elsewhere" : "any value");
  const { kind, isNullable, said = schema } = kindOf(schema, root, depth);
  const fallback = schema.default === undefined ? undefined : JSON.stringify(schema.default);
  return { kind, isNullable, about: words(schema.description), title: words(schema.title), fallback, takes: takesOf(kind, isNullable), schema: said };
}

function rawShape(schema: Schema, why: string): Shape {
  return { kind: { is: "raw", why }, isNullable: false, about: words(schema.description), title: "", fallback: undefined, takes: "JSON", schema };
}

function words(value: unknown): string {
  return typeof value === "string" ? value : "";
}

interface Known {
  kind: Kind;
  isNullable: boolean;
  /** The branch that says so, where it is the only one. */
  said?: Schema;
}

function kindOf(schema: Schema, root: Schema, depth: number): Known {
  const raw = (why: string, isNullable = false): Known => ({ kind: { is: "raw", why }, isNullable });
  if (schema.const !== undefined) return { kind: { is: "constant", raw: JSON.stringify(schema.const) }, isNullable: false };
  if (Array.isArray(schema.enum)) return choice(schema.enum, schema.enumNames);
  if (Array.isArray(schema.allOf)) {
    const whole = merged(schema, schema.allOf, root);
    return whole ? kindOf(whole, root, depth) : raw("it is several things at once");
  }
  const branches = branchesOf(schema, root);
  if (branches === "unclear") return raw("its branches cannot be told apart");
  if (branches) {
    const { isNullable, rest } = branches;
    const constants = rest.map((one) => one.const);
    if (rest.length > 0 && constants.every((one) => one !== undefined)) {
      const options = rest.map((one, at) => ({ raw: JSON.stringify(constants[at]), label: words(one.title) || labelOf(constants[at]) }));
      return { kind: { is: "choice", options }, isNullable };
    }
    const only = rest[0];
    if (!only) return raw("it is null, or nothing at all", isNullable);
    if (rest.length === 1) {
      const inner = kindOf(only, root, depth);
      return { kind: inner.kind, isNullable: isNullable || inner.isNullable, said: inner.said ?? only };
    }
    const several = rest.map((one, at) => ({ label: branchLabel(one, at, root), shape: once(() => branch(one, root, depth)) }));
    return { kind: { is: "branches", branches: several }, isNullable };
  }
  return plain(schema, root, depth);
}

/** Returns the shape of a branch. One that has branches itself is typed as JSON: a schema may be a branch of its own. */
function branch(schema: Schema, root: Schema, depth: number): Shape {
  const shape = open(schema, root, depth);
  return shape.kind.is === "branches" ? { ...shape, kind: { is: "raw", why: "one of several" } } : shape;
}

/** Returns the kind of a schema that says one type. */
function plain(schema: Schema, root: Schema, depth: number): Known {
  const type = typeof schema.type === "string" ? schema.type : guessed(schema);
  const known = (kind: Kind): Known => ({ kind, isNullable: false });
  switch (type) {
    case "string": {
      const format = words(schema.format);
      const isSecret = format === "password" || schema.writeOnly === true;
      const longest = typeof schema.maxLength === "number" ? schema.maxLength : undefined;
      const isArea = !format && !isSecret && (longest !== undefined ? longest > 200 : LONG.test(words(schema.description)));
      const mayBeEmpty = !(Number(schema.minLength) > 0) && !schema.pattern && !FORMATS.has(format);
      return known({ is: "text", format, isArea, isSecret, mayBeEmpty });
    }
    case "integer":
    case "number":
      return known({ is: "number", isInteger: type === "integer" });
    case "boolean":
      return known({ is: "boolean" });
    case "null":
      return known({ is: "constant", raw: "null" });
    case "array": {
      if (schema.prefixItems || Array.isArray(schema.items)) return known({ is: "raw", why: "a list with a kind for each place" });
      if (depth >= MAX_DEPTH) return known({ is: "raw", why: "it is nested deeper than forms go" });
      const minItems = Number(schema.minItems) || 0;
      return known({ is: "array", item: once(() => open(schema.items ?? true, root, depth + 1)), minItems });
    }
    case "object":
      return known(objectKind(schema, root, depth));
    default:
      return known({ is: "raw", why: type ? `there is no form for \`${type}\`` : "any value" });
  }
}

function objectKind(schema: Schema, root: Schema, depth: number): Kind {
  if (depth >= MAX_DEPTH) return { is: "raw", why: "it is nested deeper than forms go" };
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
  const patterns = isSchema(schema.patternProperties) ? Object.values(schema.patternProperties) : [];
  if (properties.length > 0) {
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    // What `false` stands for must not be there.
    const allowed = properties.filter(([, one]) => one !== false);
    const fields = () => allowed.map(([name, one]) => ({ name, isRequired: required.has(name), shape: open(one, root, depth + 1) }));
    return { is: "object", fields: once(fields) };
  }
  const others = schema.additionalProperties;
  if (isSchema(others) && patterns.length === 0) return { is: "map", value: once(() => open(others, root, depth + 1)) };
  if (patterns.length === 1 && others === false) return { is: "map", value: once(() => open(patterns[0], root, depth + 1)) };
  if (others === false && patterns.length === 0) return { is: "object", fields: () => [] };
  // The outermost object has the whole text beside it, and needs no box of its own.
  return depth === 0 ? { is: "object", fields: () => [] } : { is: "raw", why: "an object of any members" };
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const LONG = /\b(multi-?line|markdown|contents?|body|source code|script|query|prompt)\b/i;
const FORMATS = new Set(["date", "date-time", "time", "uri", "url", "email", "uuid", "ipv4", "ipv6", "hostname", "duration"]);

function guessed(schema: Schema): string {
  if (schema.properties || schema.additionalProperties || schema.patternProperties) return "object";
  return schema.items ? "array" : "";
}

function choice(values: unknown[], names: unknown): Known {
  const name = (at: number) => (Array.isArray(names) ? words(names[at]) : "");
  const all = values.map((value, at) => ({ raw: JSON.stringify(value), label: name(at) || labelOf(value) }));
  return { kind: { is: "choice", options: all.filter((one) => one.raw !== "null") }, isNullable: values.includes(null) };
}

function labelOf(value: unknown): string {
  return typeof value === "string" ? value || '""' : JSON.stringify(value);
}

/** Returns what a branch is called: its title, what marks it, its members, or its type. */
function branchLabel(schema: Schema, at: number, root: Schema): string {
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
  for (const [name, one] of properties) {
    const constant = isSchema(one) ? resolved(one, root)?.const : undefined;
    if (constant !== undefined) return `${name}: ${labelOf(constant)}`;
  }
  if (typeof schema.title === "string") return schema.title;
  // Two objects are told apart by their members.
  if (properties.length > 0) return `with ${properties.map(([name]) => name).slice(0, 3).join(", ")}`;
  const type = schema.type === "array" && isSchema(schema.items) ? `list of ${words(schema.items.type) || "values"}` : words(schema.type);
  return type || `choice ${at + 1}`;
}

function takesOf(kind: Kind, isNullable: boolean): string {
  const name = {
    text: () => (kind.is === "text" && kind.format) || "text",
    number: () => (kind.is === "number" && kind.isInteger ? "integer" : "number"),
    boolean: () => "true or false",
    choice: () => "choice",
    constant: () => "constant",
    array: () => "list",
    object: () => "object",
    map: () => "map",
    branches: () => "one of several",
    raw: () => "JSON",
  }[kind.is]();
  return isNullable ? `${name} or null` : name;
}
