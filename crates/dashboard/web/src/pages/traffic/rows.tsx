// The rows of traffic: one height, drawn only where they are seen, each with its bar of both hops.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { size, took } from "../../format.ts";
import { useRoom } from "../../ui/room.ts";
import { tookOf, type Row, type TrafficLog } from "./log.ts";

const ROW_PX = 28;
const SPARE = 6;

interface Props {
  log: TrafficLog;
  /** Changes with what there is to draw. */
  version: number;
  selected: Row | null;
  marked: Row[];
  onSelect: (row: Row) => void;
  onKey: (key: string, row: Row) => boolean;
}

export function Rows({ log, version, selected, marked, onSelect, onKey }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const dropped = useRef(log.dropped);
  const [top, setTop] = useState(0);
  const room = useRoom(box);
  const { count } = log;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (isFollowing.current) element.scrollTop = (count + 1) * ROW_PX;
    // What is read stays where it is while older rows go.
    else if (log.dropped > dropped.current) element.scrollTop -= (log.dropped - dropped.current) * ROW_PX;
    dropped.current = log.dropped;
  }, [version, room]);
  const from = Math.max(0, Math.floor((isFollowing.current ? Math.max(0, count * ROW_PX - room) : top) / ROW_PX) - SPARE);
  const to = Math.min(count, from + Math.ceil(room / ROW_PX) + 2 * SPARE);
  const shown: Row[] = [];
  for (let index = from; index < to; index++) {
    const row = log.at(index);
    if (row) shown.push(row);
  }
  const scale = nice(shown.reduce((most, row) => Math.max(most, tookOf(row) ?? 0), 0));
  const scrolled = () => {
    const element = box.current;
    if (!element) return;
    isFollowing.current = element.scrollTop + element.clientHeight >= element.scrollHeight - ROW_PX;
    if (!isFollowing.current) setTop(element.scrollTop);
  };
  const first = log.at(0)?.number ?? 0;
  const at = selected && selected.number >= first ? log.rows.indexOf(selected, log.from) - log.from : -1;
  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(room / ROW_PX) - 1);
    const here = at < 0 ? count : at;
    const steps: Record<string, number> = { ArrowDown: here + 1, j: here + 1, ArrowUp: here - 1, k: here - 1, PageDown: here + page, PageUp: here - page, Home: 0, End: count - 1 };
    const step = steps[event.key];
    if (step === undefined) {
      if (selected && onKey(event.key, selected)) event.preventDefault();
      return;
    }
    event.preventDefault();
    const next = Math.max(0, Math.min(count - 1, step));
    const row = log.at(next);
    const element = box.current;
    if (!row || !element) return;
    if (next * ROW_PX < element.scrollTop) element.scrollTop = next * ROW_PX;
    else if ((next + 2) * ROW_PX > element.scrollTop + element.clientHeight) element.scrollTop = (next + 2) * ROW_PX - element.clientHeight;
    onSelect(row);
  };
  return (
    <div ref={box} class="traffic-table" role="grid" aria-label="Traffic: the arrows walk, p pins, m marks" aria-activedescendant={at >= from && at < to && selected ? `row-${selected.number}` : undefined} aria-rowcount={count + 1} tabIndex={0} onScroll={scrolled} onKeyDown={press}>
      <div role="rowgroup" class="traffic-head">
        <div class="traffic-row" role="row">
          {["Time", "Call", "What", "Client", "Server", "Status", "Size", "Took"].map((title) => (
            <span key={title} role="columnheader" class={CELLS[title]}>
              {title}
            </span>
          ))}
          <span role="columnheader" class="t-bar">
            0 – {took(scale / 1000)}
          </span>
        </div>
      </div>
      <div class="traffic-rows" role="rowgroup" style={{ paddingBlockStart: `${from * ROW_PX}px`, blockSize: `${count * ROW_PX}px` }}>
        {shown.map((row, index) => (
          <Line key={index} row={row} index={from + index} scale={scale} isSelected={row === selected} isMarked={marked.includes(row)} onSelect={onSelect} />
        ))}
      </div>
    </div>
  );
}

const CELLS: Record<string, string> = { Time: "t-time", Call: "t-call", What: "t-what", Client: "t-client", Server: "t-server", Status: "t-status", Size: "t-size", Took: "t-took" };

interface LineProps {
  row: Row;
  index: number;
  scale: number;
  isSelected: boolean;
  isMarked: boolean;
  onSelect: (row: Row) => void;
}

function Line({ row, index, scale, isSelected, isMarked, onSelect }: LineProps) {
  const time = tookOf(row);
  return (
    <div id={`row-${row.number}`} class={isSelected ? "traffic-row is-selected" : "traffic-row"} role="row" aria-rowindex={index + 2} aria-selected={isSelected} onClick={() => onSelect(row)}>
      <span role="gridcell" class="t-time">
        {(row.start / 1e9).toFixed(3)}
      </span>
      <span role="gridcell" class="t-call">
        {row.call ?? ""}
      </span>
      <span role="gridcell" class="t-what">
        {(isMarked || row.isPinned) && `${isMarked ? "◆" : ""}${row.isPinned ? "★" : ""} `}
        {row.call === undefined && row.kind !== "notification" && <i>{row.kind} </i>}
        {row.what}
      </span>
      <span role="gridcell" class="t-client">
        {row.client}
      </span>
      <span role="gridcell" class="t-server">
        {row.server}
      </span>
      <span role="gridcell" class={`t-status ${toneOf(row.status)}`}>
        {row.status}
      </span>
      <span role="gridcell" class="t-size">
        {size(row.bytes)}
      </span>
      <span role="gridcell" class="t-took">
        {time === undefined ? "" : took(time / 1000)}
      </span>
      <span role="gridcell" class="t-bar">
        <Waterfall row={row} scale={scale} />
      </span>
    </div>
  );
}

/** The client's hop as a pale bar, the server's on top of it: what stays pale is the gateway's share, and waiting for a start. */
export function Waterfall({ row, scale }: { row: Row; scale: number }) {
  const whole = row.clientHop ?? row.serverHop;
  if (!whole || scale === 0) return null;
  const part = (ns: number) => `${Math.min(100, Math.max(0, (ns / scale) * 100)).toFixed(2)}%`;
  const inner = row.serverHop;
  return (
    <>
      {row.clientHop && <b style={{ inlineSize: part(row.clientHop.took) }} />}
      {inner && <b class="is-server" style={{ insetInlineStart: part(inner.from - whole.from), inlineSize: part(inner.took) }} />}
    </>
  );
}

export function toneOf(status: string): string {
  if (status === "ok") return "good";
  if (status.startsWith("error") || status === "timeout") return "bad";
  return status === "" ? "faint" : "busy";
}

/** Returns the next of 1, 2, 5, 10 … that is not less. */
export function nice(value: number): number {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((one) => one * power >= value) ?? 10) * power;
}
