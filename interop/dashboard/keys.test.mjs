// Eight tasks by the keyboard alone (D2): nothing is clicked, and nothing is given the focus but by keys.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { attach, fake, openPage, startBrowser, startGateway, until } from "./harness.mjs";

const config = () => ({
  servers: {
    fx: { ...fake({ tools: [{ name: "echo", inputSchema: { type: "object", required: ["text"], properties: { text: { type: "string" } } } }, { name: "fail" }] }), shared: true },
    other: { ...fake({ tools: [{ name: "echo" }] }), shared: true },
  },
  namespaces: { work: { serverIds: ["fx"] } },
});

/** Presses Tab until this has the focus. */
async function tabTo(page, wanted, key = "Tab") {
  await wanted.first().waitFor();
  for (let presses = 0; presses < 150; presses++) {
    if (await wanted.first().evaluate((one) => one === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  assert.fail(`${wanted} is not reached by ${key}`);
}

async function goTo(page, key, name) {
  await page.keyboard.press("g");
  await page.keyboard.press(key);
  await page.getByRole("heading", { level: 1, name: new RegExp(`^${name}`) }).waitFor();
}

describe("by the keyboard alone", () => {
  test("eight tasks", async (t) => {
    const [gateway, browser] = [await startGateway(t, config), await startBrowser(t)];
    const page = await openPage(t, browser, gateway, { scope: "edit" });
    const button = (name) => page.getByRole("button", { name, exact: true });

    // 1. Start a server in the list.
    await goTo(page, "s", "Servers");
    await tabTo(page, page.getByRole("row").filter({ hasText: "fx" }));
    await page.keyboard.press("s");
    await until("it runs", async () => (await gateway.json("get", "fx")).state === "ready");

    // 2. Find one by the filter, and open it.
    await page.keyboard.press("/");
    await page.keyboard.type("other");
    await page.getByRole("link", { name: "fx", exact: true }).waitFor({ state: "detached" });
    await tabTo(page, page.getByRole("link", { name: "other", exact: true }));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: /^other/ }).waitFor();

    // 3. Stop a server by the palette.
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Command" }).waitFor();
    await page.keyboard.type("stop fx");
    // The page hears of the start a little later than the command line does.
    await page.getByRole("option", { name: /^stop fx/, selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await until("it has stopped", async () => (await gateway.json("get", "fx")).state === "stopped");
    await gateway.verb("start", "fx");

    // 4. Call a tool by its form.
    await goTo(page, "t", "Tools");
    await tabTo(page, page.getByRole("link", { name: "fx__echo" }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByLabel(/^text$/));
    await page.keyboard.type("typed by hand");
    await tabTo(page, page.getByRole("button", { name: /^Call/ }));
    await page.keyboard.press("Enter");
    await page.locator(".tester-answer").getByText("typed by hand").first().waitFor();

    // 5. Deny a tool in a namespace.
    await goTo(page, "n", "Namespaces");
    await tabTo(page, page.getByRole("button", { name: "Deny fail of fx" }));
    await page.keyboard.press("Enter");
    await page.getByRole("table", { name: "Permissions of work" }).getByRole("row").filter({ hasText: "fail" }).getByText("✗ denied").locator("visible=true").waitFor();

    // 6. Change the config and take it back.
    const was = readFileSync(gateway.file, "utf8");
    await goTo(page, "c", "Config");
    const text = page.getByRole("textbox", { name: "Config" });
    await until("the text is there", async () => (await text.inputValue()) === was);
    await tabTo(page, text);
    await page.keyboard.press("Control+End");
    await page.keyboard.type("\n");
    // A text box keeps Tab for itself nowhere: it leads on, and back.
    await tabTo(page, button("Save"), "Shift+Tab");
    await page.keyboard.press("Enter");
    await until("it is saved", () => readFileSync(gateway.file, "utf8") === `${was}\n`);
    await tabTo(page, button("Undo"), "Shift+Tab");
    await page.keyboard.press("Enter");
    await until("it is as it was", () => readFileSync(gateway.file, "utf8") === was);

    // 7. Disconnect a client, and say so to the question.
    attach(t, gateway, "a window");
    await goTo(page, "a", "Clients");
    await tabTo(page, page.getByRole("button", { name: /^Disconnect a window/ }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("dialog").getByRole("button", { name: "Disconnect" }));
    await page.keyboard.press("Enter");
    await page.getByText("a window is disconnected").waitFor();

    // 8. Record what passes.
    await goTo(page, "r", "Recordings");
    await tabTo(page, page.getByLabel("Name"));
    await page.keyboard.type("bug");
    await tabTo(page, button("Start recording"));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("button", { name: "Stop bug" }));
    await page.keyboard.press("Enter");
    await page.getByText("ended").first().waitFor();
  });
});
