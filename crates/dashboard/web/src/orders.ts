// Orders to servers. Whoever stops what others use is asked first.

import { api } from "./api.ts";
import { counted } from "./format.ts";
import { clientsOf } from "./store.ts";
import type { LoginLink, Server } from "./types.ts";
import { serverKey } from "./types.ts";
import { confirm } from "./ui/dialog.tsx";
import { showLogin } from "./ui/login.tsx";
import { toast } from "./ui/toast.tsx";

export type Order = "start" | "stop" | "restart" | "enable" | "disable" | "refresh";

const DONE: Record<Order, string> = {
  start: "is started",
  stop: "is stopped",
  restart: "is started anew",
  enable: "may be used again",
  disable: "is disabled",
  refresh: "has been asked for its lists anew",
};

export function startable(server: Server): boolean {
  return server.enabled && server.state !== "ready" && server.state !== "starting";
}

export function stoppable(server: Server): boolean {
  return server.enabled && server.state !== "stopped" && server.state !== "disabled";
}

export function restartable(server: Server): boolean {
  return server.enabled;
}

/** Returns whether somebody has to sign in before it can be used. */
export function wantsSignIn(server: Server): boolean {
  const state = server.signIn?.state;
  return server.enabled && (server.state === "needs-login" || state === "login expired" || state === "needs scope");
}

/** Begins a login and shows where it is finished. */
export async function signIn(server: Server): Promise<void> {
  const key = serverKey(server);
  const link = await api.post<LoginLink>(`/v1/servers/${encodeURIComponent(key)}/login`);
  showLogin(key, link);
}

/** Returns whether there is anything to sign out of. */
export function signedIn(server: Server): boolean {
  return Boolean(server.signIn?.store || server.signIn?.until || server.signIn?.lastRefresh);
}

/** Gives up what a server was signed in to with, for all gateways of this user. */
export async function signOut(server: Server): Promise<void> {
  const key = serverKey(server);
  if (!(await confirm(`Log out of ${key}?`, "Its token is given up, and all that use it must sign in again.", "Log out"))) return;
  await api.post(`/v1/servers/${encodeURIComponent(key)}/logout`);
  toast(`${key} is logged out of`);
}

/** Gives an order and returns when it is carried out. */
export async function orderServer(server: Server, order: Order): Promise<void> {
  const key = serverKey(server);
  const users = clientsOf(server);
  if ((order === "stop" || order === "disable") && users.length > 0) {
    const names = [...new Set(users.map((one) => one.name ?? "(has not said)"))].join(", ");
    const text = `${counted(users.length, "client")} may use it: ${names}. Their calls in flight fail.`;
    const word = order === "stop" ? "Stop" : "Disable";
    if (!(await confirm(`${word} ${key}?`, text, word))) return;
  }
  await api.post(`/v1/servers/${encodeURIComponent(key)}/${order}`);
  toast(`${key} ${DONE[order]}`);
}
