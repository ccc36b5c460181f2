// The scenarios of the suite about signing in: `manifold login` as a user would, then a call through the gateway.

import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

// What the suite does there is to be refused, and nothing is called afterwards.
const refused = new Set(
  ["resource-mismatch", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized", "metadata-issuer-mismatch"].map(
    (name) => `auth/${name}`,
  ),
);
// One for the start, and one for each time that the server asks for more.
const logins = 3;
// In ms: what takes longer does not come.
const patience = 40_000;

/** What stands in the server's entry, by what the suite says of the client that is known to its authorization server. */
export function oauthFor(scenario, context) {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: privateKey, issuer } = context;
  if (scenario === "auth/basic-cimd") return { oauth: { clientMetadataUrl: "https://conformance-test.local/client-metadata.json" } };
  if (!scenario.startsWith("auth/") || !clientId) return {};
  const grant = scenario.startsWith("auth/client-credentials") ? "client_credentials" : undefined;
  return { oauth: { clientId, clientSecret, privateKey, issuer, grant } };
}

/** Lists and calls what the server has; signs in first, and again where that is what the error says. */
export async function signInAndCall(scenario, client, gateway) {
  // It must not be asked for ever, and how that ends is all the same.
  const isNeverContent = scenario === "auth/scope-retry-limit";
  if (refused.has(scenario)) {
    if ((await login(gateway)) !== "refused") throw new Error("the login was not refused");
    return;
  }
  if (scenario.startsWith("auth/client-credentials")) return callAll(client, gateway);
  for (let attempt = 1; attempt <= logins; attempt++) {
    const outcome = await login(gateway);
    if (outcome === "refused") throw new Error("the login was refused");
    if (outcome === "accepted") {
      const problem = await callAll(client, gateway).catch((error) => error);
      if (!problem || isNeverContent) return;
      console.error(`after login ${attempt}: ${problem.message}`);
      if (!problem.message.includes("manifold login")) throw problem;
    }
  }
  if (!isNeverContent) throw new Error("the server is never content");
}

/** Signs in, with this program as the browser. */
async function login(gateway) {
  const child = gateway.start("login", "conformance", "--no-browser");
  const exited = once(child, "exit").then(([code]) => ({ code }));
  const address = new Promise((found) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      console.error(`login: ${line}`);
      if (/^https?:\/\/\S+$/.test(line)) found({ address: line });
    });
  });
  const first = await Promise.race([exited, address]);
  if (first.address) {
    const page = await fetch(first.address);
    // A refused answer leaves the login open for the right one, which will not come.
    if (!page.ok) child.kill("SIGTERM");
  }
  const { code } = await exited;
  return { 0: "accepted", 6: "wants more" }[code] ?? "refused";
}

/** A list does not wait for a server, so it is asked for until there is one. */
async function callAll(client, gateway) {
  for (const until = Date.now() + patience; ; await sleep(100)) {
    const { tools } = await client.listTools();
    for (const { name } of tools) await client.callTool({ name, arguments: {} });
    if (tools.length > 0) return;
    if (Date.now() > until) throw new Error(await (await fetch(new URL("/api/status", gateway.url))).text());
  }
}
