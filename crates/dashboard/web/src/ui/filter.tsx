// The box that filters a list. `/` goes there, Escape empties it and leaves.

import { setQuery } from "../router.ts";

interface Props {
  value: string;
  onChange: (text: string) => void;
  label: string;
}

export function Filter({ value, onChange, label }: Props) {
  return (
    <input
      class="input filter"
      type="search"
      data-filter
      aria-label={label}
      placeholder={`${label}  /`}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        onChange("");
        event.currentTarget.blur();
      }}
    />
  );
}

/** A filter that the address keeps, so that it can be sent to somebody. */
export function keepFilter(text: string): void {
  setQuery({ q: text });
}

/** Returns whether every word of the filter is in one of the texts. */
export function fits(filter: string, ...texts: (string | null | undefined)[]): boolean {
  const all = texts.join("\n").toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
