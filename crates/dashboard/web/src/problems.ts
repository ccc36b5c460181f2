// What is wrong now: with servers, with the config, with the gateway; each with what mends it. The terminal's words.

import { computed } from "@preact/signals";
import { about, broken, config, type Heard, servers } from "./store.ts";
import type { Problem, Server } from "./types.ts";
import { serverKey } from "./types.ts";

export type Mend = "restart" | "logs" | "config" | "login" | "recordings";

export interface Wrong {
  /** A server's key, `config`, `recording` or `gateway`. */
  whose: string;
  server?: Heard<Server>;
  isError: boolean;
  what: string;
  hint?: string;
  mend?: Mend;
  line?: number;
}

/** All that is wrong, what stops something from working first. */
export const problems = computed<Wrong[]>(() => {
  const found: Wrong[] = [];
  const source = config.value;
  const hint = "correct the file; it is read anew when it changes";
  if (source?.unread) found.push({ whose: "config", isError: true, what: `the config cannot be used, and nothing is served: ${source.unread}`, hint, mend: "config" });
  if (source?.refused) found.push({ whose: "config", isError: true, what: `the config was changed and not taken over: ${source.refused}`, hint, mend: "config" });
  for (const server of servers.value ?? []) found.push(...ofServer(server));
  // The config and the server it is about both tell of one thing; it is said once.
  const ofServers = new Set((servers.value ?? []).filter((one) => one.state !== "disabled").flatMap((one) => (one.problems ?? []).map((each) => each.what)));
  for (const problem of source?.problems ?? []) if (!ofServers.has(problem.what)) found.push(ofConfig(problem));
  for (const one of broken.value) found.push({ whose: "recording", isError: true, what: `the recording '${one.name}' has ended by itself: ${one.problem}`, mend: "recordings" });
  const fault = about.value?.auditFault;
  if (fault) found.push({ whose: "gateway", isError: false, what: `changes are not written down: ${fault}` });
  return found.sort((a, b) => Number(b.isError) - Number(a.isError));
});

function ofServer(server: Heard<Server>): Wrong[] {
  if (server.state === "disabled") return [];
  const whose = serverKey(server);
  const found: Wrong[] = [];
  const error = server.fault ?? server.error;
  if (error) {
    const mend: Mend = server.fault ? "config" : server.state === "needs-login" ? "login" : server.state === "failed" || server.state === "stopped" ? "restart" : "logs";
    const line = lineOf(server);
    found.push({ whose, server, isError: true, what: error.text, ...(error.hint ? { hint: error.hint } : {}), mend, ...(line ? { line } : {}) });
  } else if (server.state === "needs-login") {
    found.push({ whose, server, isError: true, what: "it wants to know who asks, and nobody has signed in", mend: "login" });
  } else if (server.unresponsive) {
    found.push({ whose, server, isError: false, what: "it runs and gives no sign of life", mend: "restart" });
  }
  for (const problem of server.problems ?? []) if (!server.fault || problem.severity !== "error") found.push({ ...ofConfig(problem), whose, server, what: problem.what });
  return found;
}

/** Returns the line of the config that is about this server, where something is wrong with it. */
function lineOf(server: Server): number | undefined {
  return config.value?.problems.find((one) => one.line && one.place.split(".")[1] === server.id)?.line ?? undefined;
}

function ofConfig(problem: Problem): Wrong {
  return {
    whose: "config",
    isError: problem.severity === "error",
    what: problemText(problem),
    ...(problem.hint ? { hint: problem.hint } : {}),
    mend: "config",
    ...(problem.line ? { line: problem.line } : {}),
  };
}

/** Returns `line 12, servers.old: has both …`. */
export function problemText(problem: Problem): string {
  const place = problem.line ? `line ${problem.line}${problem.place ? `, ${problem.place}` : ""}: ` : problem.place ? `${problem.place}: ` : "";
  return place + problem.what;
}
