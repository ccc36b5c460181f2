// The TypeScript SDK, version 1: a legacy client with strict parsing.

import { load } from "./gateway.mjs";
import { suite } from "./suite.mjs";

const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
const types = load("@modelcontextprotocol/sdk/types.js");

const schemas = {
  "sampling/createMessage": types.CreateMessageRequestSchema,
  "elicitation/create": types.ElicitRequestSchema,
  "roots/list": types.ListRootsRequestSchema,
};

suite("TypeScript SDK v1", {
  client(answers) {
    const capabilities = Object.fromEntries(Object.keys(answers).map((method) => [method.split("/")[0], {}]));
    const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities });
    for (const [method, answer] of Object.entries(answers)) {
      client.setRequestHandler(schemas[method], (request) => answer(request.params));
    }
    return client;
  },
  Transport: StdioClientTransport,
  call: (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
});
