// Rows out of frames, and what differs between two of them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { diff } from "../src/json/diff.ts";
import { mayFit } from "../src/pages/traffic/narrow.ts";
import { bodyOf, callOf, FRAMES_KEPT, messageOf, tookOf, TrafficLog } from "../src/pages/traffic/log.ts";

let n = 0;
const call = (number: number, argument: string, result = "{}") =>
  [
    `{"n":${++n},"t":1000,"hop":"client","dir":"in","kind":"request","client":{"name":"editor"},"method":"tools/call","tool":"git__log","call":${number},"bytes":100,"body":{"id":1,"method":"tools/call","params":{"name":"git__log","arguments":${argument}}}}`,
    `{"n":${++n},"t":1500,"hop":"server","dir":"out","kind":"request","server":"git","method":"tools/call","tool":"log","call":${number},"bytes":90}`,
    `{"n":${++n},"t":4500,"hop":"server","dir":"in","kind":"response","server":"git","method":"tools/call","tool":"log","call":${number},"status":"ok","took":3000,"bytes":400}`,
    `{"n":${++n},"t":5000,"hop":"client","dir":"out","kind":"response","client":{"name":"editor"},"method":"tools/call","tool":"git__log","call":${number},"status":"ok","took":4000,"bytes":410,"body":{"id":1,"result":${result}}}`,
  ];

test("both hops of a call are one row, with the client's names and times", () => {
  const log = new TrafficLog();
  call(7, '{"n": 1.50}').forEach((frame) => log.add(frame));
  assert.equal(log.count, 1);
  const row = log.at(0)!;
  assert.deepEqual([row.what, row.client, row.server, row.status, row.bytes, tookOf(row)], ["git__log", "editor", "git", "ok", 410, 4000]);
  assert.deepEqual([row.clientHop, row.serverHop], [{ from: 1000, took: 4000 }, { from: 1500, took: 3000 }]);
  assert.deepEqual(callOf(row), { tool: "git__log", text: '{"n": 1.50}' });
  assert.equal(messageOf(row, "answer"), '{"id":1,"result":{}}');
});

test("what certainly does not fit a filter goes at once, and all doubt stays", () => {
  const log = new TrafficLog();
  call(1, '{"path": "Cargo.toml"}').forEach((frame) => log.add(frame));
  log.add('{"n":902,"t":1,"hop":"server","dir":"in","kind":"stderr","server":"fs","text":"a line","bytes":6}');
  const left = (filter: string) => log.shown().filter(mayFit(filter)).map((row) => row.server);
  const check = (filter: string, ...servers: string[]) => assert.deepEqual(left(filter), servers, filter);
  check("", "git", "fs");
  check("server:git", "git");
  check("server:GIT kind:request", "git");
  check("cargo.toml", "git");
  check("tool:git__log hop:server", "git");
  check("kind:stderr", "fs");
  check("nobody");
  for (const doubt of ["!server:git", "took:>200ms", "server:a|b", "status:error", "/x . y/", '"a b"', "since:5m", "server:"]) check(doubt, "git", "fs");
  const { oldest } = log;
  log.narrow(mayFit("server:fs"));
  assert.deepEqual([log.count, log.at(0)?.server, log.oldest], [1, "fs", oldest]);
});

test("a row is pending until it is answered, and a part of a call is in its row", () => {
  const log = new TrafficLog();
  log.add(call(8, "{}")[0]!);
  assert.equal(log.at(0)?.status, "pending");
  log.add('{"n":900,"t":1,"hop":"server","dir":"in","kind":"notification","method":"notifications/progress","call":9,"parent":8,"bytes":1}');
  assert.equal(log.count, 1);
  log.add('{"n":901,"t":1,"hop":"server","dir":"in","kind":"stderr","server":"git","text":"a line","bytes":6}');
  assert.deepEqual([log.count, log.at(1)?.what, log.at(1)?.kind], [2, "a line", "stderr"]);
});

test("five thousand frames are kept, and pinned rows beside them", () => {
  const log = new TrafficLog();
  call(0, '{"first": true}').forEach((frame) => log.add(frame));
  const pinned = log.at(0)!;
  pinned.isPinned = true;
  for (let number = 1; number <= 12_500; number++) call(number, "{}").forEach((frame) => log.add(frame));
  assert.equal(log.seen, 50_004);
  assert.equal(log.count, FRAMES_KEPT / 4);
  assert.equal(log.shown().flatMap((row) => row.frames).length, FRAMES_KEPT);
  assert.equal(log.at(log.count - 1)?.call, 12_500);
  assert.equal(log.dropped, 12_501 - FRAMES_KEPT / 4);
  assert.deepEqual(callOf(pinned), { tool: "git__log", text: '{"first": true}' });
  assert.ok(log.rows.length < 3 * FRAMES_KEPT);
});

test("large bodies are given up before the page is", () => {
  const log = new TrafficLog();
  const large = `{"x":"${"y".repeat(16_000)}"}`;
  for (let number = 1; number <= 1500; number++) call(number, large, large).forEach((frame) => log.add(frame));
  const kept = log.shown().flatMap((row) => row.frames).reduce((sum, frame) => sum + frame.raw.length, 0);
  assert.ok(kept <= 16_100_000, String(kept));
  assert.equal(bodyOf(log.at(0)!.frames[0]!), null);
  assert.ok(messageOf(log.at(log.count - 1)!, "answer"));
});

test("another gateway's calls are other calls", () => {
  const log = new TrafficLog();
  log.add(call(1, "{}")[0]!);
  log.newEpoch();
  log.add(call(1, "{}")[0]!);
  assert.equal(log.count, 2);
});

test("differences by path, and a new item in front is one", () => {
  assert.deepEqual(diff('{"a": 1, "b": [1, 2]}', '{"b":[1,2],"a":1}'), []);
  assert.deepEqual(diff('{"a": 1}', '{"a": 1.0}'), [{ path: "$.a", before: "1", after: "1.0" }]);
  assert.deepEqual(diff("[1, 2, 3]", "[0, 1, 2, 3]"), [{ path: "$[0]", after: "0" }]);
  assert.deepEqual(diff('{"x y": {"d": true}, "old": 1}', '{"x y": {"d": false}, "new": 2}'), [
    { path: '$["x y"].d', before: "true", after: "false" },
    { path: "$.old", before: "1" },
    { path: "$.new", after: "2" },
  ]);
  assert.deepEqual(diff("no JSON", "{}"), [{ path: "$", before: "no JSON", after: "{}" }]);
  assert.equal(diff(JSON.stringify(Array(2000).fill(1)), JSON.stringify(Array(2000).fill(2))).length, 500);
});
