// Two gateways, the Redis they share and the balancer before them: how each is started.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const example = join(dirname(fileURLToPath(import.meta.url)), "../packaging/balancers/haproxy.cfg");
const folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** Returns where a program of the system is, also one for administrators, or nothing. */
function program(name) {
  const places = [...(process.env.PATH ?? "").split(":"), ...folders];
  return places.map((place) => join(place, name)).find((path) => existsSync(path));
}

/** The programs that are missing here. Where they must be there (MANIFOLD_REQUIRE_PROGRAMS) that is an error. */
export function missing() {
  const names = ["redis-server", "haproxy"].filter((name) => !program(name));
  if (names.length > 0 && process.env.MANIFOLD_REQUIRE_PROGRAMS) throw new Error(`not installed: ${names.join(", ")}`);
  return names;
}

/** Returns the command of a Redis that keeps nothing. */
export function redis(place, port) {
  const args = ["--port", `${port}`, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", place];
  return { command: program("redis-server"), args };
}

/** Writes the key that replicas share and returns what each of them is started with. */
export function sharing(place, redisPort) {
  const keys = join(place, "state.keys");
  writeFileSync(keys, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600 });
  const state = `redis://127.0.0.1:${redisPort}/0`;
  return (name) => {
    const own = join(place, name);
    mkdirSync(own, { recursive: true });
    return { own, args: ["--state", state, "--state-key-file", keys, "--replica", name] };
  };
}

/** Returns the command of HAProxy as its example has it, but for addresses and without TLS. */
export function haproxy(place, port, replicas) {
  const [bind, ...servers] = [/bind :443 ssl .*/, /10\.0\.0\.11:3095/, /10\.0\.0\.12:3095/];
  let text = replaced(readFileSync(example, "utf8"), bind, `bind 127.0.0.1:${port}`);
  servers.forEach((server, at) => (text = replaced(text, server, `127.0.0.1:${replicas[at]}`)));
  const config = join(place, "haproxy.cfg");
  writeFileSync(config, text);
  return { command: program("haproxy"), args: ["-db", "-f", config] };
}

function replaced(text, old, by) {
  if (!old.test(text)) throw new Error(`the example has no ${old}`);
  return text.replace(old, by);
}

/** Waits until a gateway says that it is ready. */
export async function ready(port) {
  for (let patience = 600; patience > 0; patience--) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    if (answer?.status === 200) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`the gateway on port ${port} is not ready`);
}
