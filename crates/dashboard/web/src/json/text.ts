// JSON as text: where each value stands, and how one of them is changed while every other byte stays. What a user typed is
// the one source of truth; nothing here ever writes a value anew that nobody touched.

export type Path = readonly (string | number)[];

export type Node =
  | { kind: "object"; start: number; end: number; members: Member[] }
  | { kind: "array"; start: number; end: number; items: Node[] }
  | { kind: "string" | "number" | "boolean" | "null"; start: number; end: number };

export interface Member {
  name: string;
  /** Where its name begins and ends, quotes included. */
  start: number;
  nameEnd: number;
  value: Node;
}

/** Why a text is no JSON, and where. */
export interface Flaw {
  at: number;
  line: number;
  column: number;
  what: string;
}

export type Parsed = { root: Node; flaw?: undefined } | { root?: undefined; flaw: Flaw };

/** What is nested deeper is refused rather than followed until the stack ends. */
const MAX_DEPTH = 400;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

export function parse(text: string): Parsed {
  try {
    return { root: new Parser(text).whole() };
  } catch (error) {
    if (error instanceof Wrong) return { flaw: { ...place(text, error.at), at: error.at, what: error.what } };
    throw error;
  }
}

/** Returns line and column of an offset, both counted from 1. */
export function place(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  return { line, column: at - before.lastIndexOf("\n") };
}

class Wrong {
  constructor(
    readonly at: number,
    readonly what: string,
  ) {}
}

class Parser {
  private at = 0;

  constructor(private readonly text: string) {}

  whole(): Node {
    this.blank();
    const root = this.value(0);
    this.blank();
    if (this.at < this.text.length) throw new Wrong(this.at, "there is more after the value");
    return root;
  }

  private blank(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.at++;
    }
  }

  private value(depth: number): Node {
    if (depth > MAX_DEPTH) throw new Wrong(this.at, "nested too deep");
    const start = this.at;
    switch (this.text[start]) {
      case "{":
        return this.object(start, depth);
      case "[":
        return this.array(start, depth);
      case '"':
        this.string();
        return { kind: "string", start, end: this.at };
      case "t":
        return this.word("true", "boolean");
      case "f":
        return this.word("false", "boolean");
      case "n":
        return this.word("null", "null");
      case undefined:
        throw new Wrong(start, "a value is missing");
      default: {
        NUMBER.lastIndex = start;
        if (!NUMBER.test(this.text)) throw new Wrong(start, "this is no value");
        this.at = NUMBER.lastIndex;
        return { kind: "number", start, end: this.at };
      }
    }
  }

  private word(word: string, kind: "boolean" | "null"): Node {
    const start = this.at;
    if (!this.text.startsWith(word, start)) throw new Wrong(start, "this is no value");
    this.at += word.length;
    return { kind, start, end: this.at };
  }

  private string(): void {
    const start = this.at++;
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (Number.isNaN(code)) throw new Wrong(start, "the text has no closing quote");
      if (code === 34) break;
      if (code < 32) throw new Wrong(this.at, "a text has no line breaks or tabs of its own: `\\n`, `\\t`");
      if (code === 92) {
        const escape = this.text[this.at + 1] ?? "";
        const isHex = escape === "u" && /^[0-9a-fA-F]{4}$/.test(this.text.slice(this.at + 2, this.at + 6));
        if (!isHex && !'"\\/bfnrt'.includes(escape || " ")) throw new Wrong(this.at, "there is no such escape");
        this.at += isHex ? 6 : 2;
      } else {
        this.at++;
      }
    }
    this.at++;
  }

  private object(start: number, depth: number): Node {
    const members: Member[] = [];
    this.at++;
    this.blank();
    while (this.text[this.at] !== "}") {
      if (members.length > 0) this.expect(",", "a comma or `}` is missing");
      this.blank();
      const from = this.at;
      if (this.text[from] !== '"') throw new Wrong(from, "a name in quotes is missing");
      this.string();
      const nameEnd = this.at;
      this.blank();
      this.expect(":", "a colon is missing");
      this.blank();
      const value = this.value(depth + 1);
      members.push({ name: textOf(this.text.slice(from, nameEnd)), start: from, nameEnd, value });
      this.blank();
    }
    this.at++;
    return { kind: "object", start, end: this.at, members };
  }

  private array(start: number, depth: number): Node {
    const items: Node[] = [];
    this.at++;
    this.blank();
    while (this.text[this.at] !== "]") {
      if (items.length > 0) this.expect(",", "a comma or `]` is missing");
      this.blank();
      items.push(this.value(depth + 1));
      this.blank();
    }
    this.at++;
    return { kind: "array", start, end: this.at, items };
  }

  private expect(sign: string, otherwise: string): void {
    if (this.text[this.at] !== sign) throw new Wrong(this.at, otherwise);
    this.at++;
  }
}

/** Returns the text that a JSON string stands for. */
export function textOf(raw: string): string {
  return raw.includes("\\") ? (JSON.parse(raw) as string) : raw.slice(1, -1);
}

/** Returns a member; of several with one name the last, as every reader of JSON does. */
export function memberOf(node: Node | undefined, name: string): Member | undefined {
  return node?.kind === "object" ? node.members.findLast((one) => one.name === name) : undefined;
}

export function find(root: Node | undefined, path: Path): Node | undefined {
  let node = root;
  for (const step of path) {
    if (typeof step === "number") node = node?.kind === "array" ? node.items[step] : undefined;
    else node = memberOf(node, step)?.value;
  }
  return node;
}

export function rawOf(text: string, node: Node): string {
  return text.slice(node.start, node.end);
}

/**
 * Returns the text with the value at `path` set to `raw`. What it stands in must be there; a new member or item becomes
 * the last, and is laid out as those before it are. A text that is no JSON comes back as it is.
 */
export function set(text: string, path: Path, raw: string): string {
  const { root } = parse(text);
  if (!root) return text;
  const there = find(root, path);
  if (there) return splice(text, there.start, there.end, raw);
  const parent = find(root, path.slice(0, -1));
  const step = path.at(-1);
  if (parent?.kind === "object" && typeof step === "string") {
    const last = parent.members.at(-1);
    const colon = last ? text.slice(last.nameEnd, last.value.start) : ": ";
    const starts = parent.members.map((one) => one.start);
    return append(text, parent, starts, last?.value.end, JSON.stringify(step) + colon + raw);
  }
  if (parent?.kind === "array" && typeof step === "number") {
    const starts = parent.items.map((one) => one.start);
    return append(text, parent, starts, parent.items.at(-1)?.end, raw);
  }
  return text;
}

/** Returns the text without the member or item at `path`. */
export function remove(text: string, path: Path): string {
  const { root } = parse(text);
  const parent = root && find(root, path.slice(0, -1));
  const step = path.at(-1);
  if (parent?.kind === "array" && typeof step === "number") {
    return cut(text, parent, parent.items.map((one) => ({ start: one.start, end: one.end })), step);
  }
  if (parent?.kind !== "object" || typeof step !== "string") return text;
  const at = parent.members.findLastIndex((one) => one.name === step);
  if (at < 0) return text;
  const parts = parent.members.map((one) => ({ start: one.start, end: one.value.end }));
  // A name may stand there twice, and then the earlier one would come to light.
  return remove(cut(text, parent, parts, at), path);
}

function append(text: string, parent: Node, starts: number[], lastEnd: number | undefined, piece: string): string {
  if (lastEnd !== undefined) {
    return splice(text, lastEnd, lastEnd, `,${gap(text, parent, starts)}${piece}`);
  }
  const [open, close] = parent.kind === "object" ? ["{", "}"] : ["[", "]"];
  const isLaidOut = parent.start === 0 || text.includes("\n");
  if (!isLaidOut) return splice(text, parent.start, parent.end, open + piece + close);
  const indent = /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", parent.start - 1) + 1))?.[0] ?? "";
  const inner = piece.replaceAll("\n", `\n${indent}  `);
  return splice(text, parent.start, parent.end, `${open}\n${indent}  ${inner}\n${indent}${close}`);
}

/** Returns what stands between a comma and the next piece. */
function gap(text: string, parent: Node, starts: number[]): string {
  const last = starts.at(-1) ?? parent.start;
  const blank = /[ \t\r\n]*$/.exec(text.slice(parent.start, last))?.[0] ?? "";
  if (blank !== "" || starts.length > 1) return blank;
  // `{"a": 1}` has a blank after its colon and wants one after its comma; `{"a":1}` wants none.
  return (parent.kind === "object" ? text.slice(last, parent.end) : text).includes(": ") ? " " : "";
}

function cut(text: string, parent: Node, parts: { start: number; end: number }[], at: number): string {
  const [here, before, after] = [parts[at], parts[at - 1], parts[at + 1]];
  if (!here) return text;
  if (before) return splice(text, before.end, here.end, "");
  if (after) return splice(text, here.start, after.start, "");
  return splice(text, parent.start, parent.end, parent.kind === "object" ? "{}" : "[]");
}

function splice(text: string, start: number, end: number, piece: string): string {
  return text.slice(0, start) + piece + text.slice(end);
}

/** Returns the value laid out over lines; names, texts and numbers keep their spelling. */
export function pretty(text: string, node: Node, indent = ""): string {
  if (node.kind === "object" && node.members.length > 0) {
    const inner = `${indent}  `;
    const rows = node.members.map((one) => `${inner}${text.slice(one.start, one.nameEnd)}: ${pretty(text, one.value, inner)}`);
    return `{\n${rows.join(",\n")}\n${indent}}`;
  }
  if (node.kind === "array" && node.items.length > 0) {
    const inner = `${indent}  `;
    return `[\n${node.items.map((one) => inner + pretty(text, one, inner)).join(",\n")}\n${indent}]`;
  }
  if (node.kind === "object") return "{}";
  return node.kind === "array" ? "[]" : rawOf(text, node);
}

/** Returns the value without a blank between its parts, for one line. */
export function compact(text: string, node: Node): string {
  if (node.kind === "object") {
    return `{${node.members.map((one) => `${text.slice(one.start, one.nameEnd)}:${compact(text, one.value)}`).join(",")}}`;
  }
  if (node.kind === "array") return `[${node.items.map((one) => compact(text, one)).join(",")}]`;
  return rawOf(text, node);
}

const WHOLE_NUMBER = new RegExp(`^${NUMBER.source}$`);

export function isNumber(raw: string): boolean {
  return WHOLE_NUMBER.test(raw);
}

export function isInteger(raw: string): boolean {
  return isNumber(raw) && Number.isInteger(Number(raw));
}
