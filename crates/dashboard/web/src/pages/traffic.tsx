// What passes between clients and servers, as it passes: one row a call, with both hops.

import { useEffect, useMemo, useState } from "preact/hooks";
import { counted, exact } from "../format.ts";
import { route, setQuery } from "../router.ts";
import { Button, Empty } from "../ui/basics.tsx";
import { Compared, Detail } from "./traffic/detail.tsx";
import { Feed } from "./traffic/feed.ts";
import type { Row } from "./traffic/log.ts";
import { Rows, toneOf } from "./traffic/rows.tsx";
import { offer } from "./tester/result.tsx";
import "./traffic.css";

/** How long nobody types before the filter is sent. */
const SETTLED_MS = 250;

export function Traffic() {
  const feed = useMemo(() => new Feed(), []);
  const [filter, setFilter] = useState(route.value.query.get("q") ?? "");
  const [selected, setSelected] = useState<Row | null>(null);
  const [marked, setMarked] = useState<Row[]>([]);
  const [pins, setPins] = useState<Row[]>([]);
  useEffect(() => {
    feed.start(filter);
    return () => feed.end();
  }, []);
  useEffect(() => {
    feed.narrow(filter);
    const timer = setTimeout(() => {
      feed.refilter(filter);
      setQuery({ q: filter });
    }, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [filter]);
  const version = feed.version.value;
  const { log } = feed;
  const isPaused = feed.isPaused.value;
  const mark = (row: Row) => setMarked(marked.includes(row) ? marked.filter((one) => one !== row) : [...marked, row].slice(-2));
  const pin = (row: Row) => {
    row.isPinned = !row.isPinned;
    setPins(row.isPinned ? [...pins, row] : pins.filter((one) => one !== row));
  };
  const press = (key: string, row: Row): boolean => {
    if (key === "p") pin(row);
    else if (key === "m") mark(row);
    else if (key === "Escape") setSelected(null);
    else if (key === " ") feed.pause(!isPaused);
    else return false;
    return true;
  };
  const [one, other] = marked;
  return (
    <div class="page traffic">
      <div class="page-head">
        <h1>Traffic</h1>
        <Button aria-pressed={isPaused} run={() => feed.pause(!isPaused)}>
          {isPaused ? "Resume" : "Pause"}
        </Button>
        <Button run={() => feed.clear()}>Clear</Button>
        <Button disabled={log.count === 0} run={() => save(log.shown())}>
          Export
        </Button>
      </div>
      <FilterBox filter={filter} onFilter={setFilter} feed={feed} />
      {pins.length > 0 && <Pins pins={pins} onOpen={setSelected} onUnpin={pin} />}
      <div class={selected ? "traffic-two" : undefined}>
        <section class="card">
          <div class="traffic-note">
            <State feed={feed} version={version} />
          </div>
          {log.count === 0 ? <Nothing feed={feed} filter={filter} /> : <Rows log={log} version={version} selected={selected} marked={marked} onSelect={setSelected} onKey={press} />}
        </section>
        {selected && <Detail row={selected} isMarked={marked.includes(selected)} onMark={() => mark(selected)} onPin={() => pin(selected)} onClose={() => setSelected(null)} />}
      </div>
      {one && other && <Compared rows={[one, other]} onClose={() => setMarked([])} />}
      {one && !other && <p class="soft small">Call {one.call ?? one.number} is marked; mark another to compare the two.</p>}
    </div>
  );
}

function FilterBox({ filter, onFilter, feed }: { filter: string; onFilter: (text: string) => void; feed: Feed }) {
  const state = feed.state.value;
  const why = state.is === "refused" ? state.why : "";
  const column = Number(/column (\d+)/.exec(why)?.[1] ?? 0);
  return (
    <div class="traffic-filter">
      <input
        class="input mono"
        type="search"
        data-filter
        aria-label="Filter traffic"
        aria-invalid={why ? true : undefined}
        aria-describedby="traffic-filter-why"
        placeholder="server:git tool:log status:error took:>200ms !kind:notification  /"
        spellcheck={false}
        value={filter}
        onInput={(event) => onFilter(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          onFilter("");
          event.currentTarget.blur();
        }}
      />
      <div id="traffic-filter-why" role="status">
        {why && (
          <>
            {column > 0 && <pre class="traffic-caret bad" aria-hidden="true">{`${" ".repeat(column - 1)}^`}</pre>}
            <p class="bad small break">{why}</p>
          </>
        )}
      </div>
    </div>
  );
}

function State({ feed }: { feed: Feed; version: number }) {
  const { log } = feed;
  const state = feed.state.value;
  const parts = [`${exact(log.seen)} frames seen`, counted(log.count, "row")];
  if (log.lost > 0) parts.push(`${exact(log.lost)} frames were lost`);
  if (feed.isPaused.value) parts.push(`paused, ${exact(feed.heldCount)} more`);
  return (
    <>
      <span class={state.is === "open" ? "good" : "busy"}>
        {state.is === "open" ? "● live" : state.is === "broken" ? "◌ reconnecting" : state.is === "asking" ? "◐ asking the gateway" : "✗ stopped"}
      </span>
      <span class="soft">{parts.join(" · ")}</span>
    </>
  );
}

function Nothing({ feed, filter }: { feed: Feed; filter: string }) {
  const state = feed.state.value;
  if (state.is === "missing") {
    return (
      <Empty title="This gateway does not show its traffic">
        <p>
          The daemon and <code>manifold http</code> do; <code>manifold status</code> says what runs.
        </p>
      </Empty>
    );
  }
  if (state.is === "refused") return <Empty title="The filter cannot be read" />;
  return (
    <Empty title={filter ? "Nothing has passed that fits the filter" : "Nothing has passed yet"}>
      <p>What clients and servers say comes here as they say it.</p>
      <p>
        Try a tool on the page Tools, or <code>manifold watch</code> in a terminal.
      </p>
    </Empty>
  );
}

function Pins({ pins, onOpen, onUnpin }: { pins: Row[]; onOpen: (row: Row) => void; onUnpin: (row: Row) => void }) {
  return (
    <section class="card traffic-pins" aria-label="Pinned">
      <b class="faint small">Pinned</b>
      <ul>
        {pins.map((row) => (
          <li key={row.number}>
            <Button look="quiet small" title="Show it" run={() => onOpen(row)}>
              #{row.call ?? "–"} {row.what}
            </Button>
            <span class={toneOf(row.status)}>{row.status}</span>
            <Button look="quiet small" aria-label={`Unpin ${row.what}, call ${row.call ?? ""}`} run={() => onUnpin(row)}>
              ✕
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Offers the frames of these rows, one a line, in the order they came. */
function save(rows: Row[]): void {
  const frames = rows.flatMap((row) => row.frames).filter((frame) => frame.raw !== "");
  frames.sort((a, b) => a.n - b.n);
  offer(new Blob(frames.map((frame) => `${frame.raw}\n`), { type: "application/x-ndjson" }), "traffic.jsonl");
}
