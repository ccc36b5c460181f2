// The TypeScript SDK, version 2: legacy unless told otherwise, or both eras by `auto`.

import { load } from "./gateway.mjs";
import { suite } from "./suite.mjs";

const { Client } = load("@modelcontextprotocol/client");
const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");

for (const mode of ["legacy", "auto"]) {
  suite(`TypeScript SDK v2, ${mode}`, {
    client(answers) {
      const capabilities = Object.fromEntries(Object.keys(answers).map((method) => [method.split("/")[0], {}]));
      const options = { capabilities, versionNegotiation: { mode } };
      const client = new Client({ name: "interop", version: "1.0.0" }, options);
      for (const [method, answer] of Object.entries(answers)) {
        client.setRequestHandler(method, (request) => answer(request.params));
      }
      return client;
    },
    Transport: StdioClientTransport,
    call: (client, name, args, options) => client.callTool({ name, arguments: args }, options),
  });
}
