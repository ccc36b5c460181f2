// What people come for, fifteen things, done in a browser against the real binary with real servers.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { attach, everything, fake, folder, launch, LOOKS, openPage, startGateway, time, until, visit } from "./harness.mjs";

const config = () => ({
  servers: {
    time: { ...time, shared: true },
    everything: { ...everything, env: { API_TOKEN: "value-that-nobody-may-see" }, shared: true },
    fx: { ...fake({ tools: [{ name: "echo", description: "Says it again" }, { name: "complain" }, { name: "fail" }] }), shared: true },
  },
  namespaces: { work: { serverIds: ["time", "fx"] }, play: { serverIds: ["everything"] } },
  toolPermissions: [{ namespace: "work", server: "fx", toolName: "fail", enabled: false }],
});

for (const look of LOOKS) {
  describe(`tasks, ${look.theme} at ${look.width} px`, () => {
    let browser;
    before(async () => {
      browser = await launch();
    });
    after(() => browser.close());
    const task = (name, scope, body) =>
      test(name, async (t) => {
        const gateway = await startGateway(t, config());
        const page = await openPage(t, browser, gateway, { ...look, scope });
        await body(page, gateway, t);
      });

    task("1 sign in by the code, which then is nowhere to be seen", "view", async (page, gateway) => {
      assert.ok(!page.url().includes("code"), page.url());
      await page.reload();
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      // Another page without a code has no session: the token is the tab's own.
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.getByLabel("Token").waitFor();
      page.expected.push("401");
      await page.evaluate(() => sessionStorage.setItem("manifold.session", JSON.stringify({ token: "forged", scope: "edit" })));
      await page.reload();
      await page.getByRole("heading", { name: "This page's session has ended" }).waitFor();
      await page.getByText("manifold open").first().waitFor();
    });

    test("2 see what is wrong first, and mend it by its button", async (t) => {
      const knobs = { tools: [{ name: "echo" }], failStarts: 1000, stateFile: join(folder(t), "starts") };
      const gateway = await startGateway(t, { servers: { flaky: { ...fake(knobs), shared: true } } });
      await gateway.verb("start", "flaky").catch(() => {});
      const page = await openPage(t, browser, gateway, { ...look, scope: "act" });
      const wrong = page.getByRole("listitem").filter({ hasText: "flaky" });
      await wrong.getByText(/error$/).waitFor();
      writeFileSync(knobs.stateFile, "1000");
      await wrong.getByRole("button", { name: "Restart flaky" }).click();
      await page.getByText("nothing is wrong").waitFor();
    });

    task("3 start, stop and restart a server in the list", "act", async (page, gateway) => {
      await visit(page, "Servers");
      const row = page.getByRole("row").filter({ hasText: "time" });
      await page.getByRole("button", { name: "Start time", exact: true }).click();
      await row.getByText("ready").locator("visible=true").waitFor();
      const { instances } = await gateway.json("get", "time");
      await page.getByRole("button", { name: "Restart time" }).click();
      await until("another process", async () => {
        const now = await gateway.json("get", "time");
        return now.state === "ready" && now.instances[0]?.pid && now.instances[0].pid !== instances[0].pid;
      });
      await page.getByRole("button", { name: "Stop time" }).click();
      await row.getByText("stopped").locator("visible=true").waitFor();
      assert.equal((await gateway.json("get", "time")).state, "stopped");
    });

    task("4 read all there is of one server, without its secrets", "act", async (page) => {
      await visit(page, "Servers");
      await page.getByRole("link", { name: "everything", exact: true }).click();
      await page.getByRole("button", { name: "Start", exact: true }).click();
      await page.getByRole("link", { name: "echo", exact: true }).waitFor();
      await page.getByText("API_TOKEN").waitFor();
      assert.ok(!(await page.content()).includes("value-that-nobody-may-see"));
      await page.getByRole("button", { name: /^resources/ }).click();
      await page.getByRole("table", { name: "resources of everything" }).waitFor();
    });

    task("5 find a tool among all of them", "act", async (page) => {
      await visit(page, "Tools");
      await page.getByRole("link", { name: "fx__echo" }).waitFor();
      await page.getByLabel("Filter tools").fill("current");
      await page.getByRole("link", { name: "fx__echo" }).waitFor({ state: "detached" });
      await page.getByRole("link", { name: "time__get_current_time" }).click();
      await page.getByRole("button", { name: /^Call/ }).waitFor();
    });

    task("6 call a tool through its form", "act", async (page) => {
      await visit(page, "Tools");
      await page.getByRole("link", { name: "time__get_current_time" }).click();
      await page.getByLabel(/^timezone/).first().fill("Europe/Berlin");
      await page.getByRole("button", { name: /^Call/ }).first().click();
      await page.getByText("is_dst").first().waitFor();
    });

    task("7 watch a call pass, on both hops", "act", async (page, gateway) => {
      await gateway.verb("call", "fx.echo", "text=before");
      await visit(page, "Traffic");
      await until("the call is seen", async () => {
        await gateway.verb("call", "fx.echo", "text=seen");
        return (await page.getByText("fx__echo").count()) > 0;
      });
    });

    task("8 read what a server writes, as it writes it", "act", async (page, gateway) => {
      await gateway.verb("call", "fx.complain", "text=the first complaint");
      await visit(page, "Logs");
      await page.getByText("the first complaint").waitFor();
      await gateway.verb("call", "fx.complain", "text=error: the second complaint");
      await page.getByText("the second complaint").waitFor();
      await page.getByLabel("Level").selectOption("error");
      await page.getByText("the first complaint").waitFor({ state: "detached" });
      assert.equal(await page.getByText("the second complaint").count(), 1);
    });

    task("9 see which rule decides, and make another", "edit", async (page, gateway) => {
      await visit(page, "Namespaces");
      const row = page.getByRole("table", { name: "Permissions of work" }).getByRole("row");
      await row.filter({ hasText: "fail" }).getByText("✗ denied").locator("visible=true").waitFor();
      await row.filter({ hasText: "echo" }).getByText("✓ allowed").locator("visible=true").waitFor();
      await gateway.verb("ns", "deny", "work", "time.*");
      await row.filter({ hasText: "convert_time" }).getByText("✗ denied").locator("visible=true").waitFor();
      assert.equal(await row.filter({ hasText: "time.*" }).count() + (await row.getByRole("link", { name: /[*]/ }).count()), 0, "a pattern is no tool");
      await gateway.verb("ns", "allow", "work", "time.convert_time");
      await row.filter({ hasText: "convert_time" }).getByText("✓ allowed").locator("visible=true").waitFor();
      await page.getByRole("button", { name: "Deny echo of fx" }).click();
      await row.filter({ hasText: "echo" }).getByText("✗ denied").locator("visible=true").waitFor();
      await assert.rejects(gateway.verb("call", "fx.echo", "text=x", "--namespace", "work"));
    });

    task("10 change the config: problems as it is typed, plan, save, undo", "edit", async (page, gateway) => {
      const was = readFileSync(gateway.file, "utf8");
      await visit(page, "Config");
      const text = page.getByRole("textbox", { name: "Config" });
      await until("the text is there", async () => (await text.inputValue()) === was);
      await text.fill(was.replace('"servers": {', '"servers": {\n    "clock": { "builtin": "time", "colour": "blue" },'));
      await page.getByText("unknown key").first().waitFor();
      await page.getByText("clock", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText(/^saved: 1 new/).waitFor();
      assert.ok((await gateway.json("list")).some((one) => one.id === "clock"));
      const changed = readFileSync(gateway.file, "utf8");
      await page.getByRole("button", { name: "Undo" }).click();
      await until("it is as it was", async () => readFileSync(gateway.file, "utf8") === was);
      await until("it is gone", async () => !(await gateway.json("list")).some((one) => one.id === "clock"));
      // The next undo is of what was done before, not of this one.
      await gateway.verb("undo").catch(() => {});
      assert.notEqual(readFileSync(gateway.file, "utf8"), changed);
    });

    task("11 be told that somebody else has saved meanwhile", "edit", async (page, gateway) => {
      await visit(page, "Config");
      const text = page.getByRole("textbox", { name: "Config" });
      await until("the text is there", async () => (await text.inputValue()).includes("servers"));
      await text.fill((await text.inputValue()).replace('"servers": {', '"servers": {\n    "mine": { "builtin": "time" },'));
      await page.getByText("mine", { exact: true }).waitFor();
      await gateway.verb("add", "theirs", "--", time.command);
      page.expected.push("412");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("dialog").getByText("Somebody else has saved it").waitFor();
      await page.getByRole("button", { name: "Read anew" }).click();
      await until("theirs is read", async () => (await text.inputValue()).includes("theirs"));
      assert.ok(!readFileSync(gateway.file, "utf8").includes("mine"));
    });

    task("12 see who is connected, and disconnect them", "act", async (page, gateway, t) => {
      await visit(page, "Clients");
      await page.getByText("Nobody is connected").waitFor();
      const client = attach(t, gateway);
      await page.getByText("a test client").first().waitFor();
      await page.getByRole("button", { name: /^Disconnect a test client/ }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
      await page.getByText("a test client is disconnected").waitFor();
      assert.ok(client.pid);
    });

    task("13 know what the tools cost", "view", async (page, gateway) => {
      const tools = await gateway.json("tools");
      const bytes = (tools.items ?? tools).reduce((sum, one) => sum + one.bytes, 0);
      await visit(page, "Costs");
      const figure = page.getByText("bytes of definitions").locator("..");
      await until("the sum", async () => (await figure.textContent()).replace(/\D/g, "") === String(bytes));
      await page.getByText(/^≈/).first().waitFor();
    });

    task("14 record what passes, and keep it", "act", async (page, gateway) => {
      await visit(page, "Recordings");
      await page.getByLabel("Name").fill("bug");
      await page.getByRole("button", { name: "Start recording" }).click();
      await page.getByText("running").waitFor();
      await gateway.verb("call", "fx.echo", "text=kept");
      await page.getByRole("button", { name: "Stop bug" }).click();
      await page.getByText("ended").first().waitFor();
      const [kept] = await gateway.json("record", "list");
      assert.ok(kept.frames >= 2 && !kept.isRunning);
    });

    task("15 do it all by the keyboard", "act", async (page, gateway) => {
      await page.keyboard.press("g");
      await page.keyboard.press("s");
      await page.getByRole("heading", { level: 1, name: /^Servers/ }).waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("time");
      await page.getByRole("link", { name: "everything" }).waitFor({ state: "detached" });
      await page.keyboard.press("Escape");
      await page.getByRole("row").nth(1).focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: /^everything/ }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Command" }).waitFor();
      await page.keyboard.type("start time");
      await page.keyboard.press("Enter");
      await until("it runs", async () => (await gateway.json("get", "time")).state === "ready");
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
    });
  });
}
