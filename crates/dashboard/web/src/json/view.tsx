// A piece of JSON to look at: folded where it is large, and only the lines near the window are drawn. Every value is shown as
// it is spelled.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { parse, rawOf, textOf, type Node } from "./text.ts";
import "./json.css";

const LINE_PX = 20;
const SPARE = 10;
const LONG_TEXT = 300;
/** Texts above this are folded from the second level on. */
const LARGE = 60_000;
const MANY = 200;

interface Line {
  depth: number;
  name: string | undefined;
  node: Node;
  part: "leaf" | "open" | "close" | "folded";
  hasComma: boolean;
}

interface Props {
  text: string;
  label: string;
  /** How many lines are seen at most before it scrolls. */
  lines?: number;
}

export function JsonView({ text, label, lines: most = 24 }: Props) {
  const parsed = useMemo(() => parse(text), [text]);
  // What was turned from how it is shown at first, by where it begins.
  const [turned, setTurned] = useState<ReadonlySet<number>>(new Set());
  const [long, setLong] = useState<string | null>(null);
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    setTurned(new Set());
    setLong(null);
    setTop(0);
    box.current?.scrollTo(0, 0);
  }, [text]);
  const lines = useMemo(() => (parsed.root ? laidOut(parsed.root, text, turned) : []), [parsed, turned]);
  if (parsed.flaw) return <Plain text={text} label={label} />;
  const turn = (node: Node) => {
    const next = new Set(turned);
    if (!next.delete(node.start)) next.add(node.start);
    setTurned(next);
  };
  const height = Math.min(lines.length, most) * LINE_PX;
  const from = Math.max(0, Math.floor(top / LINE_PX) - SPARE);
  const shown = lines.slice(from, Math.ceil((top + height) / LINE_PX) + SPARE);
  return (
    <div class="json">
      <div ref={box} class="json-lines" role="group" aria-label={label} tabIndex={0} style={{ blockSize: `${height + 16}px` }} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div style={{ paddingBlockStart: `${from * LINE_PX}px`, blockSize: `${lines.length * LINE_PX}px` }}>
          {shown.map((line, at) => (
            <div key={from + at} class="json-line" style={{ paddingInlineStart: `${1.25 + line.depth * 1.1}rem` }}>
              {(line.part === "open" || line.part === "folded") && (
                <button type="button" class="json-fold" aria-expanded={line.part === "open"} aria-label={line.part === "open" ? "Fold" : "Unfold"} onClick={() => turn(line.node)}>
                  {line.part === "open" ? "▾" : "▸"}
                </button>
              )}
              {line.name !== undefined && line.part !== "close" && <span class="json-name">{JSON.stringify(line.name)}: </span>}
              <Value line={line} text={text} onLong={setLong} />
              {line.hasComma && line.part !== "open" && ","}
            </div>
          ))}
        </div>
      </div>
      {long !== null && (
        <div class="json-long">
          <button type="button" class="button quiet small" onClick={() => setLong(null)}>
            Close
          </button>
          <Plain text={long} label="The whole text" />
        </div>
      )}
    </div>
  );
}

function Value({ line, text, onLong }: { line: Line; text: string; onLong: (text: string) => void }) {
  const { node, part } = line;
  const [open, close] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  if (part === "open") return <>{open}</>;
  if (part === "close") return <>{close}</>;
  if (part === "folded") {
    const inside = node.kind === "object" ? node.members.length : node.kind === "array" ? node.items.length : 0;
    return (
      <>
        {open} <span class="faint">{inside} {node.kind === "object" ? "members" : "items"}</span> {close}
      </>
    );
  }
  const raw = rawOf(text, node);
  if (node.kind !== "string") return <span class={`json-${node.kind}`}>{raw}</span>;
  if (raw.length <= LONG_TEXT) return <span class="json-string">{raw}</span>;
  return (
    <>
      <span class="json-string">{raw.slice(0, LONG_TEXT)}</span>{" "}
      <button type="button" class="button quiet small" onClick={() => onLong(textOf(raw))}>
        … {raw.length - LONG_TEXT} more
      </button>
    </>
  );
}

/** Returns the lines of what is not folded. */
function laidOut(root: Node, text: string, turned: ReadonlySet<number>): Line[] {
  const lines: Line[] = [];
  const isLarge = text.length > LARGE;
  const walk = (node: Node, depth: number, name: string | undefined, hasComma: boolean) => {
    const inside = node.kind === "object" ? node.members : node.kind === "array" ? node.items : [];
    if (inside.length === 0) {
      lines.push({ depth, name, node, part: node.kind === "object" || node.kind === "array" ? "folded" : "leaf", hasComma });
      return;
    }
    const isOpenAtFirst = depth === 0 || (!isLarge && inside.length <= MANY && depth < 8) || (isLarge && depth < 2);
    if (isOpenAtFirst === turned.has(node.start)) {
      lines.push({ depth, name, node, part: "folded", hasComma });
      return;
    }
    lines.push({ depth, name, node, part: "open", hasComma });
    inside.forEach((one, at) => {
      const isMember = "name" in one;
      walk(isMember ? one.value : one, depth + 1, isMember ? one.name : undefined, at < inside.length - 1);
    });
    lines.push({ depth, name, node, part: "close", hasComma });
  };
  walk(root, 0, undefined, false);
  return lines;
}

const PLAIN_AT_FIRST = 100_000;

/** Text as it is; of a very long one the beginning, until all of it is asked for. */
export function Plain({ text, label }: { text: string; label: string }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > PLAIN_AT_FIRST;
  return (
    <>
      <pre class="plain" tabIndex={0} role="group" aria-label={label}>
        {isCut ? text.slice(0, PLAIN_AT_FIRST) : text}
      </pre>
      {isCut && (
        <button type="button" class="button small" onClick={() => setWhole(true)}>
          Show all of it: {text.length} characters
        </button>
      )}
    </>
  );
}
