// One call from the page: what happens meanwhile, what the server asks, and how it ended. The arguments and the result keep
// their bytes.

import { signal, type Signal } from "@preact/signals";
import { api, ApiError } from "../../api.ts";
import { find, parse, rawOf } from "../../json/text.ts";

export interface Question {
  id: string;
  server?: string;
  method: string;
  params: Record<string, unknown>;
}

export type Outcome = { is: "result"; raw: string } | { is: "error"; message: string; hint?: string | undefined } | { is: "cancelled" };

export interface Run {
  tool: string;
  namespace: string;
  text: string;
  startedAt: number;
  tookMs?: number;
  progress?: { done: number; total?: number; message?: string };
  questions: Question[];
  outcome?: Outcome;
}

/** The calls of this tab, the newest first; they go with it. */
export const runs: Signal<Run[]> = signal([]);
const RUNS_KEPT = 30;

/** Arguments that another page has for a tool: it is opened with them. */
export const handed = new Map<string, string>();

export interface Running {
  run: Signal<Run>;
  cancel: () => void;
}

export function begin(tool: string, namespace: string, text: string): Running {
  const run = signal<Run>({ tool, namespace, text, startedAt: performance.now(), questions: [] });
  const stop = new AbortController();
  const change = (part: Partial<Run>) => {
    run.value = { ...run.value, ...part };
  };
  const end = (outcome: Outcome) => {
    if (run.value.outcome) return;
    change({ outcome, questions: [], tookMs: performance.now() - run.value.startedAt });
    runs.value = [run.value, ...runs.value].slice(0, RUNS_KEPT);
  };
  const members = [`"name":${JSON.stringify(tool)}`, `"arguments":${text}`, `"answersQuestions":true`];
  if (namespace) members.push(`"namespace":${JSON.stringify(namespace)}`);
  const heard = (event: string, data: string) => {
    if (event === "result") {
      const node = find(parse(data).root, ["result"]);
      end({ is: "result", raw: node ? rawOf(data, node) : "null" });
      return;
    }
    const said = JSON.parse(data) as Record<string, unknown>;
    if (event === "progress") change({ progress: progressOf(said.params) });
    else if (event === "question") change({ questions: [...run.value.questions, questionOf(said)] });
    else if (event === "withdrawn") change({ questions: run.value.questions.filter((one) => one.id !== String(said.id)) });
    else if (event === "error") end(errorOf(said.error));
  };
  api
    .stream("/v1/call", ({ event, data }) => heard(event, data), { body: `{${members.join(",")}}`, signal: stop.signal })
    .then(() => end({ is: "error", message: "The gateway ended the call without an answer", hint: "call again" }))
    .catch((error: unknown) => {
      if (stop.signal.aborted) end({ is: "cancelled" });
      else end({ is: "error", message: error instanceof Error ? error.message : String(error), hint: error instanceof ApiError ? error.hint : undefined });
    });
  return { run, cancel: () => stop.abort() };
}

function progressOf(params: unknown): { done: number; total?: number; message?: string } {
  const { progress, total, message } = (params ?? {}) as { progress?: number; total?: number; message?: string };
  return { done: Number(progress) || 0, ...(typeof total === "number" ? { total } : {}), ...(typeof message === "string" ? { message } : {}) };
}

function questionOf(said: Record<string, unknown>): Question {
  const server = said.server as { id?: string } | string | undefined;
  const name = typeof server === "string" ? server : server?.id;
  return { id: String(said.id), method: String(said.method), params: (said.params ?? {}) as Record<string, unknown>, ...(name ? { server: name } : {}) };
}

function errorOf(error: unknown): Outcome {
  const { message, hint } = (error ?? {}) as { message?: string; hint?: string };
  return { is: "error", message: message ?? "The call failed", hint };
}

/** Answers a question; without a result it is declined. */
export async function answer(running: Running, question: Question, result?: string): Promise<void> {
  await api.post(`/v1/questions/${encodeURIComponent(question.id)}`, result === undefined ? {} : `{"result":${result}}`);
  const { run } = running;
  run.value = { ...run.value, questions: run.value.questions.filter((one) => one.id !== question.id) };
}
