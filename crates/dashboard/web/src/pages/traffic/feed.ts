// The stream of frames while somebody looks: closed when the page is hidden, taken up again where it was, and filtered by the
// gateway.

import { signal } from "@preact/signals";
import { api, ApiError } from "../../api.ts";
import { takeSlot } from "../../live.ts";
import { mayAct } from "../../session.ts";
import { Tries } from "../../tries.ts";
import { TrafficLog } from "./log.ts";
import { mayFit } from "./narrow.ts";

export type FeedState = { is: "asking" } | { is: "open" } | { is: "broken" } | { is: "missing" } | { is: "refused"; why: string };

const DRAWN_EVERY_MS = 200;
/** How many tabs have a stream of traffic at once: connections are few, and shared by all tabs. */
const STREAMS = 1;
const POLL_MS = 2000;
const LOOK_MS = 400;
const HELD_KEPT = 5000;

export class Feed {
  readonly log = new TrafficLog();
  readonly state = signal<FeedState>({ is: "asking" });
  /** Grows when there is something new to draw. */
  readonly version = signal(0);
  readonly isPaused = signal(false);
  private filter = "";
  private held: string[] = [];
  private heldLost = 0;
  private cursor = "";
  private stop: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private drawing: ReturnType<typeof setTimeout> | undefined;
  private drawnAt = 0;
  private tries = new Tries();
  private isOn = false;
  private isNarrowed = false;
  /** Gives the place of this tab among those that stream to another; kept while it is looked at, whatever is asked for. */
  private release: (() => void) | null = null;

  get heldCount(): number {
    return this.held.length + this.heldLost;
  }

  start(filter: string): void {
    this.isOn = true;
    this.filter = filter;
    document.addEventListener("visibilitychange", this.looked);
    this.open();
  }

  end(): void {
    this.isOn = false;
    document.removeEventListener("visibilitychange", this.looked);
    this.leave();
    clearTimeout(this.drawing);
    this.drawing = undefined;
  }

  /** Leaves out at once what does not fit; the gateway is asked when nobody types any more. */
  narrow(filter: string): void {
    if (filter === this.filter && !this.isNarrowed) return;
    this.isNarrowed = true;
    this.log.narrow(mayFit(filter));
    this.version.value++;
  }

  /** Shows what fits another filter, from the oldest frame on that is still kept. */
  refilter(filter: string): void {
    if (filter === this.filter && !this.isNarrowed) return;
    this.isNarrowed = false;
    const oldest = this.firstCursor();
    this.filter = filter;
    this.log.clear();
    this.held = [];
    this.heldLost = 0;
    this.cursor = oldest;
    this.tries = new Tries();
    this.close();
    this.open();
    // What comes back is shown at once.
    this.drawnAt = 0;
  }

  pause(isPaused: boolean): void {
    this.isPaused.value = isPaused;
    if (isPaused) return;
    this.log.lost += this.heldLost;
    for (const raw of this.held) this.log.add(raw);
    this.held = [];
    this.heldLost = 0;
    this.draw();
  }

  clear(): void {
    this.log.clear();
    this.origin = this.cursor;
    this.draw();
  }

  /** Where the frames of this look began; a filter that is changed looks back so far. */
  private origin = "";

  private firstCursor(): string {
    const oldest = this.log.oldest;
    const epoch = this.cursor.replace(/-\d+$/, "");
    if (this.filter === "" && oldest && epoch) return `${epoch}-${oldest.n - 1}`;
    return this.origin.startsWith(`${epoch}-`) ? this.origin : this.cursor;
  }

  private looked = () => {
    if (document.hidden) this.leave();
    else if (this.isOn && !this.stop) this.open();
  };

  private close(): void {
    clearTimeout(this.timer);
    this.stop?.abort();
    this.stop = undefined;
  }

  private leave(): void {
    this.close();
    this.release?.();
    this.release = null;
  }

  private open(): void {
    this.close();
    if (document.hidden) return;
    const stop = new AbortController();
    this.stop = stop;
    this.tries.begin();
    if (this.release) return this.read(stop);
    void takeSlot("traffic", STREAMS).then((release) => {
      if (stop.signal.aborted) return release?.();
      this.release = release;
      this.read(stop);
    });
  }

  /** Reads until it is stopped. Where other tabs have all the streams it only looks in, again and again. */
  private read(stop: AbortController): void {
    const query = new URLSearchParams();
    if (this.filter) query.set("filter", this.filter);
    if (this.cursor) query.set("after", this.cursor);
    if (mayAct.value) query.set("bodies", "1");
    const lookLater = () => {
      if (this.stop !== stop) return;
      this.close();
      this.timer = setTimeout(() => this.open(), POLL_MS);
    };
    const opened = () => {
      this.state.value = { is: "open" };
      if (!this.release) setTimeout(lookLater, LOOK_MS);
    };
    api
      .stream(`/v1/traffic?${query}`, (event) => this.stop === stop && this.heard(event.event, event.id, event.data), { signal: stop.signal, onOpen: opened })
      .then(() => this.broke(stop))
      .catch((error: unknown) => this.broke(stop, error));
  }

  private broke(stop: AbortController, error?: unknown): void {
    if (stop.signal.aborted || this.stop !== stop) return;
    this.stop = undefined;
    if (error instanceof ApiError && error.status === 400) {
      this.state.value = { is: "refused", why: error.message };
      return;
    }
    if (error instanceof ApiError && [404, 405, 501].includes(error.status)) {
      this.state.value = { is: "missing" };
      return;
    }
    this.state.value = { is: "broken" };
    this.timer = setTimeout(() => this.open(), this.tries.wait());
  }

  private heard(event: string, id: string, data: string): void {
    if (id) {
      if (this.cursor && !id.startsWith(this.cursor.replace(/\d+$/, ""))) {
        this.log.newEpoch();
        this.origin = id;
      }
      this.origin ||= id;
      this.cursor = id;
    }
    if (event === "frame") {
      if (!this.isPaused.value) this.log.add(data);
      else if (this.held.push(data) > HELD_KEPT) {
        this.held.splice(0, HELD_KEPT / 10);
        this.heldLost += HELD_KEPT / 10;
      }
    } else if (event === "gap") {
      this.log.lost += (JSON.parse(data) as { gap: number }).gap;
    } else return;
    this.draw();
  }

  /** Has it drawn with the next frame of the screen, and not more often than an eye follows. */
  private draw(): void {
    if (this.drawing || !this.isOn) return;
    this.drawing = setTimeout(
      () =>
        requestAnimationFrame((now) => {
          this.drawing = undefined;
          this.drawnAt = now;
          if (this.isOn) this.version.value++;
        }),
      Math.max(0, this.drawnAt + DRAWN_EVERY_MS - performance.now()),
    );
  }
}
