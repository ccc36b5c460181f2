// The control API over fetch. Streams are read by fetch as well: an EventSource cannot send the token.

import { session, sessionEnded, takeScope } from "./session.ts";

/** Why a request was not carried out, in the words of the gateway. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint?: string,
    readonly server?: string,
  ) {
    super(message);
  }
}

export interface StreamEvent {
  id: string;
  event: string;
  /** As it was sent: whoever needs the bytes of a payload has them. */
  data: string;
}

export interface StreamOptions {
  signal?: AbortSignal;
  /** With a body the request is a POST. */
  body?: unknown;
  /** Called once the answer has begun. */
  onOpen?: (answer: Response) => void;
}

export interface RequestOptions {
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

export const api = {
  get: <T>(path: string, options?: RequestOptions) => json<T>("GET", path, undefined, options),
  post: <T>(path: string, body: unknown = {}, options?: RequestOptions) => json<T>("POST", path, body, options),
  put: <T>(path: string, body: unknown, options?: RequestOptions) => json<T>("PUT", path, body, options),
  del: <T>(path: string, options?: RequestOptions) => json<T>("DELETE", path, undefined, options),
  /** Returns the whole answer, for what is no JSON or whose headers count. */
  raw: (method: string, path: string, body?: unknown, options?: RequestOptions) => ask(method, path, body, options),
  stream,
};

async function json<T>(method: string, path: string, body: unknown, options?: RequestOptions): Promise<T> {
  const answer = await ask(method, path, body, options);
  const text = await answer.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

async function ask(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json", "Manifold-Face": "web", ...options.headers };
  if (session.value) headers.Authorization = `Bearer ${session.value.token}`;
  const init: RequestInit = { method, headers, cache: "no-store", credentials: "omit" };
  if (options.signal) init.signal = options.signal;
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    // Text is JSON already, and keeps its bytes: the arguments of a call, as they were typed.
    init.body = typeof body === "string" ? body : JSON.stringify(body);
  }
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The gateway does not answer", "`manifold status` says whether it runs");
  }
  takeScope(answer.headers.get("Manifold-Scope"));
  if (answer.ok) return answer;
  throw await refusal(answer);
}

async function refusal(answer: Response): Promise<ApiError> {
  const text = await answer.text().catch(() => "");
  let said: { code?: string; message?: string; hint?: string; server?: { id: string } } = {};
  try {
    said = (JSON.parse(text) as { error?: typeof said }).error ?? {};
  } catch {
    // Something between us and the gateway answered: its status is all there is to say.
  }
  const message = said.message ?? `The gateway answered ${answer.status} ${answer.statusText}`.trim();
  const error = new ApiError(answer.status, said.code ?? "other", message, said.hint, said.server?.id);
  // A server that wants a sign-in answers 401 as well; that is no end of the page's session.
  if (answer.status === 401 && error.code !== "sign-in") sessionEnded(error.message);
  return error;
}

/** Reads a stream of events until it ends, or throws why it broke off. */
async function stream(path: string, onEvent: (event: StreamEvent) => void, options: StreamOptions = {}): Promise<void> {
  const { signal, body, onOpen } = options;
  const asked: RequestOptions = { headers: { Accept: "text/event-stream" } };
  if (signal) asked.signal = signal;
  const answer = await ask(body === undefined ? "GET" : "POST", path, body, asked);
  onOpen?.(answer);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  const feed = eventReader(onEvent);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    feed(value);
  }
}

/** Returns what cuts text, as it comes, into events. */
export function eventReader(onEvent: (event: StreamEvent) => void): (text: string) => void {
  let rest = "";
  let id = "";
  let event = "";
  let data: string[] = [];
  const line = (text: string) => {
    if (text === "") {
      if (data.length > 0) onEvent({ id, event: event || "message", data: data.join("\n") });
      event = "";
      data = [];
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id") id = value;
  };
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const one of lines) line(one.endsWith("\r") ? one.slice(0, -1) : one);
  };
}
