// Secrets of servers, of the config and of what passes: none is in any page (E4). The ways they pass are those of
// crates/app/tests/daemon/planted.rs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, test } from "node:test";
import { fake, manifold, openPage, PAGES, startBrowser, startGateway, until, visit } from "./harness.mjs";

const VARIABLE = "canary/of+a variable";
const KEPT = "canary-of-the-store-13";
const NAMED = ["password-08", "api-key-09", "authorization-10", "cookie-11", "token-12"].map((name) => `canary-named-${name}`);
/** In the forms in which they might be seen. */
const PLANTED = [VARIABLE, "Y2FuYXJ5L29mK2EgdmFyaWFibGU", "canary%2Fof%2Ba%20variable", "canary%2Fof%2Ba+variable", "canary-of-another-05", "canary-of-a-header-06", "canary-of-a-token-07", ...NAMED, KEPT, "canary-of-the-door-14"];
const LAST = "the last one";

const config = () => ({
  servers: {
    fx: { ...fake({ tools: ["env", "echo", "complain"].map((name) => ({ name })) }), env: { KEY: VARIABLE, OTHER_KEY: "canary-of-another-05", STORED: "${secret:CANARY}" }, shared: true },
    far: { url: "http://127.0.0.1:9/mcp", headers: { "X-Key": "canary-of-a-header-06", Authorization: "Bearer canary-of-a-token-07" } },
  },
  server: { token: "canary-of-the-door-14" },
  namespaces: { work: { serverIds: ["fx", "far"] } },
});

describe("secrets", () => {
  test("no page shows one, whatever servers say", async (t) => {
    const [gateway, browser] = [await startGateway(t, config), await startBrowser(t)];
    execFileSync(manifold, ["--config", gateway.file, "secret", "set", "CANARY"], { env: gateway.env, input: KEPT });
    const page = await openPage(t, browser, gateway, { scope: "act" });
    /** Everything that stands in a page: its text, its attributes, what is in its fields. */
    const seen = async (where) => {
      const text = await page.evaluate(() => {
        const fields = [...document.querySelectorAll("input, textarea")].map((one) => one.value);
        return [document.title, document.documentElement.outerHTML, document.body.innerText, ...fields, location.href].join("\n");
      });
      for (const secret of PLANTED) assert.ok(!text.includes(secret), `${secret} is in ${where}`);
      return text;
    };
    await visit(page, "Traffic");
    await until("calls are seen", async () => {
      await gateway.verb("call", "fx.echo", "text=the first one");
      return (await page.getByText("fx__echo").count()) > 0;
    });
    const call = (tool, members) => gateway.verb("call", `fx.${tool}`, "--args", JSON.stringify(members)).catch(() => {});
    for (const name of ["KEY", "OTHER_KEY", "STORED"]) await call("env", { name });
    for (const text of [...PLANTED.slice(0, 7), ...PLANTED.slice(12), "canary/\u001b[1mof+a\u001b[0m variable"]) {
      await call("echo", { text });
      await call("complain", { text });
    }
    await gateway.verb("call", "far.echo", "text=x").catch(() => {});
    const [password, key, authorization, cookie, token] = NAMED;
    await call("echo", { text: "x", password, api_key: key, headers: { Authorization: authorization, Cookie: cookie }, deep: [{ token }] });
    await call("echo", { text: LAST });
    // Every row is opened, from the last to the first.
    const grid = page.getByRole("grid", { name: /^Traffic/ });
    const count = async () => Number(await grid.getAttribute("aria-rowcount")) - 1;
    await until("rows are shown", async () => (await count()) >= 20);
    await grid.focus();
    await page.keyboard.press("End");
    const opened = await count();
    for (let at = 0; at < Math.min(opened, 60); at++) {
      await seen(`row ${opened - at} of the traffic`);
      await page.keyboard.press("ArrowUp");
    }
    let stars = 0;
    for (const name of PAGES) {
      await visit(page, name);
      await page.waitForFunction(() => document.querySelector(".skeleton") === null);
      if ((await seen(name)).includes("***")) stars++;
    }
    for (const server of ["fx", "far"]) {
      await visit(page, "Servers");
      await page.getByRole("link", { name: server, exact: true }).click();
      await page.getByRole("heading", { level: 1, name: new RegExp(`^${server}`) }).waitFor();
      await page.waitForFunction(() => document.querySelector(".skeleton") === null);
      if ((await seen(`server ${server}`)).includes("***")) stars++;
    }
    assert.ok(stars > 0, "what was taken out is marked");
    // The tester shows what a tool answers to who calls it here; that is no secret's place either.
    await visit(page, "Tools");
    await page.getByRole("link", { name: "fx__env" }).click();
    await page.getByRole("button", { name: /^Call/ }).first().waitFor();
    await seen("the tester");
  });
});
