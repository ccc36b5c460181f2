// What differs between two pieces of JSON, path by path. Spelling counts: `1.0` is not what `1` is on the wire.

import { compact, memberOf, parse, type Node } from "./text.ts";

export interface Difference {
  /** `$.content[0].text` */
  path: string;
  before?: string;
  after?: string;
}

const MOST = 500;
/** Longer lists are compared place by place. */
const ALIGNED = 300;

export function diff(before: string, after: string): Difference[] {
  const [one, other] = [parse(before).root, parse(after).root];
  if (!one || !other) return before === after ? [] : [{ path: "$", before, after }];
  const found: Difference[] = [];
  compare({ before, after, found }, "$", one, other);
  return found;
}

interface Both {
  before: string;
  after: string;
  found: Difference[];
}

function compare(both: Both, path: string, one: Node, other: Node): void {
  if (both.found.length >= MOST) return;
  if (one.kind === "object" && other.kind === "object") {
    const names = new Set([...one.members, ...other.members].map((member) => member.name));
    for (const name of names) {
      const [mine, theirs] = [memberOf(one, name)?.value, memberOf(other, name)?.value];
      const place = path + step(name);
      if (mine && theirs) compare(both, place, mine, theirs);
      else note(both, place, mine, theirs);
    }
    return;
  }
  if (one.kind === "array" && other.kind === "array") {
    items(both, path, one.items, other.items);
    return;
  }
  if (compact(both.before, one) !== compact(both.after, other)) note(both, path, one, other);
}

function note({ before, after, found }: Both, path: string, one: Node | undefined, other: Node | undefined): void {
  if (found.length >= MOST) return;
  found.push({ path, ...(one ? { before: compact(before, one) } : {}), ...(other ? { after: compact(after, other) } : {}) });
}

function step(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** Compares lists by what they have in common, so that one new item in front is one difference. */
function items(both: Both, path: string, mine: Node[], theirs: Node[]): void {
  const at = (index: number) => `${path}[${index}]`;
  if (mine.length > ALIGNED || theirs.length > ALIGNED || mine.length === theirs.length) {
    for (let index = 0; index < Math.max(mine.length, theirs.length); index++) {
      const [one, other] = [mine[index], theirs[index]];
      if (one && other) compare(both, at(index), one, other);
      else note(both, at(index), one, other);
    }
    return;
  }
  const [a, b] = [mine.map((node) => compact(both.before, node)), theirs.map((node) => compact(both.after, node))];
  const common = table(a, b);
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (j < b.length && (i === a.length || (common[i]?.[j + 1] ?? 0) >= (common[i + 1]?.[j] ?? 0))) {
      note(both, at(j), undefined, theirs[j]);
      j++;
    } else {
      note(both, at(i), mine[i], undefined);
      i++;
    }
  }
}

/** Returns how long the common row of the rests is. */
function table(a: string[], b: string[]): number[][] {
  const rows = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const [row, below] = [rows[i] as number[], rows[i + 1] as number[]];
      row[j] = a[i] === b[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return rows;
}
