// What a page that may edit does to files: other programs' and recordings'.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fake, openPage, startBrowser, startGateway, time, until, visit } from "./harness.mjs";

const config = () => ({ servers: { fx: { ...fake({ tools: [{ name: "echo" }] }), shared: true } } });

describe("files", () => {
  test("Manifold is put into a program after a look at what changes, and taken out again", async (t) => {
    const [gateway, browser] = [await startGateway(t, config()), await startBrowser(t)];
    mkdirSync(join(gateway.place, ".cursor"));
    const file = join(gateway.place, ".cursor/mcp.json");
    const was = JSON.stringify({ mcpServers: { clock: time } }, null, 2);
    writeFileSync(file, was);
    const page = await openPage(t, browser, gateway, { scope: "edit" });
    await visit(page, "Clients");
    await page.getByRole("button", { name: "Install into cursor" }).click();
    await page.getByRole("region", { name: "What changes" }).waitFor();
    assert.equal(readFileSync(file, "utf8"), was);
    await page.getByRole("dialog").getByRole("button", { name: "Install" }).click();
    await page.getByRole("button", { name: "Uninstall from cursor" }).waitFor();
    assert.ok(readFileSync(file, "utf8").includes("manifold"));
    await page.getByRole("button", { name: "Undo", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: /^Undo/ }).first().click();
    await until("the file is as it was", () => readFileSync(file, "utf8") === was);
    await page.getByRole("button", { name: "Import servers" }).click();
    await page.getByRole("dialog").getByText("New: clock").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
    await until("it is taken over", async () => (await gateway.json("list")).some((one) => one.id === "clock"));
  });

  test("a recording is taken home in each format", async (t) => {
    const [gateway, browser] = [await startGateway(t, config()), await startBrowser(t)];
    await gateway.verb("record", "start", "bug");
    await gateway.verb("call", "fx.echo", "text=kept in the file");
    await gateway.verb("record", "stop", "bug");
    const page = await openPage(t, browser, gateway, { scope: "act" });
    await visit(page, "Recordings");
    for (const format of ["json", "har", "text"]) {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: `Download bug as ${format}` }).click()]);
      assert.match(download.suggestedFilename(), /^bug\./);
      assert.ok(readFileSync(await download.path(), "utf8").includes("echo"), format);
    }
  });
});
