// The small parts: badges of states, empty pages, skeletons, bars, and things to press.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../api.ts";
import { actTitle, editTitle } from "../session.ts";
import type { State } from "../types.ts";
import { toast } from "./toast.tsx";

/** Returns the sign, the word and the colour of a state: the terminal's. */
export function stateLook(state: State, isUnresponsive = false): [string, string, string] {
  switch (state) {
    case "ready":
      return isUnresponsive ? ["◌", "silent", "busy"] : ["●", "ready", "good"];
    case "starting":
      return ["◐", "starting", "busy"];
    case "failed":
      return ["✗", "failed", "bad"];
    case "idle":
      return ["○", "idle", "faint"];
    case "stopped":
      return ["■", "stopped", "soft"];
    case "disabled":
      return ["–", "disabled", "faint"];
    case "needs-login":
      return ["?", "sign in", "busy"];
    default:
      return ["?", "unknown", "faint"];
  }
}

export function StateMark({ state, silent = false }: { state: State; silent?: boolean | undefined }) {
  const [sign, word, tone] = stateLook(state, silent);
  return (
    <span class={`state ${tone}`}>
      <i aria-hidden="true">{sign}</i>
      {word}
    </span>
  );
}

export function Badge({ tone = "", children }: { tone?: string; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A page or a list with nothing in it: what that means, and the next step. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Rows as high as those that will come. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div aria-hidden="true">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} class="skeleton-row">
          <span class="skeleton" style={{ inlineSize: `${55 + ((index * 29) % 35)}%` }} />
        </div>
      ))}
    </div>
  );
}

/** A part of a whole. The number stands beside it, so it is no news to who cannot see it. */
export function Bar({ share }: { share: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <i style={{ inlineSize: `${Math.max(0, Math.min(1, share)) * 100}%` }} />
    </span>
  );
}

export function Card({ title, side, children, flush = false }: { title: ComponentChildren; side?: ComponentChildren; children: ComponentChildren; flush?: boolean }) {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {side}
      </header>
      {flush ? children : <div class="body">{children}</div>}
    </section>
  );
}

type ButtonProps = Omit<JSX.IntrinsicElements["button"], "onClick" | "class"> & {
  /** What happens; while it does the button waits, and what goes wrong is said. */
  run: () => unknown;
  /** What the page must be allowed for it. */
  needs?: "act" | "edit";
  look?: string;
};

export function Button({ run, needs, look = "", children, disabled, title, ...rest }: ButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const lacks = needs === "act" ? actTitle.value : needs === "edit" ? editTitle.value : undefined;
  const press = async () => {
    setBusy(true);
    try {
      await run();
    } catch (error) {
      said(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button type="button" {...rest} class={`button ${look}`} disabled={Boolean(disabled) || isBusy || lacks !== undefined} title={lacks ?? title} aria-busy={isBusy || undefined} onClick={() => void press()}>
      {children}
    </button>
  );
}

/** Says what went wrong, and what to do next. */
export function said(error: unknown): void {
  const hint = error instanceof ApiError && error.hint ? ` → ${error.hint}` : "";
  toast(`${error instanceof Error ? error.message : String(error)}${hint}`, true);
}

/** The text with what stands between backquotes as code. */
export function Prose({ text }: { text: string }) {
  return <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}
