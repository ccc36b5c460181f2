// A real authorization server that logs everybody in at once: oidc-provider with what sign-in needs of it.
//
//   node provider.mjs '{"ttl": 5, "user": "alice"}'
//
// It tells its issuer, then every request (lines.mjs). Settings may be changed while it runs, by lines of stdin.

import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { json } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";

import { listen, takeOrders, tell, witness } from "./lines.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { resolve } = createRequire(join(root, "target/interop/node/"));
const { default: Provider } = await import(pathToFileURL(resolve("oidc-provider")));

const settings = {
  port: 0,
  /** How long access tokens are good, in seconds. */
  ttl: 3600,
  /** `jwt`, or `opaque` for tokens that must be asked about. */
  format: "jwt",
  user: "alice",
  scopes: ["mcp:read", "mcp:write"],
  /** Clients that are known from the start, as they would be registered. */
  clients: [],
  /** Documents of clients (CIMD) by address: what would be fetched is answered from here. */
  documents: {},
  /** Whether clients may register themselves. */
  registration: true,
  ...JSON.parse(process.argv[2] || "{}"),
};

const { server, origin: issuer } = await listen(settings.port);
const features = {
  devInteractions: { enabled: false },
  registration: { enabled: settings.registration },
  registrationManagement: { enabled: settings.registration },
  revocation: { enabled: true },
  introspection: { enabled: true, allowedPolicy: () => true },
  clientCredentials: { enabled: true },
  deviceFlow: { enabled: true },
  clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
  resourceIndicators: {
    enabled: true,
    defaultResource: () => undefined,
    useGrantedResource: () => true,
    getResourceServerInfo: (_, resource) => ({
      scope: settings.scopes.join(" "),
      audience: resource,
      accessTokenFormat: settings.format,
      accessTokenTTL: settings.ttl,
    }),
  },
};

const provider = new Provider(issuer, {
  features,
  clients: settings.clients,
  scopes: ["openid", "offline_access", ...settings.scopes],
  clientDefaults: { token_endpoint_auth_method: "none" },
  pkce: { required: () => true },
  // A refresh token that comes twice ends all tokens of its login.
  rotateRefreshToken: true,
  issueRefreshToken: async (_, client) => client.grantTypeAllowed("refresh_token"),
  ttl: {
    AccessToken: () => settings.ttl,
    ClientCredentials: () => settings.ttl,
    AuthorizationCode: 60,
    DeviceCode: 600,
    Grant: 86400,
    IdToken: 3600,
    Interaction: 600,
    RefreshToken: 86400,
    Session: 86400,
  },
  cookies: { keys: ["interop"] },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  fetch: async (url) => {
    const document = settings.documents[url];
    return document ? Response.json(document) : new Response("not here", { status: 404 });
  },
});
provider.use(register);
provider.use(consent);
witness(server, "provider");
server.on("request", provider.callback());
takeOrders(settings);
tell({ ready: issuer });

/** Takes registrations without the scopes that clients name there: else none could ever ask for more. */
async function register(ctx, next) {
  if (ctx.path === "/reg" && ctx.method === "POST") {
    const { scope, ...rest } = await json(ctx.req);
    ctx.req.body = rest;
  }
  return next();
}

/** Logs in and consents without a page. */
async function consent(ctx, next) {
  if (!ctx.path.startsWith("/interaction/")) return next();
  const { prompt, params, session, grantId } = await provider.interactionDetails(ctx.req, ctx.res);
  if (prompt.name === "login") {
    return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId: settings.user } });
  }
  const known = grantId && (await provider.Grant.find(grantId));
  const grant = known || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(" "));
  for (const [resource, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    grant.addResourceScope(resource, scopes.join(" "));
  }
  const result = { consent: { grantId: await grant.save() } };
  return provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: true });
}
