// What a shape makes of the text: what it begins with, what a field shows of it, and what typing into a field does to it.

import { find, isInteger, isNumber, memberOf, parse, rawOf, remove, set, textOf, type Node, type Path } from "../json/text.ts";
import type { Field, Kind, Shape } from "./model.ts";

/** Returns the least that a required value of this shape can be; nothing where only the user can say. */
export function least(shape: Shape): string | undefined {
  const { kind } = shape;
  switch (kind.is) {
    case "text":
      return kind.mayBeEmpty ? '""' : undefined;
    case "constant":
      return kind.raw;
    case "array":
      return kind.minItems > 0 ? undefined : "[]";
    case "map":
      return "{}";
    case "object":
      return leastObject(kind.fields());
    default:
      return undefined;
  }
}

function leastObject(fields: Field[]): string {
  const parts = fields.filter((one) => one.isRequired).flatMap((one) => {
    const value = least(one.shape);
    return value === undefined ? [] : [`${JSON.stringify(one.name)}: ${value}`];
  });
  return `{${parts.join(", ")}}`;
}

/** Returns what a value begins as once somebody says that it is to be there. */
export function begun(shape: Shape): string | undefined {
  const { kind } = shape;
  if (kind.is === "text") return '""';
  if (kind.is === "array") return "[]";
  if (kind.is === "choice" && kind.options.length === 1) return kind.options[0]?.raw;
  if (kind.is === "branches") return kind.branches[0] && begun(kind.branches[0].shape());
  return least(shape) ?? (shape.isNullable ? "null" : undefined);
}

/** Returns a value to begin with, where one has to be there: a new item of a list, a field that was ticked. */
export function fresh(shape: Shape): string {
  const { kind } = shape;
  if (kind.is === "number") return "0";
  if (kind.is === "boolean") return "false";
  if (kind.is === "choice") return kind.options[0]?.raw ?? "null";
  return begun(shape) ?? "null";
}

/** Returns the text that a form begins with: what is required and can only be one thing, or every default as well. */
export function beginning(shape: Shape, withDefaults = false): string {
  let text = "{}";
  const fields = shape.kind.is === "object" ? shape.kind.fields() : [];
  for (const field of fields) {
    const value = (withDefaults ? field.shape.fallback : undefined) ?? (field.isRequired ? least(field.shape) : undefined);
    if (value !== undefined) text = set(text, [field.name], value);
  }
  return text;
}

/** Says whether a value can be shown by the fields of this shape; if not, it is shown as JSON. */
export function fits(shape: Shape, node: Node, text: string): boolean {
  if (node.kind === "null" && shape.isNullable) return true;
  const { kind } = shape;
  const raw = rawOf(text, node);
  switch (kind.is) {
    case "text":
      return node.kind === "string";
    case "number":
      return kind.isInteger ? isInteger(raw) : isNumber(raw);
    case "boolean":
      return node.kind === "boolean";
    case "choice":
      return kind.options.some((one) => same(one.raw, raw));
    case "constant":
      return same(kind.raw, raw);
    case "array":
      return node.kind === "array";
    case "object":
    case "map":
      return node.kind === "object";
    case "branches":
      return kind.branches.some((one) => fits(one.shape(), node, text));
    case "raw":
      return true;
  }
}

/** How many are told. */
const FLAWS = 5;

/** Returns what is wrong with a value by its shape: what is missing, and what is of another kind, each by its path. */
export function flawsOf(shape: Shape, node: Node, text: string): string[] {
  const lacking = missing(shape, node, text).map((path) => `${pathText(path)} is missing`);
  return [...lacking, ...unfit(shape, node, text, [])].slice(0, FLAWS);
}

function unfit(shape: Shape, node: Node, text: string, path: Path): string[] {
  if (!fits(shape, node, text)) return [`${pathText(path)} is ${node.kind}`];
  const { kind } = shape;
  if (kind.is === "object" && node.kind === "object") {
    return kind.fields().flatMap((field) => {
      const there = memberOf(node, field.name)?.value;
      return there ? unfit(field.shape, there, text, [...path, field.name]) : [];
    });
  }
  if (kind.is === "array" && node.kind === "array") return node.items.flatMap((one, at) => unfit(kind.item(), one, text, [...path, at]));
  return [];
}

function pathText(path: Path): string {
  return `$${path.map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`)).join("")}`;
}

/** Says whether two pieces of JSON are one value, however they are spelled. */
export function same(one: string, other: string): boolean {
  return one === other || JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));
}

/** Returns which branch a value is of: the first whose marks it bears and whose required members it has. */
export function branchOf(kind: Extract<Kind, { is: "branches" }>, node: Node, text: string): number {
  const shapes = kind.branches.map((one) => one.shape());
  const whole = shapes.findIndex((shape) => fits(shape, node, text) && bears(shape, node, text, true));
  if (whole >= 0) return whole;
  const marked = shapes.findIndex((shape) => fits(shape, node, text) && bears(shape, node, text, false));
  return marked >= 0 ? marked : shapes.findIndex((shape) => fits(shape, node, text));
}

function bears(shape: Shape, node: Node, text: string, all: boolean): boolean {
  if (shape.kind.is !== "object") return true;
  const fields = shape.kind.fields();
  return fields.every((field) => {
    const there = memberOf(node, field.name)?.value;
    if (!there) return !field.isRequired || !(all || field.shape.kind.is === "constant");
    return field.shape.kind.is !== "constant" || fits(field.shape, there, text);
  });
}

/** Returns the names of members that the form has no field for; they stay in the text as they are. */
export function others(shape: Shape, node: Node | undefined): string[] {
  if (shape.kind.is !== "object" || node?.kind !== "object") return [];
  const known = new Set(shape.kind.fields().map((one) => one.name));
  return node.members.map((one) => one.name).filter((name) => !known.has(name));
}

/** Returns the required values that are missing, as paths. */
export function missing(shape: Shape, node: Node | undefined, text: string, path: Path = []): Path[] {
  const { kind } = shape;
  if (!node) return [path];
  if (kind.is === "object" && node.kind === "object") {
    return kind.fields().flatMap((field) => {
      const there = memberOf(node, field.name)?.value;
      return there || field.isRequired ? missing(field.shape, there, text, [...path, field.name]) : [];
    });
  }
  if (kind.is === "array" && node.kind === "array") {
    return node.items.flatMap((one, at) => missing(kind.item(), one, text, [...path, at]));
  }
  return [];
}

/** What a field shows of the text. */
export type Shown =
  | { is: "absent" }
  | { is: "null" }
  | { is: "value"; raw: string; text: string; node: Node }
  | { is: "strange"; raw: string; node: Node };

export function shown(shape: Shape, root: Node | undefined, text: string, path: Path): Shown {
  const node = find(root, path);
  if (!node) return { is: "absent" };
  const raw = rawOf(text, node);
  if (node.kind === "null" && shape.isNullable) return { is: "null" };
  if (!fits(shape, node, text)) return { is: "strange", raw, node };
  return { is: "value", raw, text: node.kind === "string" ? textOf(raw) : raw, node };
}

/** Returns the text after somebody typed into a field of text; an optional one that is emptied is absent again. */
export function typed(text: string, path: Path, value: string, isRequired: boolean): string {
  if (value === "" && !isRequired && typeof path.at(-1) === "string") return remove(text, path);
  return set(text, path, JSON.stringify(value));
}

/** Returns JSON typed into a box without the blanks around it, or what is wrong with it. */
export function readBox(value: string): { raw: string } | { flaw: string } {
  const parsed = parse(value);
  if (parsed.flaw) return { flaw: `${parsed.flaw.what} (line ${parsed.flaw.line}, column ${parsed.flaw.column})` };
  return { raw: rawOf(value, parsed.root) };
}
