// Numbers in as few characters as can be, in the same units as the terminal.

/** Returns a span: `12s`, `5m`, `3h`, `2d`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** Returns how long something took, of microseconds: `850us`, `12ms`, `3s`. */
export function took(us: number): string {
  if (us < 1000) return `${Math.floor(us)}us`;
  if (us < 10_000) return `${(Math.floor(us / 100) / 10).toFixed(1)}ms`;
  if (us < 10_000_000) return `${Math.floor(us / 1000)}ms`;
  return `${Math.floor(us / 1_000_000)}s`;
}

/** Returns a size: `812`, `12k`, `3M`. */
export function size(bytes: number): string {
  if (bytes < 1000) return String(bytes);
  if (bytes < 1_000_000) return `${Math.floor(bytes / 1000)}k`;
  if (bytes < 1_000_000_000) return `${Math.floor(bytes / 1_000_000)}M`;
  return `${(Math.floor(bytes / 100_000_000) / 10).toFixed(1)}G`;
}

export function count(number: number): string {
  if (number < 100_000) return String(number);
  if (number < 10_000_000) return `${Math.floor(number / 1000)}k`;
  return `${Math.floor(number / 1_000_000)}M`;
}

/** Returns `1 tool`, `2 tools`. */
export function counted(number: number, what: string): string {
  return number === 1 ? `1 ${what}` : `${count(number)} ${what}s`;
}

/** Returns a number with its thousands set apart. */
export function exact(number: number): string {
  return number.toLocaleString("en-US").replaceAll(",", "\u202f");
}

/** Returns the time of day of an RFC 3339 time or of milliseconds: `14:03:07`. */
export function clock(time: string | number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toTimeString().slice(0, 8);
}

/** Returns day and time: `2026-11-18 14:03`. */
export function day(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
