// What servers write beside the protocol.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { clock, counted } from "../format.ts";
import { logReaders } from "../live.ts";
import { href, route, setQuery } from "../router.ts";
import { logs, servers } from "../store.ts";
import type { LogLine } from "../types.ts";
import { serverKey } from "../types.ts";
import { Button, Empty } from "../ui/basics.tsx";
import { Filter, fits } from "../ui/filter.tsx";
import { Lines } from "../ui/lines.tsx";

const LEVELS = ["", "error", "warn"] as const;

export function Logs() {
  const { query } = route.value;
  const [filter, server, level] = [query.get("q") ?? "", query.get("server") ?? "", query.get("level") ?? ""];
  useLogs(servers.value?.map(serverKey) ?? []);
  const shown = logs.value.filter((one) => (!server || one.server === server) && levelFits(level, one.line) && fits(filter, one.line, one.server));
  const change = (next: Record<string, string>) => setQuery({ q: filter, server, level, ...next });
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Logs <span class="faint">{counted(shown.length, "line")}</span>
        </h1>
        <select class="select" aria-label="Server" value={server} onChange={(event) => change({ server: event.currentTarget.value })}>
          <option value="">all servers</option>
          {(servers.value ?? []).map((one) => (
            <option key={serverKey(one)} value={serverKey(one)}>
              {serverKey(one)}
            </option>
          ))}
        </select>
        <select class="select" aria-label="Level" value={level} onChange={(event) => change({ level: event.currentTarget.value })}>
          {LEVELS.map((one) => (
            <option key={one} value={one}>
              {one === "" ? "every level" : one === "warn" ? "warnings and errors" : "errors"}
            </option>
          ))}
        </select>
        <Filter label="Filter lines" value={filter} onChange={(q) => change({ q })} />
      </div>
      <LogBox lines={shown} height="max(20rem, calc(100dvh - 12rem))" isOne={server !== ""} />
    </div>
  );
}

export function LogBox({ lines, height, isOne }: { lines: LogLine[]; height: string; isOne: boolean }) {
  const isFollowing = useSignal(true);
  return (
    <section class="card" aria-label="Lines">
      <header>
        <span class="faint small">what servers write to standard error, without secrets</span>
        <Button look="small" aria-pressed={isFollowing.value} run={() => (isFollowing.value = !isFollowing.value)}>
          Follow
        </Button>
      </header>
      {lines.length === 0 ? (
        <Empty title="No lines">
          <p>A server that writes to standard error is heard here; the protocol itself is under <a href={href("traffic")}>traffic</a>.</p>
        </Empty>
      ) : (
        <Lines
          label="Lines"
          items={lines}
          height={height}
          isFollowing={isFollowing.value}
          onFollow={(now) => (isFollowing.value = now)}
          line={(one) => (
            <>
              <span class="faint">{clock(one.time)}</span>
              {!isOne && <span class="who clip soft">{one.server ?? "manifold"}</span>}
              <span class={levelOf(one.line)}>{one.line}</span>
            </>
          )}
        />
      )}
    </section>
  );
}

/** Reads the last lines of these servers once, and has new ones sent while it is shown. */
export function useLogs(names: string[]): void {
  const isReady = names.length > 0;
  useEffect(() => {
    logReaders.value++;
    return () => void logReaders.value--;
  }, []);
  useEffect(() => {
    if (!isReady) return;
    let isWanted = true;
    void Promise.all(names.map((name) => api.get<LogLine[]>(`/v1/servers/${encodeURIComponent(name)}/logs?lines=500`).catch(() => []))).then((all) => {
      if (!isWanted) return;
      const found = all.flatMap((lines, index) => lines.map((one) => ({ ...one, server: one.server ?? names[index] ?? null })));
      const seen = new Set(found.map(identity));
      const newer = logs.value.filter((one) => !seen.has(identity(one)) && (!one.server || !names.includes(one.server) || one.time > (found.at(-1)?.time ?? "")));
      logs.value = [...found, ...newer].sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
    });
    return () => {
      isWanted = false;
    };
  }, [isReady, names.join(" ")]);
}

function identity(one: LogLine): string {
  return `${one.time} ${one.server} ${one.line}`;
}

/** Servers write as they please; a word at the head of the line is all there is to go by. */
function levelOf(line: string): string {
  const head = line.slice(0, 80);
  if (/\b(error|err|fatal|panic|critical|exception|traceback)\b/i.test(head)) return "bad";
  return /\b(warn|warning)\b/i.test(head) ? "busy" : "";
}

function levelFits(level: string, line: string): boolean {
  if (level === "") return true;
  const tone = levelOf(line);
  return tone === "bad" || (level === "warn" && tone === "busy");
}
