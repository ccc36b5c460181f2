// What is wrong, as events tell it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf } from "../src/pages/rules.ts";
import { problems } from "../src/problems.ts";
import { takeEvent } from "../src/store.ts";
import type { NamespacePermissions, Recording } from "../src/types.ts";

test("a recording that ended by itself is a problem until it is begun anew", () => {
  const told = (change: "started" | "stopped", problem?: string) => {
    const recording: Recording = { name: "bug", file: "", bytes: 0, frames: 0, lost: 0, isRunning: change === "started", ...(problem ? { problem } : {}) };
    takeEvent({ seq: 1, kind: "recording", change, recording });
    return problems.value.map((one) => `${one.whose}: ${one.what}`);
  };
  assert.deepEqual(told("started"), []);
  assert.deepEqual(told("stopped", "the disk is full"), ["recording: the recording 'bug' has ended by itself: the disk is full"]);
  assert.deepEqual(told("started"), []);
  assert.deepEqual(told("stopped"), [], "one that somebody has ended is none");
});

test("a tool is as the gateway says, and a pattern is no tool", () => {
  const permissions: NamespacePermissions = {
    namespace: "work",
    denyByDefault: false,
    rules: [
      { server: "git", item: "tool", name: "*", allow: false },
      { server: "git", item: "tool", name: "log", allow: true },
      { server: "git", item: "tool", name: "unseen", allow: false },
    ],
    tools: [
      { server: "git", name: "push", allow: false, by: "rule", rule: "*" },
      { server: "git", name: "log", allow: true, by: "rule", rule: "log" },
      { server: "git", name: "gc", allow: false, by: "denied-tools" },
    ],
  };
  const cells = cellsOf(permissions, [{ name: "git__log", original: "log", server: "git", bytes: 1 }]);
  assert.deepEqual(
    cells.map((one) => [one.tool, one.isAllowed, one.by, one.shown, one.rule?.name]),
    [
      ["push", false, "a rule denies *", undefined, undefined],
      ["log", true, "a rule allows log", "git__log", "log"],
      ["gc", false, "deniedTools of git", undefined, undefined],
      ["unseen", false, "a rule denies unseen", undefined, "unseen"],
    ],
  );
});
