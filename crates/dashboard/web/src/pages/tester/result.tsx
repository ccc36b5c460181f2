// What a tool answered, each piece by its type. Everything is text until the user does something with it.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { size } from "../../format.ts";
import { shapeOf } from "../../form/model.ts";
import { flawsOf } from "../../form/values.ts";
import { find, parse, rawOf, textOf, type Node } from "../../json/text.ts";
import { JsonView, Plain } from "../../json/view.tsx";
import { Badge, Button, Card } from "../../ui/basics.tsx";
import { toast } from "../../ui/toast.tsx";
import type { Run } from "./run.ts";

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

export async function copy(text: string): Promise<void> {
  // Browsers have no clipboard for pages that came from another machine in the clear.
  if (!navigator.clipboard) throw new Error("The browser lets no page copy that was opened over plain HTTP from another machine");
  await navigator.clipboard.writeText(text);
  toast("Copied");
}

/** Returns how long a call took: `3.4 ms`, `12 ms`, `1.2 s`. */
export function span(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function Result({ run, promised }: { run: Run; promised: unknown }) {
  const { outcome } = run;
  if (!outcome) return null;
  const took = <span class="faint small">{span(run.tookMs ?? 0)}</span>;
  if (outcome.is === "result") return <Answer raw={outcome.raw} took={took} promised={promised} />;
  if (outcome.is === "cancelled") {
    return (
      <Card title={<span class="busy">Cancelled</span>} side={took}>
        Nobody waits for the answer any more.
      </Card>
    );
  }
  return (
    <Card title={<span class="bad">Failed</span>} side={took}>
      <p class="break" role="alert">
        {outcome.message}
      </p>
      {outcome.hint && <p class="soft break">→ {outcome.hint}</p>}
    </Card>
  );
}

function Answer({ raw, took, promised }: { raw: string; took: ComponentChildren; promised: unknown }) {
  const [isRaw, setRaw] = useState(false);
  const root = useMemo(() => parse(raw).root, [raw]);
  const bytes = useMemo(() => bytesOf(raw), [raw]);
  const isError = root !== undefined && isTrue(raw, find(root, ["isError"]));
  return (
    <Card
      title={isError ? <span class="bad">The tool says: error</span> : "Result"}
      side={
        <span class="buttons result-side">
          {isError && <Badge tone="bad">isError</Badge>}
          {took}
          <span class="faint small">{size(bytes)} bytes</span>
          <button type="button" class="button small" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            As JSON
          </button>
          <Button look="small" run={() => copy(raw)}>
            Copy result
          </Button>
        </span>
      }
    >
      <div class="result">{isRaw || !root ? <JsonView label="Answer" text={raw} /> : <Pieces raw={raw} root={root} promised={promised} />}</div>
    </Card>
  );
}

function isTrue(text: string, node: Node | undefined): boolean {
  return node !== undefined && rawOf(text, node) === "true";
}

function Pieces({ raw, root, promised }: { raw: string; root: Node; promised: unknown }) {
  const content = find(root, ["content"]);
  const structured = find(root, ["structuredContent"]);
  const isError = isTrue(raw, find(root, ["isError"]));
  const flaws = useMemo(() => (promised !== undefined && structured && !isError ? flawsOf(shapeOf(promised), structured, raw) : []), [promised, raw]);
  const items = content?.kind === "array" ? content.items : [];
  return (
    <>
      {items.map((node, at) => (
        <Piece key={at} raw={raw} node={node} />
      ))}
      {structured && (
        <section>
          <h3>Structured content</h3>
          <JsonView label="Answer" text={rawOf(raw, structured)} />
          {flaws.length > 0 && <p class="note is-busy">It is not what the output schema promises: {flaws.join("; ")}.</p>}
          {promised !== undefined && !isError && flaws.length === 0 && <p class="faint small">✓ as the output schema promises</p>}
        </section>
      )}
      {promised !== undefined && !structured && !isError && <p class="note is-busy">The tool promises structured content by its output schema, and gave none.</p>}
      {items.length === 0 && !structured && (content ? <p class="soft">The tool answered with nothing.</p> : <JsonView label="Result" text={raw} />)}
    </>
  );
}

function Piece({ raw, node }: { raw: string; node: Node }) {
  const word = (...path: string[]) => {
    const found = find(node, path);
    return found?.kind === "string" ? textOf(rawOf(raw, found)) : "";
  };
  switch (word("type")) {
    case "text":
      return <Text text={word("text")} label="Answer" />;
    case "image":
      return <Picture type={word("mimeType")} data={word("data")} />;
    case "audio":
      return <Sound type={word("mimeType")} data={word("data")} />;
    case "resource_link":
      return (
        <Named title={word("title") || word("name") || "Resource"} uri={word("uri")} type={word("mimeType")}>
          {word("description") && <p class="soft break">{word("description")}</p>}
        </Named>
      );
    case "resource": {
      const [uri, type, blob] = [word("resource", "uri"), word("resource", "mimeType"), word("resource", "blob")];
      return (
        <Named title="Resource" uri={uri} type={type}>
          {blob === "" ? <Text text={word("resource", "text")} label={uri} /> : type.startsWith("image/") ? <Picture type={type} data={blob} /> : type.startsWith("audio/") ? <Sound type={type} data={blob} /> : <Save type={type} data={blob} />}
        </Named>
      );
    }
    default:
      return <JsonView label="Answer" text={rawOf(raw, node)} />;
  }
}

function Named({ title, uri, type, children }: { title: string; uri: string; type: string; children?: ComponentChildren }) {
  return (
    <section class="result-named">
      <h3>
        {title} {type && <Badge>{type}</Badge>}
      </h3>
      <p>
        <code class="break">{uri}</code>{" "}
        <Button look="quiet small" run={() => copy(uri)}>
          Copy address
        </Button>
      </p>
      {children}
    </section>
  );
}

/** Text, and as JSON where it is an object or a list. */
function Text({ text, label }: { text: string; label: string }) {
  const isJson = useMemo(() => /^\s*[[{]/.test(text) && parse(text).root !== undefined, [text]);
  return isJson ? <JsonView label={label} text={text} /> : <Plain label={label} text={text} />;
}

const PICTURES = /^image\/(png|jpe?g|gif|webp|avif|bmp|svg\+xml|x-icon)$/;

function Picture({ type, data }: { type: string; data: string }) {
  const [failed, setFailed] = useState(false);
  if (!PICTURES.test(type) || failed) return <Save type={type} data={data} />;
  return (
    <figure class="picture">
      <img src={`data:${type};base64,${data}`} alt={`Image of the tool, ${type}`} onError={() => setFailed(true)} />
      <figcaption>
        <Save type={type} data={data} />
      </figcaption>
    </figure>
  );
}

/** Sound is decoded here and played by hand: the page lets no element load media. */
function Sound({ type, data }: { type: string; data: string }) {
  const [source, setSource] = useState<AudioBufferSourceNode | null>(null);
  const play = async () => {
    const context = new AudioContext();
    const next = context.createBufferSource();
    next.buffer = await context.decodeAudioData(decoded(data).buffer as ArrayBuffer);
    next.connect(context.destination);
    next.onended = () => {
      setSource(null);
      void context.close();
    };
    next.start();
    setSource(next);
  };
  return (
    <p class="buttons">
      {source ? <Button run={() => source.stop()}>■ Stop the sound</Button> : <Button run={play}>▶ Play the sound</Button>}
      <Save type={type} data={data} />
    </p>
  );
}

function Save({ type, data }: { type: string; data: string }) {
  const save = () => offer(new Blob([decoded(data).buffer as ArrayBuffer], { type: "application/octet-stream" }), `result.${/\w+$/.exec(type)?.[0] ?? "bin"}`);
  return (
    <Button look="small" run={save}>
      Save {type || "data"}, {size(Math.floor((data.length * 3) / 4))} bytes
    </Button>
  );
}

/** Offers a file to save. */
export function offer(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function decoded(data: string): Uint8Array {
  return Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
}
