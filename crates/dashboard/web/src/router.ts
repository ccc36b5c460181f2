// Addresses are hash routes: `#/servers`, `#/servers/ID?line=3`. The gateway serves one file and never sees them.

import { signal } from "@preact/signals";

/** The pages in the order of the navigation; the names are the links' texts. */
export const PAGES = [
  { page: "overview", name: "Overview", key: "o" },
  { page: "servers", name: "Servers", key: "s" },
  { page: "tools", name: "Tools", key: "t" },
  { page: "traffic", name: "Traffic", key: "f" },
  { page: "logs", name: "Logs", key: "l" },
  { page: "namespaces", name: "Namespaces", key: "n" },
  { page: "config", name: "Config", key: "c" },
  { page: "clients", name: "Clients", key: "a" },
  { page: "costs", name: "Costs", key: "b" },
  { page: "recordings", name: "Recordings", key: "r" },
] as const;

export type Page = (typeof PAGES)[number]["page"];

export interface Route {
  page: Page;
  /** What is shown of that page: a server's key, a tool's exposed name. */
  id?: string;
  query: URLSearchParams;
}

export const route = signal<Route>(parse(location.hash));

addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

export function href(page: Page, id?: string, query?: Record<string, string>): string {
  const path = id === undefined ? page : `${page}/${encodeURIComponent(id)}`;
  const tail = query ? `?${new URLSearchParams(query)}` : "";
  return `#/${path === "overview" ? "" : path}${tail}`;
}

export function go(page: Page, id?: string, query?: Record<string, string>): void {
  location.hash = href(page, id, query);
}

/** Changes the query of the page that is shown, without a step in the history. */
export function setQuery(query: Record<string, string>): void {
  const { page, id } = route.value;
  const filled = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ""));
  history.replaceState(null, "", href(page, id, Object.keys(filled).length > 0 ? filled : undefined));
  route.value = parse(location.hash);
}

function parse(hash: string): Route {
  const [path = "", tail = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [first = "", rest] = path.split(/\/(.*)/s);
  const page = PAGES.find((one) => one.page === first)?.page ?? "overview";
  const one: Route = { page, query: new URLSearchParams(tail) };
  if (rest) one.id = decoded(rest);
  return one;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
