// What two runs of the suite say of the same checks.

import { existsSync, readFileSync } from "node:fs";

const count = (checks, status) => checks.filter((check) => check.status === status).length;

/** Checks that passed and failed; warnings and notes count for nothing, as in the suite's own sum. */
export function total(result) {
  const checks = result.flatMap(({ checks }) => checks);
  return { passed: count(checks, "SUCCESS"), failed: count(checks, "FAILURE") };
}

/** Lines of `scenario` or `scenario:check`; `#` starts a comment. */
export function readExceptions(path) {
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.map((line) => line.replace(/#.*/, "").trim()).filter(Boolean);
}

/**
 * Sorts the differences. One check may be made several times in a scenario, so its results are compared by number:
 * `worse` fails more often than directly, `lost` passes less often, or warns more often, though nothing in its scenario got
 * worse.
 */
export function compare(directly, through, exceptions) {
  const before = new Map(directly.map(({ scenario, checks }) => [scenario, checks]));
  const worse = [];
  const lost = [];
  for (const { scenario, checks } of through) {
    const old = before.get(scenario) ?? [];
    for (const id of new Set([...old, ...checks].map((check) => check.id))) {
      const [then, now] = [old, checks].map((all) => all.filter((check) => check.id === id));
      const more = count(now, "FAILURE") - count(then, "FAILURE");
      const fewer = count(then, "SUCCESS") - count(now, "SUCCESS");
      const failure = now.find(({ status }) => status === "FAILURE");
      const warned = count(now, "WARNING") - count(then, "WARNING");
      const other = now.find(({ status }) => status !== "SUCCESS" && status !== "FAILURE");
      if (more > 0) worse.push({ scenario, id, errorMessage: failure.errorMessage });
      else if (fewer > 0 || warned > 0) lost.push({ scenario, id, errorMessage: other && `${other.status} ${other.errorMessage ?? other.details?.message ?? ""}` });
    }
  }
  const broken = new Set(worse.map(({ scenario }) => scenario));
  const matches = (line, { scenario, id }) => line === scenario || line === `${scenario}:${id}`;
  // Only what this run could have shown is stale: a scenario of another revision proves nothing.
  const ran = new Set(through.map(({ scenario }) => scenario));
  const stale = exceptions
    .filter((line) => ran.has(line.split(":")[0]) && !worse.some((check) => matches(line, check)))
    .map((line) => ({ scenario: line.split(":")[0], id: line.split(":")[1] ?? "every check" }));
  const excepted = worse.filter((check) => exceptions.some((line) => matches(line, check)));
  return { worse: worse.filter((check) => !excepted.includes(check)), excepted, stale, lost: lost.filter(({ scenario }) => !broken.has(scenario)) };
}

/** Tools whose first round was run more often behind the gateway than directly; lines are `TOOL run` or `TOOL retry`. */
export function ranAgain(directly, through) {
  const runs = (path) => {
    const tools = existsSync(path) ? [...readFileSync(path, "utf8").matchAll(/^(\S+) run$/gm)].map((match) => match[1]) : [];
    return new Map([...new Set(tools)].map((tool) => [tool, tools.filter((other) => other === tool).length]));
  };
  const before = runs(directly);
  return [...runs(through)]
    .filter(([tool, times]) => times > (before.get(tool) ?? 0))
    .map(([tool, times]) => ({ scenario: tool, id: `${times} times, directly ${before.get(tool) ?? 0}` }));
}

/** One line per scenario, passed/failed; with a second run, both and a mark where they differ. */
export function table(directly, through, title = "directly") {
  const cell = (checks) => (checks ? `${count(checks, "SUCCESS")}/${count(checks, "FAILURE")}` : "-").padStart(8);
  const after = new Map((through ?? []).map(({ scenario, checks }) => [scenario, checks]));
  const width = Math.max(...directly.map(({ scenario }) => scenario.length));
  const line = (name, first, second) =>
    `  ${name.padEnd(width)} ${first}${through ? ` ${second}${first === second ? "" : "  differs"}` : ""}`;
  const sum = (result) => {
    const { passed, failed } = total(result);
    return `${passed}/${failed}`.padStart(8);
  };
  return [
    `  ${"passed/failed".padEnd(width)} ${title.padStart(8)}${through ? `  through` : ""}`,
    ...directly.map(({ scenario, checks }) => line(scenario, cell(checks), cell(after.get(scenario)))),
    line("all", sum(directly), sum(through ?? directly)),
  ].join("\n");
}
