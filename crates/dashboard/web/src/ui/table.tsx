// A table whose rows are walked with the arrows: one row has the focus, Tab leaves it. Long ones draw only what is seen.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { density } from "../theme.ts";

export interface Column<T> {
  title: string;
  cell: (row: T) => ComponentChildren;
  /** A number: set to the right. */
  isNumber?: boolean;
  /** Takes the room that is left. */
  isWide?: boolean;
  /** From 1 on, the higher the sooner it is left out where there is little room. */
  spare?: 1 | 2 | 3;
  /** What rows are sorted by, when the head is pressed. */
  by?: (row: T) => string | number;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string | number;
  /** Enter, or a click beside links and buttons. */
  onOpen?: (row: T) => void;
  /** Keys that act on the row with the focus. */
  onKey?: (key: string, row: T) => void;
  /** Stands there when there are no rows. */
  empty?: ComponentChildren;
}

const WINDOWED_FROM = 150;
const SPARE_ROWS = 12;

export function Table<T>({ label, columns, rows, rowKey, onOpen, onKey, empty }: Props<T>) {
  const [sorting, setSorting] = useState<{ column: number; isDown: boolean } | null>(null);
  const [focused, setFocused] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  const sorted = useMemo(() => sort(rows, columns, sorting), [rows, sorting]);
  const isWindowed = sorted.length > WINDOWED_FROM;
  const window = useWindow(box, isWindowed, sorted.length);
  const at = Math.min(focused, Math.max(0, sorted.length - 1));

  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    const row = box.current?.querySelector<HTMLElement>(`tr[data-index="${at}"]`);
    row?.focus({ preventScroll: isWindowed });
    if (!isWindowed) row?.scrollIntoView({ block: "nearest" });
  });

  const move = (to: number) => {
    const next = Math.max(0, Math.min(sorted.length - 1, to));
    wantsFocus.current = true;
    if (isWindowed) window.reveal(next);
    setFocused(next);
  };
  const press = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLTableRowElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps: Record<string, number> = { ArrowDown: at + 1, j: at + 1, ArrowUp: at - 1, k: at - 1, Home: 0, End: sorted.length - 1, PageDown: at + 15, PageUp: at - 15 };
    const to = steps[event.key];
    const row = sorted[at];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && row && onOpen) onOpen(row);
    else if (row && onKey) return onKey(event.key, row);
    else return;
    event.preventDefault();
  };

  if (rows.length === 0 && empty) return <>{empty}</>;
  const shown = isWindowed ? sorted.slice(window.from, window.to) : sorted;
  const first = isWindowed ? window.from : 0;
  return (
    <div ref={box} class={isWindowed ? "table-box window" : "table-box"} onScroll={window.onScroll}>
      <table class="table" aria-label={label} aria-rowcount={sorted.length + 1} onKeyDown={press}>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <th key={column.title || index} scope="col" class={lookOf(column)} aria-sort={sorting?.column === index ? (sorting.isDown ? "descending" : "ascending") : undefined}>
                {column.by ? (
                  <button type="button" onClick={() => setSorting(next(sorting, index, column))}>
                    {column.title}
                    {sorting?.column === index && <span aria-hidden="true">{sorting.isDown ? " ↓" : " ↑"}</span>}
                  </button>
                ) : (
                  column.title || <span class="sr">Actions</span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Space rows={first} height={window.height} columns={columns.length} />}
          {shown.map((row, index) => {
            const place = first + index;
            return (
              <tr
                key={rowKey(row)}
                data-index={place}
                aria-rowindex={place + 2}
                tabIndex={place === at || (isWindowed && index === 0 && (at < first || at >= window.to)) ? 0 : -1}
                class={onOpen ? "opens" : undefined}
                onFocus={(event) => event.target === event.currentTarget && setFocused(place)}
                onClick={(event) => onOpen && !isControl(event.target) && onOpen(row)}
              >
                {columns.map((column, each) => (
                  <td key={each} class={lookOf(column)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {isWindowed && window.to < sorted.length && <Space rows={sorted.length - window.to} height={window.height} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

function Space({ rows, height, columns }: { rows: number; height: number; columns: number }) {
  return (
    <tr class="space" aria-hidden="true">
      <td colSpan={columns} style={{ blockSize: `${rows * height}px` }} />
    </tr>
  );
}

function lookOf<T>(column: Column<T>): string {
  return [column.isNumber && "num", column.isWide && "wide", column.spare && `p${column.spare}`].filter(Boolean).join(" ");
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a, button, input, select, label") !== null;
}

function next<T>(sorting: { column: number; isDown: boolean } | null, column: number, one: Column<T>) {
  // Of numbers one wants the greatest first.
  if (sorting?.column !== column) return { column, isDown: Boolean(one.isNumber) };
  return sorting.isDown === Boolean(one.isNumber) ? { column, isDown: !sorting.isDown } : null;
}

function sort<T>(rows: T[], columns: Column<T>[], sorting: { column: number; isDown: boolean } | null): T[] {
  const by = sorting ? columns[sorting.column]?.by : undefined;
  if (!sorting || !by) return rows;
  const sign = sorting.isDown ? -1 : 1;
  return rows.slice().sort((a, b) => {
    const [x, y] = [by(a), by(b)];
    return sign * (typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y)));
  });
}

/** Returns which rows are near what is seen of the box. */
function useWindow(box: { current: HTMLDivElement | null }, isOn: boolean, count: number) {
  const height = density.value === "dense" ? 30 : 40;
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(900);
  useEffect(() => {
    if (!isOn || !box.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setRoom(entry.contentRect.height));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [isOn]);
  const from = Math.max(0, Math.min(count, Math.floor(top / height)) - SPARE_ROWS);
  const to = Math.min(count, Math.ceil((top + room) / height) + SPARE_ROWS);
  const onScroll = isOn ? () => setTop(box.current?.scrollTop ?? 0) : undefined;
  const reveal = (index: number) => {
    const element = box.current;
    if (!element) return;
    const [above, below] = [index * height, (index + 1) * height + 40];
    if (above < element.scrollTop) element.scrollTop = above;
    else if (below > element.scrollTop + element.clientHeight) element.scrollTop = below - element.clientHeight;
    setTop(element.scrollTop);
  };
  return { from, to, height, onScroll, reveal };
}
