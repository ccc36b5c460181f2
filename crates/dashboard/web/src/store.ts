// What the page knows: one snapshot, kept up to date by events. Everything on the screen is a function of these signals.

import { computed, signal } from "@preact/signals";
import { api } from "./api.ts";
import type { About, AuditLine, CallEnded, Client, ConfigSource, Event, Gateway, Items, ListedItem, LogLine, Namespace, Recording, Server, Snapshot, State } from "./types.ts";
import { serverKey } from "./types.ts";

/** A thing and when we heard of it, so that its age goes on. */
export type Heard<T> = T & { heardAt: number };

export type Link = "connecting" | "live" | "reconnecting";

export const link = signal<Link>("connecting");
export const gateway = signal<Heard<Gateway> | null>(null);
export const about = signal<About | null>(null);
export const config = signal<ConfigSource | null>(null);
export const servers = signal<Heard<Server>[] | null>(null);
export const namespaces = signal<Namespace[] | null>(null);
export const clients = signal<Heard<Client>[] | null>(null);
/** The last changes anybody made, the newest first. */
export const audit = signal<AuditLine[]>([]);
/** Grows when lists of tools may have changed. */
export const catalogChanges = signal(0);
/** Recordings that ended by themselves while this page looked. */
export const broken = signal<Recording[]>([]);
/** Grows when a recording may have begun or ended. */
export const recordingChanges = signal(0);
/** The time, once a second. */
export const now = signal(Date.now());

/** The last lines of servers, the oldest first; filled only while somebody looks. */
export const logs = signal<LogLine[]>([]);
const LOGS_KEPT = 5000;

/** When a server came into which state, as far as this page has seen it; the newest first. */
export const histories = signal<Map<string, { state: State; at: number }[]>>(new Map());
const HISTORY_KEPT = 20;

export const toolCount = computed(() => (servers.value ?? []).reduce((sum, one) => sum + (toolsOf(one) ?? 0), 0));

/** Returns how many tools a server has, or had when it was last asked. */
export function toolsOf(server: Server): number | undefined {
  return server.lists?.tools ?? server.saved?.tools ?? undefined;
}

export function serverOf(key: string): Heard<Server> | undefined {
  return servers.value?.find((one) => serverKey(one) === key);
}

/** Returns the clients that may use a server: those whose namespace has it. */
export function clientsOf(server: Server): Client[] {
  const key = serverKey(server);
  const having = new Set((namespaces.value ?? []).filter((one) => one.servers.some((each) => serverKey(each) === key)).map((one) => one.id));
  return (clients.value ?? []).filter((one) => having.has(one.namespace));
}

export function takeSnapshot(snapshot: Snapshot): void {
  const heardAt = Date.now();
  gateway.value = { ...snapshot.gateway, heardAt };
  config.value = snapshot.config;
  snapshot.servers.forEach(noteState);
  servers.value = snapshot.servers.map((one) => ({ ...one, heardAt }));
  namespaces.value = snapshot.namespaces;
  clients.value = snapshot.clients.map((one) => ({ ...one, heardAt }));
  // Lists are read anew only where there may be others: reading them may start servers.
  const lists = JSON.stringify([snapshot.config.revision, snapshot.servers.map((one) => [serverKey(one), one.enabled, one.lists])]);
  if (lists !== lastLists) catalogChanges.value++;
  lastLists = lists;
}

let lastLists = "";

/** Takes an event over. Returns whether the snapshot has to be read anew to know all of it. */
export function takeEvent(event: Event): boolean {
  const heardAt = Date.now();
  switch (event.kind) {
    case "server": {
      noteState(event.server);
      const heard = { ...event.server, heardAt };
      const key = serverKey(heard);
      const known = servers.value ?? [];
      const isKnown = known.some((one) => serverKey(one) === key);
      servers.value = isKnown ? known.map((one) => (serverKey(one) === key ? heard : one)) : [...known, heard];
      return false;
    }
    case "client": {
      const others = (clients.value ?? []).filter((one) => one.id !== event.client.id);
      const all = event.change === "left" ? others : [...others, { ...event.client, heardAt }];
      clients.value = all.sort((a, b) => a.id - b.id);
      return false;
    }
    case "catalog":
      catalogChanges.value++;
      return false;
    case "call":
      if (event.call.stage === "ended") noteCall(event.call, heardAt);
      return false;
    case "log":
      takeLogs([event.line]);
      return false;
    case "audit":
      audit.value = [event.line, ...audit.value].slice(0, 50);
      if (event.line.verb.startsWith("record")) recordingChanges.value++;
      return false;
    case "recording": {
      const { name } = event.recording;
      broken.value = broken.value.filter((one) => one.name !== name);
      // One that somebody has ended says nothing of what was wrong.
      if (event.change === "stopped" && event.recording.problem) broken.value = [...broken.value, event.recording];
      recordingChanges.value++;
      return false;
    }
    case "config":
    case "reset":
      return true;
    default:
      return false;
  }
}

function noteState(server: Server): void {
  const key = serverKey(server);
  const known = histories.value.get(key) ?? [];
  if (known[0]?.state === server.state) return;
  const at = Date.now() - (server.sinceMs ?? 0);
  const next = new Map(histories.value);
  next.set(key, [{ state: server.state, at }, ...known].slice(0, HISTORY_KEPT));
  histories.value = next;
}

let waiting: LogLine[] = [];

/** Takes lines over, all that come within one frame at once. */
export function takeLogs(lines: LogLine[]): void {
  if (waiting.length === 0) {
    setTimeout(() => {
      logs.value = [...logs.value, ...waiting].slice(-LOGS_KEPT);
      waiting = [];
    }, 60);
  }
  waiting.push(...lines);
}

// Calls, second by second: a minute for the lines of the overview.

export const PULSE_SECONDS = 60;

export interface Pulse {
  calls: number[];
  errors: number[];
  /** The slowest of each second, in microseconds. */
  slowest: number[];
}

interface Second {
  calls: number;
  errors: number;
  slowest: number;
}

const seconds = new Map<string, Map<number, Second>>();
const CALLS_KEPT = 12;
let newCalls: Heard<CallEnded>[] = [];
/** The last calls, the newest first. */
export const lastCalls = signal<Heard<CallEnded>[]>([]);

function noteCall(call: CallEnded, at: number): void {
  const second = Math.floor(at / 1000);
  const names = call.server ? ["", serverKey(call.server)] : [""];
  for (const name of names) {
    const row = seconds.get(name) ?? new Map<number, Second>();
    seconds.set(name, row);
    const one = row.get(second) ?? { calls: 0, errors: 0, slowest: 0 };
    row.set(second, {
      calls: one.calls + 1,
      errors: one.errors + (call.outcome === "ok" || call.outcome === "cancelled" ? 0 : 1),
      slowest: Math.max(one.slowest, call.tookUs),
    });
    if (row.size > 2 * PULSE_SECONDS) {
      for (const key of row.keys()) if (key < second - PULSE_SECONDS) row.delete(key);
    }
  }
  if (call.server && call.tool) {
    const before = seenOf(call.server.id, call.tool);
    seen.set(`${call.server.id} ${call.tool}`, { calls: before.calls + 1, bytes: before.bytes + (call.responseBytes ?? 0) });
  }
  // A thousand calls a second are drawn some times a second.
  if (newCalls.length === 0) {
    setTimeout(() => {
      lastCalls.value = [...newCalls.reverse(), ...lastCalls.value].slice(0, CALLS_KEPT);
      newCalls = [];
    }, 120);
  }
  newCalls = [...newCalls.slice(-CALLS_KEPT), { ...call, heardAt: at }];
}

const seen = new Map<string, { calls: number; bytes: number }>();

/** Returns how often a tool was called since this page was opened, by the server's own name for it, and how much it answered. */
export function seenOf(server: string, tool: string): { calls: number; bytes: number } {
  return seen.get(`${server} ${tool}`) ?? { calls: 0, bytes: 0 };
}

/** Returns the last minute of a server, or of all where none is named, the newest last. */
export function pulseOf(name = ""): Pulse {
  const row = seconds.get(name);
  const last = Math.floor(now.value / 1000);
  const each = Array.from({ length: PULSE_SECONDS }, (_, index) => row?.get(last - PULSE_SECONDS + 1 + index));
  return {
    calls: each.map((one) => one?.calls ?? 0),
    errors: each.map((one) => one?.errors ?? 0),
    slowest: each.map((one) => one?.slowest ?? 0),
  };
}

// The tools, as clients see them. Reading them may start servers, so they are read when a page wants them.

export interface ToolList {
  items: ListedItem[];
  failed: { server: string; message: string }[];
  starting: string[];
}

const LISTS = { tools: "/v1/tools", resources: "/v1/resources", prompts: "/v1/prompts" };

/** Reads all pages of a list. */
export async function readItems(kind: keyof typeof LISTS, query: Record<string, string> = {}): Promise<ToolList> {
  const all: ToolList = { items: [], failed: [], starting: [] };
  let cursor: string | undefined;
  do {
    const asked = new URLSearchParams({ ...query, limit: "1000", ...(cursor ? { cursor } : {}) });
    const page = await api.get<Items>(`${LISTS[kind]}?${asked}`);
    all.items.push(...page.items);
    all.failed = page.failed ?? all.failed;
    all.starting = page.starting ?? all.starting;
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
  return all;
}
