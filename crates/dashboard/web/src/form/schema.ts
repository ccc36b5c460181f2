// What a schema says by way of others: references within it, several at once, one of several. Nothing is ever fetched.

export type Schema = Record<string, unknown>;

/** A schema may refer to one that refers back. */
const MAX_REFERENCES = 16;

/** Follows a reference within the schema; `null` where it leads out of it, or nowhere. */
export function resolved(schema: Schema, root: Schema): Schema | null {
  let one = schema;
  for (let step = 0; step < MAX_REFERENCES; step++) {
    if (typeof one.$ref !== "string") return one.$dynamicRef === undefined ? one : null;
    const target = at(root, one.$ref);
    if (!target) return null;
    // What stands beside a reference is said of this place.
    const { $ref: _, ...beside } = one;
    one = { ...target, ...beside };
  }
  return null;
}

function at(root: Schema, reference: string): Schema | null {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return null;
  let one: unknown = root;
  for (const step of reference.slice(2).split("/")) {
    let name = step;
    try {
      name = decodeURIComponent(step);
    } catch {
      // A stray `%` is meant as it stands.
    }
    name = name.replaceAll("~1", "/").replaceAll("~0", "~");
    one = typeof one === "object" && one !== null && Object.hasOwn(one, name) ? (one as Schema)[name] : undefined;
  }
  return typeof one === "object" && one !== null && !Array.isArray(one) ? (one as Schema) : null;
}

const SAID_OF_THE_PLACE = ["title", "description", "default", "examples", "deprecated", "$comment", "$schema", "$id", "$defs", "definitions", "discriminator"];
const OF_OBJECTS = new Set(["type", "properties", "required", "additionalProperties", "unevaluatedProperties", ...SAID_OF_THE_PLACE]);

/** Returns one schema that says what all of these say together; `null` where that takes more than putting members side by side. */
export function merged(schema: Schema, parts: unknown[], root: Schema): Schema | null {
  const { allOf: _, ...base } = schema;
  const all: Schema[] = [];
  for (const part of parts) {
    const one = typeof part === "object" && part !== null ? resolved(part as Schema, root) : null;
    if (!one) return null;
    const flat = Array.isArray(one.allOf) ? merged(one, one.allOf, root) : one;
    if (!flat) return null;
    all.push(flat);
  }
  const says = Object.keys(base).some((key) => !SAID_OF_THE_PLACE.includes(key));
  if (all.length === 1 && !says) return { ...all[0], ...base };
  return [base, ...all].reduce<Schema | null>((whole, one) => whole && beside(whole, one), {});
}

function beside(one: Schema, other: Schema): Schema | null {
  if (![...Object.keys(one), ...Object.keys(other)].every((key) => OF_OBJECTS.has(key))) return null;
  const [mine, theirs] = [(one.properties ?? {}) as Schema, (other.properties ?? {}) as Schema];
  if (Object.keys(theirs).some((name) => Object.hasOwn(mine, name) && JSON.stringify(mine[name]) !== JSON.stringify(theirs[name]))) return null;
  const types = [one.type, other.type].filter((type) => type !== undefined);
  if (types.length === 2 && types[0] !== types[1]) return null;
  const required = [...new Set([...list(one.required), ...list(other.required)])];
  const whole: Schema = { ...other, ...one, properties: { ...mine, ...theirs }, required };
  const type = types[0] ?? "object";
  return { ...whole, type };
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export interface Branches {
  isNullable: boolean;
  /** Those that are not null, references followed, with what stands beside the choice put into each. */
  rest: Schema[];
}

/** Returns the branches of a choice or of a list of types; `undefined` where there is none. */
export function branchesOf(schema: Schema, root: Schema): Branches | "unclear" | undefined {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== "null");
    const rest = types.map((type) => ({ ...schema, type, title: undefined, default: undefined }));
    return { isNullable: types.length < schema.type.length, rest };
  }
  const given = Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : undefined;
  if (!given) return undefined;
  if (schema.anyOf && schema.oneOf) return "unclear";
  const { anyOf: _, oneOf: __, ...base } = schema;
  const says = Object.keys(base).filter((key) => !SAID_OF_THE_PLACE.includes(key));
  const branches: Branches = { isNullable: false, rest: [] };
  for (const part of given) {
    const one = typeof part === "object" && part !== null ? resolved(part as Schema, root) : null;
    if (!one) return "unclear";
    if (one.type === "null") {
      branches.isNullable = true;
      continue;
    }
    const isOneType = says.length === 1 && says[0] === "type" && (one.type === undefined || one.type === base.type);
    const whole = says.length === 0 ? one : isOneType ? { type: base.type, ...one } : beside({ ...base }, one);
    if (!whole) return "unclear";
    branches.rest.push(whole);
  }
  return branches;
}
