// Every page in both themes and two widths: nothing serious for axe, nothing wider than the window. With
// MANIFOLD_SCREENSHOTS set their pictures are written to docs/dashboard.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test } from "node:test";
import { attach, axeSource, everything, fake, LOOKS, openPage, PAGES, startBrowser, startGateway, time, until, visit } from "./harness.mjs";

const pictures = fileURLToPath(new URL("../../docs/dashboard/", import.meta.url));

const notes = fake({ tools: [{ name: "search", description: "Finds notes by their words" }, { name: "complain" }, { name: "fail" }] });

const config = (place) => ({
  servers: {
    time: { ...linked(place, time), shared: true },
    everything: { ...linked(place, everything), env: { API_TOKEN: "${API_TOKEN:-none}" }, shared: true },
    notes: { ...linked(place, notes), shared: true },
    broken: { command: "no-such-program", shared: true },
    old: { command: "cat", enabled: false },
  },
  namespaces: { work: { serverIds: ["time", "notes"], description: "What the day needs" }, home: { serverIds: ["time"], denyByDefault: true } },
  toolPermissions: [{ namespace: "work", server: "notes", toolName: "fail", enabled: false }],
});

/** The server by links in the test's own folder, so that no picture shows where it is installed. */
function linked(place, { command, args }) {
  const link = (path) => {
    if (!isAbsolute(path) || !existsSync(path)) return path;
    const own = join(place, "bin", basename(path));
    mkdirSync(dirname(own), { recursive: true });
    if (!existsSync(own)) symlinkSync(path, own);
    return own;
  };
  return { command: link(command), args: args.map(link) };
}

describe("pages", () => {
  for (const { theme, width } of LOOKS) {
    test(`${theme} at ${width} px`, async (t) => {
      const gateway = await startGateway(t, config);
      mkdirSync(join(gateway.place, ".cursor"));
      writeFileSync(join(gateway.place, ".cursor/mcp.json"), '{ "mcpServers": {} }');
      const browser = await startBrowser(t);
      // The policy forbids scripts that are not the page's own: axe comes in by a context that lets it.
      const page = await openPage(t, browser, gateway, { scope: "edit", theme, width, bypassCSP: true });
      for (const text of ["the first line", "warning: the second"]) await gateway.verb("call", "notes.complain", `text=${text}`);
      await gateway.verb("call", "notes.fail", "text=no").catch(() => {});
      await gateway.verb("call", "time.get_current_time", "timezone=UTC");
      attach(t, gateway, "an editor");
      await gateway.verb("record", "start", "bug", "server:notes");
      await gateway.verb("call", "notes.search", "text=kept");
      await gateway.verb("record", "stop", "bug");
      const found = [];
      const look = async (name) => found.push(...(await inspect(page, name, theme, width)));
      for (const name of PAGES) {
        await visit(page, name);
        if (name === "Traffic") await traffic(page, gateway);
        await settled(page);
        await look(name);
      }
      await visit(page, "Servers");
      await page.getByRole("link", { name: "everything", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: /^everything/ }).waitFor();
      await settled(page);
      await look("Server");
      await visit(page, "Tools");
      await page.getByRole("link", { name: "everything__get-sum" }).click();
      await page.getByRole("button", { name: /^Call/ }).first().waitFor();
      await settled(page);
      await look("Tester");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Command" }).waitFor();
      await look("Palette");
      await page.keyboard.press("Escape");
      await opened(page, gateway, async (name) => found.push(...(await inspect(page, name, theme, width, false))));
      assert.deepEqual(found, []);
    });
  }
});

/** What opens over or beside a page: each is looked at as pages are. */
async function opened(page, gateway, look) {
  const dialog = async (name, button) => {
    await button.click();
    await page.getByRole("dialog").waitFor();
    await settled(page);
    await look(name);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await look("Keys");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Call/ }).first().click();
  await page.locator(".tester-answer").waitFor();
  await look("Result");
  await visit(page, "Clients");
  await dialog("Confirm", page.getByRole("button", { name: /^Disconnect an editor/ }));
  await dialog("Install", page.getByRole("button", { name: "Install into cursor" }));
  await dialog("Import", page.getByRole("button", { name: "Import servers" }));
  await dialog("Undo", page.getByRole("button", { name: "Undo", exact: true }));
  await visit(page, "Traffic");
  const grid = page.getByRole("grid", { name: /^Traffic/ });
  await traffic(page, gateway);
  await grid.press("ArrowUp");
  await look("Opened row");
}

/** Calls until the page shows some of it: it hears what passes from when it is open. */
async function traffic(page, gateway) {
  await until("calls are seen", async () => {
    await gateway.verb("call", "notes.search", "text=seen");
    await gateway.verb("call", "notes.fail", "text=no").catch(() => {});
    return (await page.getByText("notes__fail").count()) > 0;
  });
}

/** Waits until nothing is a skeleton any more. */
async function settled(page) {
  await page.waitForFunction(() => document.querySelector(".skeleton") === null);
}

/** Returns what is wrong with the page as it stands there. */
async function inspect(page, name, theme, width, isPicture = true) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource());
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  if (isPicture && process.env.MANIFOLD_SCREENSHOTS && width === 1280) {
    mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}${name.toLowerCase()}-${theme}.png` });
  }
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const serious = found.violations.filter((one) => one.impact === "serious" || one.impact === "critical");
  return [
    ...(wider > 0 ? [`${name} is ${wider} px wider than the window`] : []),
    ...serious.map((one) => `${name}: ${one.id}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 300)}`),
  ];
}
