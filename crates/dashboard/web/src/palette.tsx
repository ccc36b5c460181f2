// Every command by any part of its name, and the keys.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { orderServer, restartable, startable, stoppable } from "./orders.ts";
import { go, PAGES } from "./router.ts";
import { mayAct, mayEdit, session } from "./session.ts";
import { servers } from "./store.ts";
import { switchDensity, switchTheme } from "./theme.ts";
import { serverKey } from "./types.ts";
import { said } from "./ui/basics.tsx";
import { Dialog } from "./ui/dialog.tsx";

interface Command {
  name: string;
  what: string;
  run: () => unknown;
}

const isOpen = signal(false);
const areKeysOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

function commands(): Command[] {
  const found: Command[] = PAGES.map(({ page, name, key }) => ({ name: `go ${name.toLowerCase()}`, what: `Open the page (g ${key})`, run: () => go(page) }));
  for (const server of servers.value ?? []) {
    const key = serverKey(server);
    found.push({ name: `open ${key}`, what: "All there is to say of it", run: () => go("servers", key) });
    found.push({ name: `logs ${key}`, what: "See what it wrote", run: () => go("logs", undefined, { server: key }) });
    if (!mayAct.value) continue;
    if (startable(server)) found.push({ name: `start ${key}`, what: "Start it", run: () => orderServer(server, "start") });
    if (stoppable(server)) found.push({ name: `stop ${key}`, what: "Stop it", run: () => orderServer(server, "stop") });
    if (restartable(server)) found.push({ name: `restart ${key}`, what: "Start it anew", run: () => orderServer(server, "restart") });
    found.push({ name: `refresh ${key}`, what: "Read its lists anew", run: () => orderServer(server, "refresh") });
    // It stands in the config.
    if (!mayEdit.value) continue;
    found.push(
      server.enabled
        ? { name: `disable ${key}`, what: "Let nobody use it", run: () => orderServer(server, "disable") }
        : { name: `enable ${key}`, what: "Let it be used again", run: () => orderServer(server, "enable") },
    );
  }
  found.push({ name: "theme", what: "Light or dark", run: switchTheme });
  found.push({ name: "density", what: "Rows dense or roomy", run: switchDensity });
  found.push({ name: "keys", what: "Show the keys (?)", run: () => (areKeysOpen.value = true) });
  return found;
}

/** Returns whether the letters come in this order, and how far apart: less is better. */
export function distance(letters: string, name: string): number | null {
  let from = -1;
  let gaps = 0;
  for (const letter of letters.toLowerCase().replace(/\s+/g, "")) {
    const at = name.toLowerCase().indexOf(letter, from + 1);
    if (at < 0) return null;
    gaps += at - from - 1;
    from = at;
  }
  return gaps;
}

export function Palette() {
  return isOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const [letters, setLetters] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(() => {
    const near = commands().flatMap((one) => {
      const far = distance(letters, one.name);
      return far === null ? [] : [{ one, far }];
    });
    return near
      .sort((a, b) => (letters ? a.far - b.far : 0))
      .slice(0, 40)
      .map(({ one }) => one);
  }, [letters]);
  const close = () => (isOpen.value = false);
  const run = async (one: Command | undefined) => {
    close();
    try {
      await one?.run();
    } catch (error) {
      said(error);
    }
  };
  useEffect(() => {
    document.getElementById(`command-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <Dialog title="Find a command" look="palette" onClose={close}>
      <input
        class="input"
        role="combobox"
        aria-expanded="true"
        aria-controls="commands"
        aria-label="Command"
        aria-activedescendant={found[at] ? `command-${at}` : undefined}
        placeholder="restart git, go logs, …"
        value={letters}
        autofocus
        onInput={(event) => {
          setLetters(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
          else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
          else if (event.key === "Enter") void run(found[at]);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="commands" role="listbox" aria-label="Commands" class="commands">
        {found.map((one, index) => (
          <li key={one.name} id={`command-${index}`} role="option" aria-selected={index === at} onClick={() => void run(one)}>
            <b>{one.name}</b>
            <span class="faint">{one.what}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="faint">No command has these letters.</p>}
    </Dialog>
  );
}

const KEYS: [string, string][] = [
  ["Ctrl K", "Every command"],
  ["/", "Filter this list"],
  ["g, then a letter", PAGES.map(({ name, key }) => `${key} ${name}`).join(" · ")],
  ["↓ ↑ j k", "The next row, the row before"],
  ["Home End", "The first, the last"],
  ["Enter", "Open"],
  ["s x r", "Start, stop, restart the server in focus"],
  ["Escape", "Back, or empty the filter"],
  ["?", "These keys"],
];

export function Keys() {
  if (!areKeysOpen.value) return null;
  return (
    <Dialog title="Keys" onClose={() => (areKeysOpen.value = false)}>
      <dl class="members keys">
        {KEYS.map(([key, what]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <div class="buttons">
        <button type="button" class="button" onClick={() => (areKeysOpen.value = false)}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

const LEADER_MS = 1500;

/** The keys that hold on every page. None of them is taken from a field. */
export function useShortcuts(): void {
  useEffect(() => {
    let leaderAt = 0;
    const press = (event: KeyboardEvent) => {
      if (!session.value) return;
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        isOpen.value = !isOpen.value;
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isField(event.target) || document.querySelector("dialog[open]")) return;
      const isLed = Date.now() - leaderAt < LEADER_MS;
      leaderAt = 0;
      const page = isLed ? PAGES.find((one) => one.key === event.key) : undefined;
      if (page) go(page.page);
      else if (event.key === "g") leaderAt = Date.now();
      else if (event.key === "/") document.querySelector<HTMLElement>("[data-filter]")?.focus();
      else if (event.key === "?") areKeysOpen.value = true;
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    // Before the tables, whose letters would else be taken for the second of two.
    addEventListener("keydown", press, true);
    return () => removeEventListener("keydown", press, true);
  }, []);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable]") !== null;
}
