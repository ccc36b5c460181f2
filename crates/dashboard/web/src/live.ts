// Keeps the store up to date: one snapshot, then one stream of events from there on.
//
// A browser has six connections to one origin over all its tabs. So a tab that nobody sees has no stream, and only so
// many tabs have one at a time: the others ask for the snapshot now and then.

import { effect, signal } from "@preact/signals";
import { api, ApiError } from "./api.ts";
import { session } from "./session.ts";
import { about, audit, link, now, takeEvent, takeSnapshot } from "./store.ts";
import { Tries } from "./tries.ts";
import type { About, AuditLine, Event, Snapshot } from "./types.ts";

const TOPICS = "server,catalog,client,config,audit,daemon,call,recording";
const STREAMS = 3;
const POLL_MS = 2000;
const FIGURES_MS = 5000;

/** How many parts of the page want the lines that servers write. */
export const logReaders = signal(0);

/** The place up to which the store knows everything. */
let cursor: string | undefined;
let isRunning = false;
let wake = () => {};
let current = new AbortController();
/** There were calls since the snapshot was read: they change figures of servers that no event tells of. */
let hasCalls = false;

/** Starts to follow the gateway, and goes on until the session ends. */
export function follow(): void {
  effect(() => {
    if (session.value && !isRunning) void run();
  });
  let topics = "";
  effect(() => {
    // Other topics want another stream, which goes on where this one was.
    const wanted = topicsNow();
    if (topics && topics !== wanted) interrupt();
    topics = wanted;
  });
  setInterval(() => {
    if (hasCalls && !document.hidden && link.value === "live") void refresh(current.signal).catch(() => {});
    hasCalls = false;
  }, FIGURES_MS);
  document.addEventListener("visibilitychange", interrupt);
  addEventListener("online", interrupt);
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 1000);
}

/** Returns once a stream of this name may be opened, with what gives it back; `null` if all are taken by other tabs. */
export async function takeSlot(name: string, count: number): Promise<(() => void) | null> {
  if (!navigator.locks) return () => {};
  for (let slot = 0; slot < count; slot++) {
    const release = await tryLock(`manifold-${name}-${slot}`);
    if (release) return release;
  }
  return null;
}

function tryLock(name: string): Promise<(() => void) | null> {
  return new Promise((resolve) => {
    void navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      if (!lock) return resolve(null);
      return new Promise<void>((release) => resolve(() => release()));
    });
  });
}

function topicsNow(): string {
  return logReaders.value > 0 ? `${TOPICS},log` : TOPICS;
}

/** Ends whatever is waited for, so that the loop below looks anew. */
function interrupt(): void {
  current.abort();
  wake();
}

async function run(): Promise<void> {
  isRunning = true;
  const tries = new Tries();
  while (session.value) {
    if (document.hidden) {
      await pause(null);
      continue;
    }
    current = new AbortController();
    const { signal: stop } = current;
    tries.begin();
    try {
      if (!cursor) await refresh(stop);
      await once(stop, () => {
        link.value = "live";
      });
    } catch (error) {
      // A gateway that does not know the cursor says so by an event; one that refuses it is another one.
      if (error instanceof ApiError && error.status >= 400) cursor = undefined;
    }
    if (!session.value) break;
    if (stop.aborted) continue;
    link.value = "reconnecting";
    await pause(tries.wait());
  }
  isRunning = false;
  cursor = undefined;
}

/** Streams, or asks once and waits where other tabs have all the streams. */
async function once(stop: AbortSignal, isLive: () => void): Promise<void> {
  const release = await takeSlot("events", STREAMS);
  if (!release) {
    cursor = undefined;
    await refresh(stop);
    isLive();
    await pause(POLL_MS);
    current.abort();
    return;
  }
  try {
    const query = new URLSearchParams({ topics: topicsNow(), ...(cursor ? { after: cursor } : {}) });
    let stale = false;
    await api.stream(
      `/v1/events?${query}`,
      (message) => {
        if (message.id) cursor = message.id;
        if (message.event === "cursor") return;
        hasCalls ||= message.event === "call";
        if (!takeEvent(JSON.parse(message.data) as Event) || stale) return;
        // However many events say so, the snapshot is read once for all of them.
        stale = true;
        setTimeout(() => {
          stale = false;
          void refresh(stop).catch(() => current.abort());
        }, 50);
      },
      { signal: stop, onOpen: isLive },
    );
  } finally {
    release();
  }
}

async function refresh(stop: AbortSignal): Promise<void> {
  const snapshot = await api.get<Snapshot>("/v1/snapshot", { signal: stop });
  takeSnapshot(snapshot);
  cursor ??= snapshot.at;
  about.value = await api.get<About>("/v1/about", { signal: stop });
  if (audit.value.length === 0) {
    const lines = await api.get<AuditLine[]>("/v1/audit?lines=20", { signal: stop }).catch(() => []);
    audit.value = lines.slice().reverse();
  }
}

/** Waits, until somebody interrupts where no time is given. */
function pause(ms: number | null): Promise<void> {
  return new Promise((resolve) => {
    wake = resolve;
    if (ms !== null) setTimeout(resolve, ms);
  });
}
