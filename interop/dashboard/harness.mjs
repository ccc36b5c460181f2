// A gateway of the test's own with servers behind it, and a browser before it whose pages fail the test when anything is
// amiss: a request to another origin, something the policy forbids, a word on the console.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { atEnd, everything, fake, folder, load, manifold, surroundings, time } from "../node/gateway.mjs";

export { atEnd, everything, fake, folder, manifold, time };

const here = fileURLToPath(new URL(".", import.meta.url));
const run = promisify(execFile);
const PATIENCE_MS = Number(process.env.MANIFOLD_PATIENCE_MS ?? 60_000);

/** Loads a package from beside this file, or from where `./check` installs them. */
function installed(name) {
  try {
    return createRequire(here)(name);
  } catch {
    return load(name);
  }
}

const { chromium } = installed("playwright-core");
export const axeSource = () => installed("axe-core").source;

/** Themes and widths: all of them in the long run, each once else, and one alone where it is named (`dark-360`). */
const all = ["light", "dark"].flatMap((theme) => [360, 1280].map((width) => ({ theme, width })));
const few = all.filter(({ theme, width }) => (theme === "dark") === (width === 360));
const named = all.filter(({ theme, width }) => process.env.MANIFOLD_LOOK === `${theme}-${width}`);
export const LOOKS = named.length > 0 ? named : process.env.MANIFOLD_LONG || process.env.MANIFOLD_SCREENSHOTS ? all : few;

export const PAGES = ["Overview", "Servers", "Tools", "Traffic", "Logs", "Namespaces", "Config", "Clients", "Costs", "Recordings"];

/** Starts a daemon with this config, or what a function makes of its folder, and returns how to speak to it. */
export async function startGateway(test, config) {
  const place = folder(test);
  const file = join(place, "config.json");
  writeFileSync(file, JSON.stringify(typeof config === "function" ? config(place) : config, null, 2));
  const { MANIFOLD_DAEMON, ...env } = surroundings(place);
  env.HOME = place;
  env.XDG_CONFIG_HOME = join(place, "config");
  const gateway = {
    place,
    file,
    env,
    /** Runs a verb and returns what it prints. */
    verb: async (...args) => (await run(manifold, ["--config", file, ...args], { env, timeout: PATIENCE_MS })).stdout,
    json: async (...args) => JSON.parse(await gateway.verb(...args, "--json")),
  };
  atEnd(test, () => gateway.verb("daemon", "stop").catch(() => {}));
  await gateway.verb("daemon", "start");
  gateway.open = process.env.MANIFOLD_DASHBOARD_DEV ? await devServer(test, gateway) : openByVerb(gateway);
  return gateway;
}

function openByVerb(gateway) {
  const files = process.env.MANIFOLD_DASHBOARD_DIST;
  const dev = files ? ["--dev", files] : [];
  return async (scope) => (await gateway.verb("open", "--print", ...(scope === "view" ? [] : [`--${scope}`]), ...dev)).trim();
}

/** The page before a binary that does not serve it: crates/dashboard/web/dev.mjs. */
async function devServer(test, gateway) {
  const script = join(here, "../../crates/dashboard/web/dev.mjs");
  // It asks anew where the socket is whenever that does not answer, so it needs the test's own surroundings.
  const child = spawn(process.execPath, [script, "0"], { env: { ...gateway.env, MANIFOLD_BIN: manifold, MANIFOLD_CONFIG: gateway.file }, stdio: ["ignore", "pipe", "inherit"] });
  atEnd(test, () => child.kill());
  const base = await new Promise((resolve, reject) => {
    child.stdout.on("data", (text) => resolve(String(text).split("#")[0]));
    child.on("exit", () => reject(new Error("dev.mjs ended")));
  });
  let codes = 0;
  return async (scope) => `${base}#code=${scope}-${++codes}`;
}

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

/** Starts a browser that ends with the test. */
export async function startBrowser(test) {
  const browser = await launch();
  atEnd(test, () => browser.close());
  return browser;
}

/** Opens a page that is signed in, and watches over it until the test ends. */
export async function openPage(test, browser, gateway, { scope = "act", theme = "light", width = 1280, bypassCSP = false, context } = {}) {
  context ??= await browser.newContext({ viewport: { width, height: width < 600 ? 740 : 800 }, colorScheme: theme, bypassCSP, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const url = await gateway.open(scope);
  const { origin } = new URL(url);
  const amiss = [];
  /** What a test brings about on purpose, by a part of its text. */
  page.expected = process.env.MANIFOLD_DASHBOARD_DEV ? ["status of 404"] : [];
  page.on("console", (message) => amiss.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => amiss.push(`error: ${error.message}`));
  await context.route("**", (route) => {
    const { protocol, origin: asked } = new URL(route.request().url());
    if (asked === origin || protocol === "data:" || protocol === "blob:") return route.continue();
    amiss.push(`request to ${route.request().url()}`);
    return route.abort();
  });
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
  });
  page.amiss = () => amiss.filter((one) => !page.expected.some((part) => one.includes(part)));
  atEnd(test, () => assert.deepEqual(page.amiss(), [], "the page is clean"));
  await page.goto(url);
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
  return page;
}

/** Goes to a page by its link, as a user does. */
export async function visit(page, name) {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1 }).filter({ hasText: name }).waitFor();
}

/** Waits until this is true, looking again and again. */
export async function until(what, isTrue) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await isTrue();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A stdio client that says who it is and stays. */
export function attach(t, gateway, name = "a test client") {
  const child = spawn(manifold, ["serve", "--stdio", "--namespace", "work", "--config", gateway.file], { env: gateway.env, stdio: ["pipe", "pipe", "ignore"], cwd: gateway.place });
  atEnd(t, () => child.kill());
  const say = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  say({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: name, version: "1.2" } } });
  child.stdout.once("data", () => say({ method: "notifications/initialized" }));
  child.stdin.on("error", () => {});
  return child;
}
