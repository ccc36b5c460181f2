// A filter as far as the page can tell by itself, at once, until the gateway has answered: of the words of the language those
// that are plain. It leaves out what certainly does not fit, and leaves all doubt to the gateway.

import type { Frame, Row } from "./log.ts";

type Check = (row: Row) => boolean;

const MEMBERS: Record<string, (frame: Frame) => unknown> = {
  server: (frame) => frame.server,
  tool: (frame) => frame.tool,
  method: (frame) => frame.method,
  client: (frame) => frame.client?.name,
  kind: (frame) => frame.kind,
  hop: (frame) => frame.hop,
};

/** Returns whether a row may fit this filter. */
export function mayFit(filter: string): Check {
  // What is quoted, or a pattern, is more than its words.
  if (/["/]/.test(filter)) return () => true;
  const checks = filter.split(/\s+/).flatMap((word) => checkOf(word.toLowerCase()) ?? []);
  return (row) => checks.every((check) => check(row));
}

function checkOf(word: string): Check | null {
  // Anything but letters, and signs that stand in names, may mean more than it says.
  const [, key, value] = /^(?:([a-z]+):)?([\w.-]+)$/.exec(word) ?? [];
  if (!value) return null;
  if (key === undefined) return (row) => row.frames.some((frame) => frame.raw === "" || frame.raw.toLowerCase().includes(value));
  const member = MEMBERS[key];
  if (!member) return null;
  const fits = (frame: Frame) => String(member(frame) ?? "").toLowerCase().includes(value);
  return (row) => row.frames.some(fits);
}
