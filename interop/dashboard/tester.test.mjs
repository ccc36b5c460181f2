// The form of a tool in a browser: every kind of field, and the JSON beside it, which is what is sent. Then the call as it
// passed: replayed with other arguments, and compared.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { fake, launch, LOOKS, openPage, startGateway, until, visit } from "./harness.mjs";

const inputSchema = {
  type: "object",
  properties: {
    text: { type: "string" },
    amount: { type: "number", default: 1.5 },
    maybe: { anyOf: [{ type: "string" }, { type: "null" }], default: null },
    flag: { type: "boolean" },
    headers: { type: "object", additionalProperties: { type: "string" } },
    free: {},
    tags: { type: "array", items: { type: "string" } },
    pick: { anyOf: [{ type: "string" }, { type: "integer" }] },
    level: { enum: ["low", "high", null] },
    nested: { type: "object", properties: { deep: { type: "string" }, other: { type: "string" } }, required: ["deep"] },
  },
  required: ["text"],
};
const config = () => ({ servers: { fx: { ...fake({ tools: [{ name: "echo", inputSchema, annotations: { readOnlyHint: true } }] }), shared: true } } });

for (const look of LOOKS) {
  describe(`the tester, ${look.theme} at ${look.width} px`, () => {
    let browser;
    before(async () => {
      browser = await launch();
    });
    after(() => browser.close());

    async function tester(t) {
      const gateway = await startGateway(t, config());
      const page = await openPage(t, browser, gateway, look);
      await visit(page, "Tools");
      await page.getByRole("link", { name: "fx__echo" }).click();
      await page.getByRole("button", { name: /^Call/ }).waitFor();
      return { gateway, page };
    }
    const json = async (page) => JSON.parse(await page.getByLabel("Raw JSON").inputValue());
    const says = (page, want) => until(`the JSON is ${JSON.stringify(want)}`, async () => JSON.stringify(await json(page)) === JSON.stringify(want));
    const spelled = (page, how) => until(`the JSON has ${how}`, async () => how.test(await page.getByLabel("Raw JSON").inputValue()));
    /** The whole of a field: its ticks as well. */
    const field = (page, name) => page.locator(".form-field").filter({ has: page.locator(":scope > .form-head > .form-name", { hasText: new RegExp(`^${name}$`) }) });

    test("what is not set is absent, and what is set is what it is", async (t) => {
      const { page } = await tester(t);
      await says(page, { text: "" });
      await page.getByLabel(/^text$/).fill("two words");
      await page.getByLabel(/^flag$/).selectOption("false");
      await says(page, { text: "two words", flag: false });
      await page.getByLabel(/^flag$/).selectOption("");
      await field(page, "maybe").getByLabel("null").check();
      await says(page, { text: "two words", maybe: null });
      await field(page, "maybe").getByLabel("set").uncheck();
      await page.getByLabel(/^level$/).selectOption("high");
      await field(page, "nested").getByLabel("set").check();
      await page.getByLabel(/^deep$/).fill("in");
      await says(page, { text: "two words", level: "high", nested: { deep: "in" } });
      await field(page, "nested").first().getByLabel("set").first().uncheck();
      await field(page, "headers").getByLabel("set").check();
      await page.getByLabel("New name").fill("X-A");
      await page.getByRole("button", { name: "Add to headers" }).click();
      await page.getByLabel(/^X-A$/).fill("v");
      await page.getByRole("button", { name: "Add to tags" }).click();
      await page.getByLabel(/^tags 1$/).fill("x");
      await field(page, "pick").getByLabel("kind").selectOption("integer");
      await page.getByLabel(/^pick$/).fill("12");
      await says(page, { text: "two words", level: "high", headers: { "X-A": "v" }, tags: ["x"], pick: 12 });
    });

    test("what is half typed stays as it is typed, and nothing is sent of it", async (t) => {
      const { page } = await tester(t);
      const call = page.getByRole("button", { name: /^Call/ });
      await page.getByLabel(/^amount$/).pressSequentially("1e");
      assert.equal(await page.getByLabel(/^amount$/).inputValue(), "1e");
      await until("a half number cannot be sent", () => call.isDisabled());
      await page.getByLabel(/^amount$/).pressSequentially("5");
      await spelled(page, /"amount": 1e5/);
      await page.getByLabel(/^free$/).fill('{"a": ');
      await until("half a piece of JSON cannot be sent", () => call.isDisabled());
      await page.getByLabel(/^free$/).fill('{"a": 1.0}');
      await spelled(page, /"free": \{"a": 1\.0\}/);
      await page.getByLabel("Raw JSON").fill('{"text": ');
      await page.getByText("The JSON cannot be read, line 1, column 10").waitFor();
      await until("the fields wait", () => page.getByLabel(/^text$/).isDisabled());
      assert.equal(await page.getByLabel("Raw JSON").inputValue(), '{"text": ');
    });

    test("a call is seen passing, replayed with other arguments, and both are compared", async (t) => {
      const { gateway, page } = await tester(t);
      await visit(page, "Traffic");
      await page.getByText("● live").waitFor();
      const rows = page.getByRole("row", { name: /fx__echo/ });
      await gateway.verb("call", "fx__echo", "text=first", "amount:=1.50");
      await rows.first().click();
      await page.getByRole("button", { name: "Mark to compare" }).click();
      await gateway.verb("call", "fx__echo", "text=second");
      await until("both have passed", async () => (await rows.count()) === 2);
      await rows.nth(1).click();
      await page.getByRole("button", { name: "Mark to compare" }).click();
      await page.locator(".traffic-diff").getByText("$.params.arguments.text").waitFor();
      await rows.first().click();
      await page.getByRole("button", { name: "Replay …" }).click();
      await page.getByRole("button", { name: /^Call/ }).waitFor();
      await spelled(page, /"amount": 1\.50/);
      await page.getByLabel(/^text$/).fill("third");
      await page.setViewportSize({ width: look.width, height: 300 });
      await page.getByRole("button", { name: /^Call/ }).click();
      const heading = page.getByRole("heading", { name: "Result" });
      await heading.waitFor();
      await until("the result is in view", async () => {
        const box = await heading.boundingBox();
        return box !== null && box.y >= 0 && box.y < 300;
      });
    });
  });
}
