// What a page lives through: many tabs, a daemon that is restarted under it, and a scope that may only look.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fake, folder, openPage, PAGES, startBrowser, startGateway, until, visit } from "./harness.mjs";

const config = () => ({ servers: { fx: { ...fake({ tools: [{ name: "echo" }] }), shared: true }, other: { builtin: "time" } } });
const TABS = 8;

describe("life", () => {
  test("eight tabs at once all see what happens", async (t) => {
    const [gateway, browser] = [await startGateway(t, config()), await startBrowser(t)];
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const pages = [];
    // A browser has six connections to one origin: were every tab to hold one, the seventh would wait for ever.
    for (let tab = 0; tab < TABS; tab++) pages.push(await openPage(t, browser, gateway, { scope: "act", context }));
    for (const page of pages) await visit(page, "Servers");
    await gateway.verb("start", "fx");
    for (const page of pages) await page.getByRole("row").filter({ hasText: "fx" }).getByText("ready").locator("visible=true").waitFor();
  });

  test("a daemon that is restarted is found again, and nothing is said twice", async (t) => {
    const [gateway, browser] = [await startGateway(t, config()), await startBrowser(t)];
    const page = await openPage(t, browser, gateway, { scope: "act" });
    page.expected.push("Failed to load resource", "net::ERR");
    await visit(page, "Servers");
    await gateway.verb("daemon", "restart");
    await gateway.verb("start", "fx");
    await page.getByRole("row").filter({ hasText: "fx" }).getByText("ready").locator("visible=true").waitFor();
    await page.getByRole("status").filter({ hasText: "live" }).waitFor();
    assert.equal(await page.locator(".toast").count(), 0);
  });

  test("a page that may only look has no button that acts", async (t) => {
    const [gateway, browser] = [await startGateway(t, config()), await startBrowser(t)];
    const page = await openPage(t, browser, gateway, { scope: "view" });
    await visit(page, "Servers");
    const start = page.getByRole("button", { name: "Start fx", exact: true });
    await start.waitFor();
    assert.ok(await start.isDisabled());
    assert.match((await start.getAttribute("title")) ?? "", /manifold open --act/);
    // Nothing is asked for that would be refused: a refusal would stand on the console.
    for (const name of PAGES) await visit(page, name);
    await visit(page, "Config");
    await page.getByText("manifold open --edit").waitFor();
  });

  test("an upgrade under the page is not noticed", async (t) => {
    const [gateway, browser] = [await startGateway(t, config()), await startBrowser(t)];
    const page = await openPage(t, browser, gateway, { scope: "act" });
    page.expected.push("Failed to load resource", "net::ERR");
    await visit(page, "Servers");
    await gateway.verb("start", "fx");
    const row = page.getByRole("row").filter({ hasText: "fx" });
    await row.getByText("ready").locator("visible=true").waitFor();
    await gateway.verb("daemon", "upgrade");
    await page.getByRole("button", { name: "Stop fx" }).click();
    await row.getByText("stopped").locator("visible=true").waitFor();
    assert.equal(await page.getByText("session has ended").count(), 0);
  });

  test("of thousands of tools only those that are seen are drawn", async (t) => {
    const tools = Array.from({ length: 3000 }, (_, index) => ({ name: `tool${index}` }));
    const knobs = join(folder(t), "knobs.json");
    writeFileSync(knobs, JSON.stringify({ tools }));
    const many = { ...fake({}), args: [`@${knobs}`], shared: true };
    const [gateway, browser] = [await startGateway(t, { servers: { many } }), await startBrowser(t)];
    const page = await openPage(t, browser, gateway, { scope: "act" });
    await visit(page, "Tools");
    await page.getByRole("link", { name: "many__tool0", exact: true }).waitFor();
    assert.ok((await page.getByRole("row").count()) < 120);
    await page.getByRole("row").nth(1).focus();
    await page.keyboard.press("End");
    await page.getByRole("row").filter({ has: page.getByRole("link", { name: /^many__|^manifold__/ }) }).last().waitFor();
    await until("the last row has the focus", () => page.evaluate(() => Number(document.activeElement?.getAttribute("aria-rowindex")) > 3000));
    assert.ok((await page.getByRole("row").count()) < 120);
  });

  test("a tab that nobody sees holds no stream, and goes on where it was", async (t) => {
    const [gateway, browser] = [await startGateway(t, config()), await startBrowser(t)];
    const page = await openPage(t, browser, gateway, { scope: "act" });
    await visit(page, "Servers");
    const streams = [];
    page.on("request", (request) => request.url().includes("/v1/events") && streams.push(request.url()));
    await hide(page, true);
    await gateway.verb("start", "fx");
    assert.deepEqual(streams, []);
    await hide(page, false);
    await page.getByRole("row").filter({ hasText: "fx" }).getByText("ready").locator("visible=true").waitFor();
    await until("one stream, from where it was", () => streams.length === 1 && streams[0].includes("after="));
  });
});

async function hide(page, isHidden) {
  await page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}
