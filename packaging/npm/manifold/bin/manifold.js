#!/usr/bin/env node
// Starts the program of this platform, which npm has installed beside this package.
//
// From Node 22.15 on the program takes the place of this process: the client talks to it directly, its signals and its
// exit code are its own, and no Node stays behind. Older ones cannot do that: there this process stays, hands signals on
// and ends as the program ends.
"use strict";

const { accessSync, constants } = require("node:fs");
const { constants: os } = require("node:os");
const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const words = process.argv.slice(2);
const program = find();

// A failed exec would abort Node, so what can fail is tried first.
if (typeof process.execve === "function") {
  process.execve(program, [program, ...words], process.env);
} else {
  stayBeside();
}

function find() {
  const name = `${require("../package.json").name}-${platform}`;
  let found;
  try {
    found = require.resolve(`${name}/bin/manifold`);
  } catch {
    const known = Object.keys(require("../package.json").optionalDependencies ?? {});
    const why = known.includes(name)
      ? `the package ${name} is not installed; install again without --omit=optional`
      : `there is no program for ${platform}`;
    fail(why);
  }
  try {
    accessSync(found, constants.X_OK);
  } catch (error) {
    fail(`${found} cannot be run: ${error.code}`);
  }
  return found;
}

function stayBeside() {
  const child = spawn(program, words, { stdio: "inherit" });
  // A terminal sends these to both; the program decides what they mean, and we wait for it.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) => fail(`${program} cannot be run: ${error.code ?? error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    // A signal that does not end us, such as one we were told to ignore.
    setTimeout(() => process.exit(128 + os.signals[signal]), 1000);
  });
}

function fail(why) {
  process.stderr.write(`manifold: ${why}\n`);
  process.exit(1);
}
