// One tool: its form and its JSON side by side, the call, what is asked meanwhile, and the result.

import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api.ts";
import { commandOf } from "../form/command.ts";
import { Form } from "../form/form.tsx";
import { shapeOf, type Shape } from "../form/model.ts";
import { beginning, missing } from "../form/values.ts";
import { parse, pretty } from "../json/text.ts";
import { JsonView } from "../json/view.tsx";
import { href, route, setQuery } from "../router.ts";
import { actTitle } from "../session.ts";
import type { Items, ListedItem } from "../types.ts";
import { Badge, Button, Card, Empty, Prose, Skeleton } from "../ui/basics.tsx";
import { NamespaceChoice } from "../ui/namespace.tsx";
import { Questions } from "./tester/questions.tsx";
import { bytesOf, copy, Result, span } from "./tester/result.tsx";
import { begin, handed, type Run, type Running } from "./tester/run.ts";
import { Kept } from "./tester/saved.tsx";
import "./tester.css";

interface Definition {
  title?: string;
  description?: string;
  inputSchema?: unknown;
  outputSchema?: unknown;
  annotations?: Record<string, unknown>;
}

export function Tester({ name }: { name: string }) {
  const namespace = route.value.query.get("namespace") ?? "";
  const found = useSignal<{ item: ListedItem } | { why: string } | null>(null);
  useEffect(() => {
    let isWanted = true;
    const query = new URLSearchParams({ name, full: "1", ...(namespace ? { namespace } : {}) });
    api
      .get<Items>(`/v1/tools?${query}`)
      .then(({ items }) => isWanted && (found.value = items[0] ? { item: items[0] } : { why: `There is no tool \`${name}\`` }))
      .catch((error: unknown) => isWanted && (found.value = { why: error instanceof Error ? error.message : String(error) }));
    return () => {
      isWanted = false;
    };
  }, [name, namespace]);
  const one = found.value;
  return (
    <div class="page tester">
      <div class="page-head">
        <h1>
          <span>
            <a class="back" href={href("tools")} aria-label="Back to the list" title="Back to the list">
              ←
            </a>{" "}
            {name}
          </span>
        </h1>
        <NamespaceChoice words="called as" namespace={namespace} onChoose={(namespace) => setQuery({ namespace })} />
      </div>
      {!one ? (
        <div class="card">
          <Skeleton rows={8} />
        </div>
      ) : "why" in one ? (
        <div class="card">
          <Empty title="This tool cannot be shown">
            <p>
              <Prose text={one.why} />
            </p>
            <p>
              <code>manifold tools</code> lists those there are.
            </p>
          </Empty>
        </div>
      ) : (
        <Bench key={`${name} ${one.item.name}`} item={one.item} namespace={namespace} />
      )}
    </div>
  );
}

function Bench({ item, namespace }: { item: ListedItem; namespace: string }) {
  const tool = (item.item ?? {}) as Definition;
  const shape = useMemo(() => shapeOf(tool.inputSchema), [item]);
  const [text, setText] = useState(() => taken(item.name) ?? beginning(shape));
  const [flaws, setFlaws] = useState<ReadonlyMap<string, string>>(new Map());
  const [running, setRunning] = useState<Running | null>(null);
  const [shownRun, setShownRun] = useState<Run | null>(null);
  const onFlaw = (path: string, flaw: string | undefined) =>
    setFlaws((known) => {
      if (known.get(path) === flaw) return known;
      const next = new Map(known);
      if (flaw) next.set(path, flaw);
      else next.delete(path);
      return next;
    });
  const run = running?.run.value;
  const isRunning = run !== undefined && !run.outcome;
  const result = shownRun ?? run;
  const parsed = parse(text);
  const isSendable = parsed.root?.kind === "object" && flaws.size === 0;
  const call = () => {
    if (!isSendable || isRunning) return;
    setShownRun(null);
    setRunning(begin(item.name, namespace, text));
  };
  useEffect(() => () => running?.cancel(), [running]);
  // Behind a long form the answer would come where nobody looks.
  const answer = useRef<HTMLDivElement>(null);
  useEffect(() => answer.current?.scrollIntoView({ block: "nearest" }), [run?.outcome]);
  const ended = run?.outcome && `${run.outcome.is} after ${span(run.tookMs ?? 0)}`;
  const lacking = parsed.root ? missing(shape, parsed.root, text).map((path) => path.join(".")) : [];
  return (
    <>
      <About item={item} tool={tool} />
      <div
        class="tester-two"
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) call();
        }}
      >
        <Card title="Arguments">
          <Form shape={shape} text={text} onText={setText} onFlaw={onFlaw} />
        </Card>
        <JsonCard shape={shape} item={item} namespace={namespace} text={text} onText={setText} />
      </div>
      <div class="tester-call">
        <Button look="primary" needs="act" disabled={!isSendable || isRunning} title={isSendable ? "Ctrl Enter" : "What is typed is no JSON yet"} run={call}>
          Call
        </Button>
        {actTitle.value && (
          <span class="soft small">
            <Prose text={actTitle.value} />
          </span>
        )}
        {isRunning && <Button run={() => running?.cancel()}>Cancel</Button>}
        {isRunning ? <Progress run={run} /> : lacking.length > 0 && <span class="soft small">Required and not set: {lacking.join(", ")}</span>}
        {ended && (
          <span class="soft small" aria-hidden="true">
            {ended}
          </span>
        )}
      </div>
      {running && isRunning && <Questions running={running} />}
      <p class="sr" role="status">
        {ended}
      </p>
      {result?.outcome && (
        <div class="tester-answer" ref={answer}>
          <Result key={result.startedAt} run={result} promised={tool.outputSchema} />
        </div>
      )}
      <div class="tester-two">
        <Kept tool={item.name} text={text} onText={setText} onShow={setShownRun} />
        <Card title="Definition" side={<span class="faint small">{item.bytes} bytes</span>}>
          <Schemas tool={tool} />
        </Card>
      </div>
    </>
  );
}

/** Returns arguments that another page left for this tool, once. */
function taken(name: string): string | undefined {
  const text = handed.get(name);
  handed.delete(name);
  const root = text === undefined ? undefined : parse(text).root;
  return text !== undefined && root ? pretty(text, root) : undefined;
}

const HINTS: [string, string, string, string][] = [
  ["readOnlyHint", "only reads", "good", "It says that it changes nothing"],
  ["destructiveHint", "may destroy", "bad", "It says that it may delete or overwrite"],
  ["idempotentHint", "repeatable", "", "It says that doing it twice does no more than once"],
  ["openWorldHint", "open world", "", "It says that it reaches beyond this machine"],
];

function About({ item, tool }: { item: ListedItem; tool: Definition }) {
  const said = tool.annotations ?? {};
  const hints = HINTS.filter(([name]) => said[name] === true);
  return (
    <div class="tester-about">
      <p class="buttons">
        <span class="soft small">
          of <a class="underlined" href={href("servers", item.server)}>{item.server}</a>
          {item.original !== item.name && (
            <>
              , there called <code>{item.original}</code>
            </>
          )}
        </span>
        {hints.map(([name, word, tone, why]) => (
          <span key={name} title={why}>
            <Badge tone={tone}>{word}</Badge>
          </span>
        ))}
        {hints.length === 0 && (
          <span title="The tool says nothing about what it does to the world">
            <Badge>no annotations</Badge>
          </span>
        )}
      </p>
      {(tool.description ?? item.description) && <p class="tester-description">{tool.description ?? item.description}</p>}
    </div>
  );
}

interface JsonProps {
  shape: Shape;
  item: ListedItem;
  namespace: string;
  text: string;
  onText: (text: string) => void;
}

function JsonCard({ shape, item, namespace, text, onText }: JsonProps) {
  const parsed = parse(text);
  return (
    <Card
      title="JSON"
      side={
        <span class="buttons">
          <Button look="small" disabled={!parsed.root} run={() => parsed.root && onText(pretty(text, parsed.root))}>
            Lay out
          </Button>
          <Button look="small" run={() => copy(text)}>
            Copy JSON
          </Button>
          <Button look="small" disabled={!parsed.root} run={() => copy(commandOf(item.name, shape, text, namespace))}>
            Copy as command
          </Button>
        </span>
      }
    >
      <textarea class="area tester-json" aria-label="Raw JSON" spellcheck={false} autocomplete="off" rows={Math.min(24, Math.max(7, text.split("\n").length + 1))} value={text} aria-invalid={parsed.flaw ? true : undefined} onInput={(event) => onText(event.currentTarget.value)} />
      <p class="small tester-state">
        <span class="bad" role="status">
          {parsed.flaw && `Line ${parsed.flaw.line}, column ${parsed.flaw.column}: ${parsed.flaw.what}`}
        </span>
        {!parsed.flaw && <span class="faint">{bytesOf(text)} bytes; sent as it stands here</span>}
      </p>
    </Card>
  );
}

function Progress({ run }: { run: Run }) {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 250);
    return () => clearInterval(timer);
  }, []);
  const { progress } = run;
  return (
    <span class="tester-progress">
      <progress aria-label="Progress" max={progress?.total ?? 1} value={progress?.total === undefined ? undefined : progress.done} />
      <span class="soft small">
        {span(performance.now() - run.startedAt)}
        {progress && ` · ${progress.done}${progress.total === undefined ? "" : ` of ${progress.total}`}`}
        {progress?.message && ` · ${progress.message}`}
        {run.questions.length > 0 && " · the server asks something"}
      </span>
    </span>
  );
}

function Schemas({ tool }: { tool: Definition }) {
  const parts: [string, unknown][] = [
    ["Input schema", tool.inputSchema],
    ["Output schema", tool.outputSchema],
    ["Annotations", tool.annotations],
  ];
  return (
    <div class="result">
      {parts.map(([title, part]) =>
        part === undefined ? null : (
          <details key={title}>
            <summary>{title}</summary>
            <JsonView label={title} text={JSON.stringify(part)} />
          </details>
        ),
      )}
    </div>
  );
}
