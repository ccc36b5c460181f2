// The frames that are kept, and the rows made of them: all frames of one call, on both hops, are one row. Plain objects and
// no signals, since a thousand of them come in a second; who draws looks when it draws.

import { find, parse, rawOf } from "../../json/text.ts";

export interface Frame {
  n: number;
  t: number;
  hop: string;
  dir: string;
  kind: string;
  bytes: number;
  client?: { id?: number; name?: string | null; version?: string | null } | null;
  namespace?: string | null;
  server?: string | null;
  method?: string | null;
  tool?: string | null;
  call?: number | null;
  parent?: number | null;
  status?: string | null;
  code?: number | null;
  took?: number | null;
  text?: string | null;
  cut?: number | null;
  redacted?: boolean;
  /** The whole frame as it came; empty once it takes too much room. */
  raw: string;
}

export interface Row {
  /** Its place among all rows ever made. */
  number: number;
  call: number | undefined;
  frames: Frame[];
  start: number;
  what: string;
  /** What kind of frame it is, where it belongs to no call. */
  kind: string;
  client: string;
  server: string;
  status: string;
  bytes: number;
  /** When each hop began and how long it took, in nanoseconds; only once it has ended. */
  clientHop?: { from: number; took: number };
  serverHop?: { from: number; took: number };
  isPinned: boolean;
}

export const FRAMES_KEPT = 5000;
const RAW_KEPT = 16_000_000;

export class TrafficLog {
  private frames: { frame: Frame; row: Row }[] = [];
  private framesFrom = 0;
  private byCall = new Map<number, Row>();
  private rawLength = 0;
  private rawFrom = 0;
  private made = 0;
  /** From the oldest on; those before `from` are gone. */
  rows: Row[] = [];
  from = 0;
  seen = 0;
  lost = 0;
  /** How many rows have gone for want of room. */
  dropped = 0;

  get count(): number {
    return this.rows.length - this.from;
  }

  at(index: number): Row | undefined {
    return this.rows[this.from + index];
  }

  get oldest(): Frame | undefined {
    return this.frames[this.framesFrom]?.frame;
  }

  shown(): Row[] {
    return this.rows.slice(this.from);
  }

  /** Leaves out rows that do not fit; their frames stay, for whoever looks back. */
  narrow(fits: (row: Row) => boolean): void {
    this.rows = this.shown().filter(fits);
    this.from = 0;
  }

  clear(): void {
    Object.assign(this, { frames: [], framesFrom: 0, byCall: new Map(), rawLength: 0, rawFrom: 0, rows: [], from: 0, dropped: 0 });
  }

  /** Another gateway counts its calls from the beginning: none of its frames is part of an older row. */
  newEpoch(): void {
    this.byCall.clear();
  }

  add(raw: string): void {
    const frame = JSON.parse(raw) as Frame & { body?: unknown; base64?: unknown };
    // Bodies are read from the text when somebody looks at one.
    delete frame.body;
    delete frame.base64;
    if (frame.method && frame.text) delete frame.text;
    frame.raw = raw;
    this.seen++;
    const row = this.rowOf(frame);
    row.frames.push(frame);
    tell(row, frame);
    this.frames.push({ frame, row });
    this.rawLength += raw.length;
    if (this.frames.length - this.framesFrom > FRAMES_KEPT) this.evict();
    for (; this.rawLength > RAW_KEPT && this.rawFrom < this.frames.length; this.rawFrom++) {
      const old = this.frames[this.rawFrom]?.frame;
      if (old && this.rawFrom >= this.framesFrom) this.forget(old);
    }
  }

  private rowOf(frame: Frame): Row {
    const call = frame.parent ?? frame.call ?? undefined;
    const known = call === undefined ? undefined : this.byCall.get(call);
    if (known) return known;
    const row: Row = { number: this.made++, call, frames: [], start: frame.t, what: "", kind: frame.kind, client: "", server: "", status: "", bytes: 0, isPinned: false };
    if (call !== undefined) this.byCall.set(call, row);
    this.rows.push(row);
    return row;
  }

  private forget(frame: Frame): void {
    this.rawLength -= frame.raw.length;
    frame.raw = "";
  }

  private evict(): void {
    const oldest = this.frames[this.framesFrom++];
    if (!oldest) return;
    const { frame, row } = oldest;
    // A pinned row is kept whole, beside the others.
    if (row.isPinned) this.rawLength -= frame.raw.length;
    else {
      this.forget(frame);
      row.frames.shift();
    }
    if (row.call !== undefined && (row.frames.length === 0 || row.frames.at(-1) === frame)) this.byCall.delete(row.call);
    for (let first = this.rows[this.from]; first && this.isGone(first); first = this.rows[this.from]) {
      this.from++;
      this.dropped++;
    }
    if (this.framesFrom > FRAMES_KEPT) {
      this.frames = this.frames.slice(this.framesFrom);
      this.rawFrom = Math.max(0, this.rawFrom - this.framesFrom);
      this.framesFrom = 0;
      this.rows = this.rows.slice(this.from);
      this.from = 0;
    }
  }

  private isGone(row: Row): boolean {
    return row.frames.length === 0 || (row.isPinned && (row.frames.at(-1)?.n ?? 0) < (this.oldest?.n ?? 0));
  }
}

/** Takes over what a frame says of its row. */
function tell(row: Row, frame: Frame): void {
  const isClient = frame.hop === "client";
  const name = frame.tool ?? frame.method;
  // The name that clients know is the row's; the server's own stands in the frames.
  if (name && (isClient || !row.what)) row.what = name;
  else if (!row.what) row.what = (frame.text ?? "").slice(0, 400);
  if (frame.client?.name) row.client = frame.client.name;
  if (frame.server) row.server = frame.server;
  const isEnd = frame.took !== undefined && frame.took !== null;
  if (isEnd) {
    const hop = { from: frame.t - (frame.took ?? 0), took: frame.took ?? 0 };
    if (isClient) row.clientHop = hop;
    else if (!row.serverHop || hop.took > row.serverHop.took) row.serverHop = hop;
  }
  if (frame.status && (isClient || !row.clientHop)) row.status = frame.status + (frame.code ? ` ${frame.code}` : "");
  else if (row.status === "" && frame.kind === "request") row.status = "pending";
  else if (frame.kind === "http" && frame.code) row.status = String(frame.code);
  if (isEnd ? isClient || !row.clientHop : row.bytes === 0) row.bytes = frame.bytes;
}

/** Returns how long the row took, in nanoseconds. */
export function tookOf(row: Row): number | undefined {
  return (row.clientHop ?? row.serverHop)?.took;
}

/** Returns the message of a frame as it was, or its text. */
export function bodyOf(frame: Frame): { json: string } | { text: string } | null {
  if (frame.raw === "") return null;
  const { root } = parse(frame.raw);
  const body = find(root, ["body"]);
  if (body) return { json: rawOf(frame.raw, body) };
  const text = find(root, ["text"]) ?? find(root, ["base64"]);
  return text ? { text: JSON.parse(rawOf(frame.raw, text)) as string } : null;
}

/** Returns the request or the answer of a row, on the hop that is the client's where there is one. */
export function messageOf(row: Row, kind: "request" | "answer"): string | undefined {
  const fits = (frame: Frame) => (kind === "request" ? frame.kind === "request" : frame.kind === "response" || frame.kind === "error");
  const frame = row.frames.findLast((one) => fits(one) && one.hop === "client") ?? row.frames.findLast(fits);
  const body = frame && bodyOf(frame);
  return body && "json" in body ? body.json : undefined;
}

/** Returns what can be called again: the tool as clients know it, and its arguments as they were sent. */
export function callOf(row: Row): { tool: string; text: string } | undefined {
  const request = row.frames.find((one) => one.kind === "request" && one.hop === "client" && one.method === "tools/call");
  const body = request && bodyOf(request);
  if (!request?.tool || !body || !("json" in body)) return undefined;
  const given = find(parse(body.json).root, ["params", "arguments"]);
  return { tool: request.tool, text: given ? rawOf(body.json, given) : "{}" };
}
