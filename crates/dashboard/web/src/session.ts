// Who this page is to the gateway. The token lives in sessionStorage: cookies are shared by every port of this machine.

import { computed, signal } from "@preact/signals";

export type Scope = "view" | "act" | "edit";

export interface Session {
  token: string;
  scope: Scope;
  sessionId?: string;
  /** The user typed the token, and may do so again. */
  isTyped?: boolean;
}

const KEPT_AS = "manifold.session";

export const session = signal<Session | null>(kept());
/** Why there is no session any more, once there was one. */
export const ended = signal<string | null>(null);
/** Why the token that was typed is not taken. */
export const refusedToken = signal<string | null>(null);

export const mayAct = computed(() => session.value?.scope === "act" || session.value?.scope === "edit");
export const mayEdit = computed(() => session.value?.scope === "edit");

/** Says what a button that acts lacks, for its title; nothing where it may act. */
export const actTitle = computed(() => (mayAct.value ? undefined : "This page may only look: `manifold open --act` opens one that acts"));
export const editTitle = computed(() => (mayEdit.value ? undefined : "This page may not edit: `manifold open --edit` opens one that does"));

/** The code is on its way: the frame is drawn already, and nothing is asked for yet. */
export const isSigningIn = signal(false);

/** Takes the one-time code out of the address and trades it for a session. */
export async function signIn(): Promise<void> {
  const code = /^#code=([^&]+)/.exec(location.hash)?.[1];
  if (!code) return;
  isSigningIn.value = true;
  await trade(code);
  isSigningIn.value = false;
}

async function trade(code: string): Promise<void> {
  history.replaceState(null, "", location.pathname + location.search + "#/");
  const answer = await fetch("/v1/web/token", {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify({ code: decodeURIComponent(code) }),
    cache: "no-store",
    credentials: "omit",
  }).catch(() => null);
  if (answer?.ok) {
    take((await answer.json()) as Session);
  } else if (!session.value) {
    ended.value = answer ? "The code in the address has been used, or is older than a minute." : "The gateway does not answer.";
  }
}

/** Signs in with a token that the user has: the page of a `manifold http`, which says with each answer what it may do. */
export function useToken(token: string): void {
  take({ token, scope: "view", isTyped: true });
}

/** Notes what the gateway lets this page do, where that is not what was thought. */
export function takeScope(scope: string | null): void {
  const one = session.value;
  if (one && scope && scope !== one.scope) take({ ...one, scope: scope as Scope });
}

function take(one: Session): void {
  const { token, scope, sessionId, isTyped } = one;
  session.value = { token, scope, ...(sessionId ? { sessionId } : {}), ...(isTyped ? { isTyped } : {}) };
  sessionStorage.setItem(KEPT_AS, JSON.stringify(session.value));
  ended.value = null;
  refusedToken.value = null;
}

export function sessionEnded(why: string): void {
  sessionStorage.removeItem(KEPT_AS);
  const isTyped = session.value?.isTyped ?? false;
  session.value = null;
  if (isTyped) refusedToken.value = why;
  else ended.value ??= why;
}

function kept(): Session | null {
  try {
    const one = JSON.parse(sessionStorage.getItem(KEPT_AS) ?? "null") as Session | null;
    return one && typeof one.token === "string" ? one : null;
  } catch {
    return null;
  }
}
