// The TypeScript SDK as a user of our door: signs in, and again where a call needs more, and calls the tools it is told.
//
//   node client.mjs http://127.0.0.1:3095/mcp '[["TOOL", {"name": "value"}]]'
//
// It prints a line of JSON for each call: the tool and the text that it gave.

import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
const load = createRequire(join(here, "../../target/interop/node/"));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = load("@modelcontextprotocol/client");

const [address, calls] = process.argv.slice(2);
const redirectUrl = "http://127.0.0.1:8123/callback";

// All that a client must keep, in memory.
let registered, tokens, verifier, came;
const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: "TypeScript SDK",
    redirect_uris: [redirectUrl],
    application_type: "native",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
  },
  clientInformation: () => registered,
  saveClientInformation: (information) => (registered = information),
  tokens: () => tokens,
  saveTokens: (saved) => (tokens = saved),
  codeVerifier: () => verifier,
  saveCodeVerifier: (saved) => (verifier = saved),
  async redirectToAuthorization(url) {
    const { stdout } = await promisify(execFile)(join(here, "browser"), ["--stay", url.href]);
    came = new URL(stdout.trim());
  },
};

/** Does what needs a login, and does it again after one. */
async function signedIn(work) {
  let transport;
  for (let logins = 0; ; logins++) {
    transport = new StreamableHTTPClientTransport(new URL(address), { authProvider });
    try {
      return await work(transport);
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || logins === 3) throw error;
      await transport.finishAuth(came.searchParams);
    }
  }
}

for (const [name, input] of JSON.parse(calls)) {
  const result = await signedIn(async (transport) => {
    const client = new Client({ name: "door", version: "1.0.0" });
    await client.connect(transport);
    const result = await client.callTool({ name, arguments: input });
    await client.close();
    return result;
  });
  console.log(JSON.stringify({ tool: name, text: result.content[0].text }));
}
// Streams of transports that were given up may be open still.
process.exit(0);
