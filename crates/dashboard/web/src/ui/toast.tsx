// Short news of what the user has done. What others do is seen in the lists and makes no toast.

import { signal } from "@preact/signals";

interface Toast {
  id: number;
  text: string;
  isBad: boolean;
}

const toasts = signal<Toast[]>([]);
const SHOWN_MS = 6000;
/** What went wrong takes longer to read. */
const BAD_SHOWN_MS = 20_000;
let last = 0;

export function toast(text: string, isBad = false): void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, text, isBad }];
  setTimeout(() => drop(id), isBad ? BAD_SHOWN_MS : SHOWN_MS);
}

function drop(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((one) => (
        <div key={one.id} class={one.isBad ? "toast is-bad" : "toast"}>
          <p>{one.text}</p>
          <button type="button" class="button quiet small" aria-label="Dismiss" onClick={() => drop(one.id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
