// The call as a line for a shell, in the grammar of `manifold call` (docs/calling.md).

import { compact, parse, rawOf, textOf } from "../json/text.ts";
import type { Shape } from "./model.ts";

export function commandOf(tool: string, shape: Shape, text: string, namespace?: string): string {
  const words = ["manifold", "call", ...(namespace ? ["--namespace", namespace] : []), tool];
  const { root } = parse(text);
  if (root?.kind !== "object") return words.map(quoted).join(" ");
  const names = root.members.map((one) => one.name);
  // A name twice, or none at all, cannot be said word by word.
  if (new Set(names).size < names.length || names.includes("")) {
    return [...words, "--args", compact(text, root)].map(quoted).join(" ");
  }
  const fields = shape.kind.is === "object" ? shape.kind.fields() : [];
  for (const { name, value } of root.members) {
    const kind = fields.find((one) => one.name === name)?.shape;
    const written = name.replace(/[\\.=:]/g, "\\$&");
    const isText = value.kind === "string" && kind?.kind.is === "text" && !kind.isNullable;
    const plain = isText ? textOf(rawOf(text, value)) : "";
    words.push(isText && !plain.startsWith("@") ? `${written}=${plain}` : `${written}:=${compact(text, value)}`);
  }
  return words.map(quoted).join(" ");
}

/** Returns a word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
