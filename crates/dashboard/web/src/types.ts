// What the control API answers with: docs/api/*.schema.json in TypeScript. Members only ever get added there, so what is
// not known here is ignored, and every list of words has room for others.

export type State = "starting" | "ready" | "idle" | "failed" | "stopped" | "disabled" | "needs-login" | "other";
export type Kind = "builtin" | "stdio" | "http" | "sse" | "litemcp" | "other";

export interface ServerId {
  id: string;
  schema?: string | null;
}

export interface ServerError {
  reason: string;
  text: string;
  hint?: string | null;
  agoMs?: number | null;
}

export interface Problem {
  severity: "error" | "warning" | "other";
  file: string | null;
  line: number | null;
  place: string;
  what: string;
  hint: string | null;
}

export interface Calls {
  total?: number | null;
  failed?: number | null;
  inFlight?: number | null;
  p50Us?: number | null;
  p95Us?: number | null;
}

export interface Lists {
  tools: number;
  resources: number;
  templates: number;
  prompts: number;
}

export interface Protocol {
  era?: string | null;
  revision: string;
}

export interface Instance {
  state: State;
  sinceMs: number;
  key?: string | null;
  pid?: number | null;
  memoryBytes?: number | null;
  clients?: number | null;
  client?: number | null;
  differs?: string[];
  restarts?: number | null;
  retryInMs?: number | null;
  failures?: number | null;
  error?: ServerError | null;
  lastError?: ServerError | null;
  protocol?: Protocol | null;
  calls?: Calls | null;
  unresponsive?: boolean;
}

export type Target =
  | { type: "program"; command: string; arguments: number }
  | { type: "address"; origin: string }
  | { type: "builtin"; name: string }
  | { type: "other" };

/** How one is signed in to a server. */
export interface SignIn {
  state: string;
  detail?: string | null;
  account: string;
  issuer: string | null;
  scopes: string[];
  until: string | null;
  lastRefresh: string | null;
  store: string | null;
}

/** Where a login that has begun is finished. */
export interface LoginLink {
  url: string;
  host: string;
  until: string;
}

export interface Server extends ServerId {
  name: string;
  exposedId: string;
  kind: Kind;
  target: Target;
  enabled: boolean;
  start: string;
  sharing: "shared" | "per-client" | "other";
  state: State;
  sinceMs?: number | null;
  pid?: number | null;
  calls?: Calls | null;
  env?: string[];
  headers?: string[];
  error?: ServerError | null;
  fault?: ServerError | null;
  instances?: Instance[];
  lists?: Lists | null;
  problems?: Problem[];
  saved?: { ageMs?: number | null; tools?: number | null } | null;
  signIn?: SignIn | null;
  toolBytes?: number | null;
  unresponsive?: boolean;
}

export type Principal =
  | { type: "local" }
  | { type: "token"; name?: string | null }
  | { type: "subject"; issuer: string; subject: string }
  | { type: "other" };

export interface Client {
  id: number;
  name?: string | null;
  version?: string | null;
  namespace: string | null;
  connectedMs: number;
  transport?: "stdio" | "http" | "litemcp" | "other" | null;
  protocol?: Protocol | null;
  principal?: Principal | null;
  pid?: number | null;
  cwd?: string | null;
  shim?: string | null;
  callsInFlight?: number | null;
}

export interface RuleCounts {
  allow: number;
  deny: number;
}

export interface Namespace {
  id: string | null;
  name: string;
  description: string;
  enabled: boolean;
  served: boolean;
  servers: ServerId[];
  clients?: number | null;
  lists?: Lists | null;
  permissions: {
    denyByDefault: boolean;
    tools: RuleCounts;
    prompts: RuleCounts;
    resources: RuleCounts;
    serverDefaults?: Record<string, boolean>;
  };
}

export interface PermissionRule {
  allow: boolean;
  item: "tool" | "prompt" | "resource" | "other";
  name: string;
  server: string;
}

export interface NamespacePermissions {
  namespace: string;
  denyByDefault: boolean;
  rules: PermissionRule[];
  serverDefaults?: Record<string, boolean>;
  tools?: ToolPermission[];
}

/** What holds for one tool, and what decided that. */
export interface ToolPermission {
  server: string;
  name: string;
  allow: boolean;
  by: "denied-tools" | "allowed-tools" | "rule" | "server-default" | "namespace-default" | "other";
  rule?: string | null;
}

export interface ConfigSource {
  path?: string | null;
  format: string;
  client?: string | null;
  defaultNamespace?: string | null;
  problems: Problem[];
  refused?: string | null;
  revision?: string | null;
  unread?: string | null;
}

export interface Listener {
  transport: string;
  address?: string | null;
  needsToken: boolean;
}

export interface Gateway {
  version: string;
  build?: string | null;
  profile: string;
  pid?: number | null;
  uptimeMs?: number | null;
  listeners: Listener[];
}

export interface Snapshot {
  at: string;
  gateway: Gateway;
  config: ConfigSource;
  servers: Server[];
  namespaces: Namespace[];
  clients: Client[];
}

export interface About extends Gateway {
  kind: string;
  config?: string | null;
  revision?: string | null;
  auditFault?: string | null;
  refused?: string | null;
  unread?: string | null;
}

export interface ReloadReport {
  added: ServerId[];
  removed: ServerId[];
  restarted: ServerId[];
  unchanged: number;
  problems: Problem[];
}

export interface ConfigText {
  path?: string | null;
  revision: string;
  text: string;
  problems: Problem[];
}

export interface ConfigChanged {
  revision: string;
  report: ReloadReport;
  /** What `POST /v1/setup/undo` takes it back by. */
  undo?: string | null;
}

export interface ConfigCheck {
  problems: Problem[];
  plan?: ReloadReport | null;
  refused?: string | null;
}

export interface ListedItem {
  name: string;
  original: string;
  server: string;
  bytes: number;
  description?: string | null;
  item?: unknown;
}

export interface Items {
  items: ListedItem[];
  nextCursor?: string | null;
  starting?: string[];
  failed?: { server: string; message: string }[];
}

export interface LogLine {
  time: string;
  line: string;
  server?: string | null;
  instance?: string | null;
}

export interface AuditLine {
  time: string;
  verb: string;
  target?: string | null;
  outcome: string;
  error?: string | null;
  actor: { face: string; pid?: number | null; program?: string | null; uid?: number | null };
}

export interface Recording {
  name: string;
  file: string;
  bytes: number;
  frames: number;
  lost: number;
  isRunning: boolean;
  filter?: string | null;
  started?: string | null;
  problem?: string | null;
}

export interface CallEnded {
  stage: "ended";
  number: number;
  method: string;
  outcome: "ok" | "tool-error" | "server-error" | "fault" | "timed-out" | "cancelled" | "other";
  tookUs: number;
  server?: ServerId | null;
  tool?: string | null;
  client?: number | null;
  namespace?: string | null;
  requestBytes?: number | null;
  responseBytes?: number | null;
}

export type CallStage = CallEnded | { stage: "began" | "other" };

export type Event = { seq: number } & (
  | { kind: "server"; server: Server }
  | { kind: "catalog"; lists: Lists; namespace: string | null }
  | { kind: "client"; change: "came" | "left" | "changed" | "other"; client: Client }
  | { kind: "config"; change: { type: "reloaded"; report: ReloadReport } | { type: "refused"; why: string } | { type: "other" } }
  | { kind: "call"; call: CallStage }
  | { kind: "log"; line: LogLine }
  | { kind: "audit"; line: AuditLine }
  | { kind: "daemon"; change: string }
  | { kind: "recording"; change: "started" | "stopped" | "other"; recording: Recording }
  | { kind: "reset" }
  | { kind: "other" }
);

/** Returns what names a server in a path and on the screen: its id, with the schema that owns it where there is one. */
export function serverKey(server: ServerId): string {
  return server.schema ? `${server.schema}/${server.id}` : server.id;
}
