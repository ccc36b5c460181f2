// Two gateways behind the balancer, as one address for the suite.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import * as parts from "../replicas.mjs";
import { freePort, start } from "./processes.mjs";

/** Starts a Redis, two gateways with this config that share it, and the balancer. */
export async function startReplicas(manifold, config, place) {
  const stops = [];
  const run = async (name, { command, args }, port, folder = place) => {
    stops.unshift((await start(command, args, { log: join(folder, `${name}.log`), port })).stop);
  };
  const redisPort = await freePort();
  mkdirSync(join(place, "redis"));
  await run("redis", parts.redis(join(place, "redis"), redisPort), redisPort);
  const shared = parts.sharing(place, redisPort);
  const ports = [];
  for (const name of ["one", "two"]) {
    const { own, args } = shared(name);
    const port = await freePort();
    await run("gateway", { command: manifold, args: ["http", "--config", config, "--port", `${port}`, ...args] }, port, own);
    ports.push(port);
  }
  // The balancer takes who is not ready for gone, and the suite would begin with one gateway.
  await Promise.all(ports.map(parts.ready));
  const port = await freePort();
  await run("balancer", parts.haproxy(place, port, ports), port);
  const stop = async () => {
    for (const each of stops) await each();
  };
  return { port, stop };
}
