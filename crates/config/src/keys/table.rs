//! Every key of every format, with its range, its default and one line about it.

use super::Kind::{
    Choice, Flag, FlagMap, List, Map, Members, Number, OneOf, Size, Text, TextMap, Texts, Unused,
};
use super::{Key, Kind, Range, Section, Unit};
use crate::profile::Profile;

/// A year: whoever writes more means "never", and a clock must be able to add it.
const LONGEST_MS: u64 = 365 * 24 * 3600 * 1000;

const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, about, vital: false, guard: false }
}

const fn vital(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, default: "", about, vital: true, guard: false }
}

/// Where anything but this kind of value means that the file was not understood.
const fn basic(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, about, vital: true, guard: false }
}

/// What restricts: never left out for the way it is written.
const fn guard(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, about, vital: true, guard: true }
}

/// Known from another program's files, and silently left alone.
const fn unused(name: &'static str) -> Key {
    key(name, Unused, "", "Accepted and not used.")
}

const fn millis(min: u64, max: u64) -> Kind {
    Number(Range { min, max, unit: Unit::Milliseconds, usable: (1, LONGEST_MS) })
}

const fn millis_or_none(max: u64) -> Kind {
    Number(Range { min: 0, max, unit: Unit::Milliseconds, usable: (0, LONGEST_MS) })
}

/// For `cli.stdio`, where a value out of range is not used (S0-17).
const fn strict_millis(min: u64, max: u64) -> Kind {
    Number(Range { min, max, unit: Unit::Milliseconds, usable: (min, max) })
}

const fn seconds(min: u64, max: u64) -> Kind {
    Number(Range { min, max, unit: Unit::Seconds, usable: (1, LONGEST_MS / 1000) })
}

const fn count(min: u64, max: u64, usable: (u64, u64)) -> Kind {
    Number(Range { min, max, unit: Unit::Plain, usable })
}

const fn section(section: &'static Section) -> Kind {
    Kind::Section(section)
}

const ROOTS: Kind = OneOf(&[Texts, List(&ROOT)]);
const ANY_COUNT: (u64, u64) = (0, u32::MAX as u64);
const SOME_COUNT: (u64, u64) = (1, u32::MAX as u64);

pub(crate) static TOP: Section = Section {
    name: "config",
    about: "Configuration of Manifold. Files of mcps-proxy, mcp-studio, mcp-all-in-one and MCP clients are valid too.",
    keys: &[
        basic("mcpServers", Map(&SERVER), "none", "The servers by name, as in every MCP client's file."),
        basic("servers", Map(&SERVER), "none", "The servers by id (mcp-studio)."),
        basic("schemas", Map(&SCHEMA), "none", "Toolsets that own their servers (mcps-proxy)."),
        guard(
            "namespaces",
            OneOf(&[Map(&NAMESPACE), List(&NAMESPACE)]),
            "none",
            "Toolsets that refer to servers.",
        ),
        key("defaultNamespaceId", Text, "none", "The namespace served when none is named."),
        key("defaultNamespace", Text, "none", "Same as `defaultNamespaceId`."),
        guard(
            "toolPermissions",
            List(&PERMISSION),
            "none",
            "Single tools, prompts and resources allowed or denied in a namespace.",
        ),
        basic("profile", Choice(Profile::NAMES), "manifold", "Whose defaults apply."),
        key("separator", Text, "by profile", "What stands between server id and tool name."),
        key("prefixDescriptions", Flag, "by profile", "Whether descriptions begin with `[server]`."),
        key(
            "prefixPrompts",
            OneOf(&[Flag, Choice(PROMPT_PREFIXES)]),
            "by profile",
            "Whether prompt names carry the server id.",
        ),
        key(
            "managerTools",
            OneOf(&[Flag, section(&MANAGER_TOOLS)]),
            "by profile",
            "Whether the gateway's own tools are listed.",
        ),
        key("start", Choice(&["lazy", "eager"]), "by profile", "When servers start."),
        key(
            "validateArguments",
            Choice(&["off", "required", "full"]),
            "by profile",
            "What is checked of a call's arguments.",
        ),
        key("callTimeout", millis(1000, 3_600_000), "by profile", "How long a call may take, in ms."),
        key("errorCodes", Choice(&["own", "standard"]), "by profile", "The error codes told to clients."),
        key(
            "serverName",
            Text,
            "by profile",
            "The name told to clients, and the prefix of the manager tools.",
        ),
        key("serverVersion", Text, "by profile", "The version told to clients."),
        key("maxNameLength", count(16, 256, (12, 4096)), "64", "The longest tool name clients accept."),
        key(
            "limits",
            section(&LIMITS),
            "see there",
            "Sizes of messages, and how much clients may have open.",
        ),
        key("telemetry", section(&TELEMETRY), "see there", "Metrics and traces."),
        guard("audit", section(&AUDIT), "none", "One line for each call."),
        key(
            "drainTimeout",
            millis_or_none(60_000),
            "5000",
            "How long calls in flight may take at shutdown, in ms.",
        ),
        key("watchConfig", Flag, "true", "Whether changes of this file are taken over as they happen."),
        key(
            "daemon",
            OneOf(&[Flag, section(&DAEMON)]),
            "true",
            "Whether the clients on stdio share one daemon, and so their servers.",
        ),
        key("tui", section(&TUI), "see there", "The terminal interface."),
        key("dashboard", section(&DASHBOARD), "see there", "The dashboard on the port of HTTP."),
        key("roots", ROOTS, "none", "Roots offered to servers that ask outside any call."),
        guard(
            "scale",
            section(&SCALE),
            "see there",
            "Several gateways that serve the same clients over HTTP.",
        ),
        guard("server", section(&HTTP), "see there", "The HTTP server."),
        key("logging", section(&LOGGING), "see there", "Logs."),
        key("cli", section(&CLI), "see there", "Settings of the stdio mode (mcps-proxy)."),
        unused("$schema"),
        unused("schemaVersion"),
        unused("lastModified"),
        unused("proxies"),
        unused("daemonMode"),
        unused("metrics"),
        unused("mcp_oauth_credentials_store"),
        unused("mcp_oauth_callback_port"),
        unused("inputs"),
    ],
};

const PROMPT_PREFIXES: &[&str] = &["always", "onClash", "never"];
const TYPES: &[&str] =
    &["stdio", "http", "sse", "streamable-http", "streamable_http", "streamableHttp", "litemcp"];

pub(crate) static SERVER: Section = Section {
    name: "server",
    about: "One server: `command` for a local program, `url` for a remote one, `builtin` or `replay`.",
    keys: &[
        vital("command", Text, "The program to run."),
        vital("args", Texts, "Its arguments."),
        vital("env", TextMap, "Its own environment variables."),
        vital("envFile", Text, "A file with more of them, `NAME=value` on each line (VS Code, Cursor)."),
        vital("cwd", Text, "The directory it runs in."),
        vital("url", Text, "The address of a remote server."),
        vital("serverUrl", Text, "Same as `url` (Windsurf)."),
        vital("httpUrl", Text, "Same as `url`, Streamable HTTP (Gemini)."),
        vital("headers", TextMap, "Headers sent to a remote server."),
        vital("http_headers", TextMap, "Same as `headers` (mcpmu)."),
        vital("env_http_headers", TextMap, "Headers whose values are in the named variables (mcpmu)."),
        vital("bearer_token_env_var", Text, "The variable that holds the bearer token (mcpmu)."),
        vital("builtin", Text, "A server inside the gateway: `time`."),
        vital(
            "replay",
            Text,
            "A recording (`.mfr`) that answers as its server did; `args` may be those of `replay`.",
        ),
        key("type", Choice(TYPES), "told by the other keys", "How the server speaks."),
        key("kind", Choice(TYPES), "told by the other keys", "Same as `type` (mcp-studio)."),
        key("transport", Choice(TYPES), "told by the other keys", "Same as `type` (Cline, Kimi)."),
        key("transportType", Choice(TYPES), "told by the other keys", "Same as `type` (Cline)."),
        key("name", Text, "the key", "The name shown to people and models."),
        guard("enabled", Flag, "true", "Whether the server is used."),
        guard("disabled", Flag, "false", "The opposite of `enabled`."),
        key("eager", Flag, "by `start`", "Start it before it is needed."),
        key("autostart", Flag, "by `start`", "Same as `eager` (mcpmu)."),
        key(
            "lazy",
            Flag,
            "by `start`",
            "Start it when it is needed; `false` with `eager: false`: only by hand.",
        ),
        key("timeout", millis(1000, 300_000), "`callTimeout`", "How long a call may take, in ms."),
        key("tool_timeout_sec", seconds(1, 300), "`callTimeout`", "Same as `timeout`, in seconds (mcpmu)."),
        key("startTimeout", millis(1000, 300_000), "60000", "How long the server may take to start, in ms."),
        key("startup_timeout_sec", seconds(1, 300), "60", "Same as `startTimeout`, in seconds (mcpmu)."),
        key(
            "idleTimeout",
            millis_or_none(LONGEST_MS),
            "never",
            "Stop the server when unused for so long, in ms.",
        ),
        key("era", Choice(&["auto", "legacy", "modern"]), "auto", "Which revisions of MCP to speak with it."),
        guard(
            "shared",
            OneOf(&[Flag, Choice(&["project"])]),
            "by folder",
            "Who shares a process: all clients; `false`: none, each has one until it leaves (256 at most); `project`: those of a project; else those of a folder.",
        ),
        key(
            "shareAcross",
            Texts,
            "none",
            "Variables, `PATH` or `cwd`, in which clients may differ and share it all the same.",
        ),
        guard(
            "inheritEnv",
            OneOf(&[Flag, Texts]),
            "true; under the daemon those it names",
            "Whether, or which of, the client's variables are passed on; `true` under the daemon: each client has a process.",
        ),
        key("maxConcurrency", count(1, 10_000, SOME_COUNT), "256", "How many calls may be open at once."),
        key(
            "replicas",
            Choice(&["one", "each"]),
            "each",
            "Whether a local server runs at one of several replicas that share a store, or at each of them.",
        ),
        key(
            "trace",
            Flag,
            "true",
            "Whether it is told the trace that a call belongs to, where there is one.",
        ),
        key("roots", ROOTS, "those of the file", "Roots offered to this server."),
        guard(
            "deniedTools",
            Texts,
            "none",
            "Tools refused in every namespace; `*` in a name stands for any characters.",
        ),
        guard("disabledTools", Texts, "none", "Same as `deniedTools` (Roo, Kiro)."),
        guard("excludeTools", Texts, "none", "Same as `deniedTools` (Gemini)."),
        guard(
            "allowedTools",
            Texts,
            "all",
            "The only tools there are, in every namespace; `*` in a name stands for any characters.",
        ),
        guard("includeTools", Texts, "all", "Same as `allowedTools` (Gemini, Amp)."),
        guard("tools", OneOf(&[Texts, Members]), "all", "Same as `allowedTools` (Copilot CLI)."),
        key("restart", Flag, "true", "Start it again when it exits."),
        key(
            "restartDelay",
            millis(100, 60_000),
            "our own back-off",
            "Wait at least so long before that, in ms.",
        ),
        guard(
            "memoryLimit",
            count(16, 1 << 20, SOME_COUNT),
            "none",
            "End it when it and all it started use more memory than this, in MiB.",
        ),
        guard(
            "processLimit",
            count(1, 100_000, SOME_COUNT),
            "none",
            "End it when it has more processes than this, its own included.",
        ),
        key("retries", count(0, 10, ANY_COUNT), "3", "How often a failed connection is tried again."),
        key("retryDelay", millis(100, 60_000), "1000", "The wait before that, in ms."),
        key(
            "reconnectInterval",
            millis(100, 300_000),
            "1000",
            "The wait before an event stream is opened again, in ms.",
        ),
        key("maxRetries", count(0, 100, ANY_COUNT), "5", "How often an event stream is opened again."),
        key(
            "oauth",
            OneOf(&[Flag, section(&OAUTH), Unused]),
            "as the server says",
            "How to sign in to a remote server; `false`: never.",
        ),
        key("auth", OneOf(&[section(&AUTH), Unused]), "none", "Same as `oauth` (Cursor)."),
        key("scopes", SCOPES, "none", "Same as `oauth.scopes` (Codex)."),
        key("oauth_resource", Text, "none", "Same as `oauth.resource` (Codex)."),
        key("account", Text, "default", "Which of the accounts that are signed in to it is used."),
        unused("id"),
        unused("description"),
        unused("alwaysAllow"),
        unused("autoApprove"),
        unused("trust"),
        unused("alwaysLoad"),
        unused("dev"),
        unused("gallery"),
        unused("version"),
        unused("watchPaths"),
    ],
};

/// As a list, or in one text between spaces, as the protocol writes them.
const SCOPES: Kind = OneOf(&[Texts, Text]);

pub(crate) static OAUTH: Section = Section {
    name: "oauth",
    about: "How to sign in to a remote server. Most servers need none of it.",
    keys: &[
        key("clientId", Text, "registered by itself", "The client that is registered there for this."),
        key("clientSecret", Text, "none", "Its secret."),
        key("privateKey", Text, "none", "Its private key instead: PEM, or the file that holds it."),
        key("clientName", Text, "Manifold", "The name to register by."),
        key(
            "clientMetadataUrl",
            Text,
            "none",
            "The https address of a document that describes the client, for servers that take one.",
        ),
        key("issuer", Text, "as the server says", "The only authorization server to trust."),
        key(
            "authServerMetadataUrl",
            Text,
            "found by itself",
            "Where its metadata is, if not where it belongs (Claude Code).",
        ),
        key(
            "resource",
            OneOf(&[Text, Flag]),
            "as the server says",
            "What the token is asked for; `false`: not said at all.",
        ),
        key("scopes", SCOPES, "as the server says", "The scopes to ask for."),
        key("params", TextMap, "none", "More parameters of the address that is opened in the browser."),
        key("callbackPort", count(1, 65_535, (1, 65_535)), "any", "The port that the browser comes back to."),
        key(
            "callbackUrl",
            Text,
            "on 127.0.0.1",
            "The address that is registered for coming back, if it is not ours on 127.0.0.1.",
        ),
        key("pkce", Choice(&["assume"]), "as listed", "`assume`: use it though the server does not list it."),
        key("allowPrivate", Flag, "false", "Whether its authorization server may be inside your network."),
        key(
            "assumeEndpoints",
            Flag,
            "false",
            "Whether an old server that says nothing of signing in has `/authorize`, `/token` and `/register` at its root.",
        ),
        key("credential", Text, "its own", "A name under which several servers share one sign-in."),
        key(
            "grant",
            Choice(&["code", "client_credentials", "device"]),
            "code",
            "How: in a browser, as a machine, or with a code on another device.",
        ),
        key("client_id", Text, "none", "Same as `clientId` (mcpmu)."),
        key("client_secret", Text, "none", "Same as `clientSecret` (mcpmu)."),
        key("callback_port", count(1, 65_535, (1, 65_535)), "any", "Same as `callbackPort` (mcpmu)."),
    ],
};

pub(crate) static AUTH: Section = Section {
    name: "auth",
    about: "How to sign in to a remote server, as Cursor writes it.",
    keys: &[
        key("CLIENT_ID", Text, "none", "Same as `clientId`."),
        key("CLIENT_SECRET", Text, "none", "Same as `clientSecret`."),
        key("scopes", SCOPES, "none", "Same as `scopes`."),
    ],
};

pub(crate) static SCHEMA: Section = Section {
    name: "schema",
    about: "A toolset that owns its servers.",
    keys: &[
        guard("enabled", Flag, "true", "Whether it is served."),
        basic("mcpServers", Map(&SERVER), "none", "Its servers by name."),
        key("name", Text, "the key", "The name shown to people."),
        key("description", Text, "empty", "What it is for."),
        guard("denyByDefault", Flag, "false", "Deny every tool, prompt and resource that no rule allows."),
        guard("serverDefaults", FlagMap, "none", "Per server: true denies what no rule names."),
    ],
};

pub(crate) static NAMESPACE: Section = Section {
    name: "namespace",
    about: "A toolset that refers to servers.",
    keys: &[
        key("id", Text, "the key", "Its id."),
        key("name", Text, "the id", "The name shown to people."),
        key("description", Text, "empty", "What it is for."),
        guard("enabled", Flag, "true", "Whether it is served."),
        key("serverIds", Texts, "none", "The ids of its servers."),
        key("accounts", TextMap, "none", "Per server: the account that is used in this namespace."),
        guard("denyByDefault", Flag, "false", "Deny every tool, prompt and resource that no rule allows."),
        guard("serverDefaults", FlagMap, "none", "Per server: true denies what no rule names."),
    ],
};

pub(crate) static PERMISSION: Section = Section {
    name: "permission",
    about: "Allows or denies a tool, a prompt or resources of a server in one namespace.",
    keys: &[
        guard("namespaceId", Text, "", "The namespace."),
        guard("namespace", Text, "", "Same as `namespaceId`."),
        guard("serverId", Text, "", "The server."),
        guard("server", Text, "", "Same as `serverId`."),
        guard(
            "toolName",
            Text,
            "",
            "The tool, by the server's own name for it; `*` in it stands for any characters.",
        ),
        guard(
            "promptName",
            Text,
            "",
            "The prompt, by the server's own name for it; `*` in it stands for any characters.",
        ),
        guard(
            "resourceUri",
            Text,
            "",
            "The resource by its URI, or those of a URI template; `*` is all of them.",
        ),
        guard("enabled", Flag, "false", "True allows it, false denies it."),
    ],
};

pub(crate) static MANAGER_TOOLS: Section = Section {
    name: "managerTools",
    about: "Where the gateway's own tools are listed.",
    keys: &[key("stdio", Flag, "by profile", "On stdio."), key("http", Flag, "by profile", "Over HTTP.")],
};

pub(crate) static DAEMON: Section = Section {
    name: "daemon",
    about: "The daemon that the clients on stdio share.",
    keys: &[
        key(
            "linger",
            strict_millis(1000, LONGEST_MS),
            "60000",
            "How long it stays after its last client, and a server after the last that used it, in ms.",
        ),
        key("http", Flag, "false", "Whether it serves over HTTP too, with the same servers."),
    ],
};

pub(crate) static TUI: Section = Section {
    name: "tui",
    about: "The terminal interface.",
    keys: &[key(
        "keys",
        TextMap,
        "see tui.md",
        "Other keys for actions, by the action's name: one key or several with blanks between them.",
    )],
};

pub(crate) static DASHBOARD: Section = Section {
    name: "dashboard",
    about: "The dashboard on the port of `manifold http`, for those with its token.",
    keys: &[
        key("enabled", Flag, "false", "Whether it is there, at `/ui/`."),
        key(
            "scope",
            Choice(&["view", "act"]),
            "act",
            "Whether it only looks, or also calls tools and orders servers.",
        ),
    ],
};

pub(crate) static SCALE: Section = Section {
    name: "scale",
    about: "Several gateways that serve the same clients over HTTP.",
    keys: &[
        guard(
            "stateKeyFile",
            Text,
            "none",
            "A file with the keys that all replicas have: 32 bytes in base64 on each line, the first seals, all open.",
        ),
        guard(
            "state",
            Text,
            "none",
            "The Redis that replicas share, as `redis://host:6379/0`; `rediss` is over TLS, `redis+sentinel` and `redis+cluster` \
             name several.",
        ),
        guard("statePasswordFile", Text, "none", "A file with the password for it."),
        guard(
            "cluster",
            Text,
            "none",
            "A name that all replicas have: several clusters of them can share one Redis. Letters, digits, `-`, `_`, `.`.",
        ),
        key("replica", Text, "the machine's name and the port", "The name of this replica in logs."),
        key(
            "drainDelay",
            millis_or_none(600_000),
            "0",
            "How long requests are still taken on at shutdown while `/readyz` says `draining`, in ms.",
        ),
        key(
            "address",
            Text,
            "`server.host` and the port",
            "Where the other replicas reach this one, as `http://10.0.0.7:3095`.",
        ),
    ],
};

pub(crate) static LIMITS: Section = Section {
    name: "limits",
    about: "Sizes of messages, and what clients may have open at once over HTTP. A client is a session, or a connection without one.",
    keys: &[
        key("requestBytes", Size, "16MB", "The largest message from a client."),
        key("messageBytes", Size, "64MB", "The largest message from a server."),
        key(
            "heldBytes",
            Size,
            "a quarter of the memory",
            "What all messages under way may take up, one client a quarter of it; past it new requests wait or are refused.",
        ),
        key(
            "sessions",
            count(1, 1_000_000, SOME_COUNT),
            "20000",
            "Sessions of all clients that share one token or none; past it one unused for a minute makes room, or 429.",
        ),
        key(
            "sessionsPerAddress",
            count(1, 1_000_000, SOME_COUNT),
            "1000",
            "The same for each token and address, where clients have tokens of their own.",
        ),
        key(
            "streamsPerClient",
            count(1, 10_000, SOME_COUNT),
            "64",
            "Streams a client only listens on; the answer to a call is none.",
        ),
        key("callsPerClient", count(1, 100_000, SOME_COUNT), "1024", "Calls of a client in flight."),
        key(
            "parkedPerClient",
            count(1, 4096, SOME_COUNT),
            "256",
            "Calls of a client that wait for it to come back with answers.",
        ),
        guard("rate", List(&RATE), "none", "How many calls there may be in some time."),
    ],
};

pub(crate) static RATE: Section = Section {
    name: "rate",
    about: "So many calls in so many seconds, for each of something. As many may come at once.",
    keys: &[
        guard(
            "per",
            Choice(&["principal", "namespace", "server", "tool"]),
            "",
            "What is counted by: who asks, where it comes in, where it goes.",
        ),
        guard(
            "match",
            Text,
            "all",
            "Which of them, with `*` and `?`: `token:ci`, a namespace, a server, a tool as `server/tool` or by its own name.",
        ),
        guard("limit", count(1, 1_000_000, SOME_COUNT), "", "So many calls."),
        guard("window", seconds(1, 86_400), "", "In so many seconds."),
    ],
};

pub(crate) static TELEMETRY: Section = Section {
    name: "telemetry",
    about: "Metrics and traces. Variables named `OTEL_…` count more.",
    keys: &[
        key(
            "metrics",
            OneOf(&[Flag, Text]),
            "false",
            "Where Prometheus finds metrics: `ADDRESS:PORT`; `true` is `127.0.0.1:9464`.",
        ),
        key("endpoint", Text, "none", "Where spans are sent, by OTLP over HTTP."),
        key("headers", TextMap, "none", "Headers of what is sent there."),
        key("pushMetrics", Flag, "false", "Whether metrics are sent there as well, once a minute."),
        key(
            "samplePercent",
            count(0, 100, (0, 100)),
            "10",
            "How many of a hundred traces that begin here are kept; those of others as they say.",
        ),
        key("baggage", Texts, "none", "The members of `baggage` that servers may see."),
    ],
};

pub(crate) static AUDIT: Section = Section {
    name: "audit",
    about: "One line for each call.",
    keys: &[
        guard("file", Text, "", "The file, or `stdout` where that is not what is served on."),
        key("payload", Choice(&["none", "redacted"]), "none", "Whether arguments and results are in it."),
    ],
};

pub(crate) static ROOT: Section = Section {
    name: "root",
    about: "One root.",
    keys: &[key("uri", Text, "", "Its URI, or a path."), key("name", Text, "none", "Its name.")],
};

pub(crate) static HTTP: Section = Section {
    name: "http",
    about: "The HTTP server.",
    keys: &[
        key("host", Text, "127.0.0.1", "The address to listen on; any but loopback needs a token."),
        key("port", count(0, 65_535, (0, 65_535)), "3095", "The port to listen on; 0 takes a free one."),
        guard("token", Text, "none", "The bearer token clients must send; it goes by the name `default`."),
        guard("tokens", Map(&NAMED_TOKEN), "none", "Further tokens by name, each with what it may use."),
        guard("auth", section(&DOOR_AUTH), "none", "Whose OAuth tokens let clients in, and to what."),
        guard(
            "publicUrl",
            Text,
            "none",
            "Our address as clients write it, without a path; needed for `auth` where other machines can come.",
        ),
        key("allowedHosts", Texts, "none", "Host names accepted beside the loopback ones."),
        key("cors", section(&CORS), "off", "Web pages that may use the gateway."),
        guard("tls", section(&TLS), "off", "Certificate and key."),
        key(
            "lenientHeaders",
            Flag,
            "false",
            "Whether an `MCP-Protocol-Version` header that differs from its request is let pass.",
        ),
    ],
};

pub(crate) static CORS: Section = Section {
    name: "cors",
    about: "Web pages that may use the gateway.",
    keys: &[
        guard("enabled", Flag, "true", "Whether this section counts."),
        key("origins", Texts, "none", "Origins allowed beside the loopback ones."),
        key("methods", Texts, "GET, POST, DELETE, OPTIONS", "Methods allowed."),
        key("allowedHeaders", Texts, "those MCP needs", "Request headers allowed."),
        key("credentials", Flag, "false", "Whether credentials may be sent."),
    ],
};

pub(crate) static TLS: Section = Section {
    name: "tls",
    about: "Certificate and key, as PEM files.",
    keys: &[
        key("cert", Text, "", "The certificate chain."),
        key("key", Text, "", "The private key."),
        guard("clientCa", Text, "none", "Certificates of those who may sign clients' certificates."),
        guard(
            "clientCerts",
            Choice(&["required", "optional"]),
            "required",
            "Whether a client without a certificate may still come with a token.",
        ),
    ],
};

pub(crate) static NAMED_TOKEN: Section = Section {
    name: "namedToken",
    about: "A token and what it may use. It is one of `file`, `env` and `hash`.",
    keys: &[
        guard("file", Text, "", "A file that holds the token."),
        guard("env", Text, "", "The variable that holds the token."),
        guard("hash", Text, "", "The SHA-256 of the token, in hexadecimal digits."),
        guard("namespaces", Texts, "all", "The namespaces it may use."),
        guard(
            "tools",
            Texts,
            "all",
            "The tools it may use, by the names clients see; `*` stands for any text.",
        ),
        guard("expires", Text, "never", "Until when it is good: a date, or a date and time."),
    ],
};

pub(crate) static DOOR_AUTH: Section = Section {
    name: "doorAuth",
    about: "Whose OAuth tokens let clients in, and to what.",
    keys: &[
        guard(
            "issuer",
            Text,
            "",
            "The authorization server, as it names itself; `http` only on this machine.",
        ),
        guard("issuers", Texts, "none", "Several of them."),
        guard("audiences", Texts, "none", "Audiences of tokens accepted beside our own addresses."),
        guard("jwks", Text, "as the issuer says", "Where the keys of the issuer are."),
        guard("introspection", section(&INTROSPECTION), "none", "Whom to ask about tokens that are no JWT."),
        guard("scopes", Map(&SCOPE), "all may use all", "What each scope lets a token use."),
        guard("requiredScopes", Texts, "none", "Scopes that every token must have."),
        guard("scopeClaims", Texts, "scope, scp", "The claims that hold scopes, as `realm_access.roles`."),
        guard(
            "leeway",
            Number(Range { min: 0, max: 300, unit: Unit::Seconds, usable: (0, 300) }),
            "60",
            "By how much clocks may differ, in seconds.",
        ),
        guard("algorithms", Texts, "RS, PS and ES with SHA-2, and EdDSA", "The signatures accepted."),
        guard("requireTyp", Flag, "false", "Whether a JWT must say that it is an access token (`at+jwt`)."),
    ],
};

pub(crate) static INTROSPECTION: Section = Section {
    name: "introspection",
    about: "Whom to ask about tokens that are no JWT (RFC 7662).",
    keys: &[
        guard("url", Text, "", "The address to ask at."),
        guard("clientId", Text, "", "Our name there."),
        guard("clientSecret", Text, "", "Our secret there."),
    ],
};

pub(crate) static SCOPE: Section = Section {
    name: "scope",
    about: "What a scope lets a token use.",
    keys: &[
        guard("namespaces", Texts, "all", "The namespaces."),
        guard("tools", Texts, "all", "The tools, by the names clients see; `*` stands for any text."),
    ],
};

pub(crate) static LOGGING: Section = Section {
    name: "logging",
    about: "Logs.",
    keys: &[
        key(
            "level",
            Choice(&["error", "warn", "info", "debug", "trace"]),
            "info",
            "The least serious level logged.",
        ),
        key("format", Choice(&["text", "json"]), "text", "How lines look."),
        key("console", Flag, "true", "Whether to log on stderr."),
        key("file", Text, "by profile", "A file to log to as well."),
        key("maxSize", Size, "10MB", "The file is rotated at this size."),
        key(
            "maxFiles",
            count(1, 100, (1, 10_000)),
            "5",
            "How many files are kept, the one being written included.",
        ),
    ],
};

pub(crate) static CLI: Section = Section {
    name: "cli",
    about: "Settings of the stdio mode (mcps-proxy).",
    keys: &[key("stdio", section(&STDIO), "see there", "Settings of the stdio mode.")],
};

pub(crate) static STDIO: Section = Section {
    name: "stdio",
    about: "Settings of the stdio mode.",
    keys: &[
        key("encoding", Choice(&["utf8", "utf-8", "UTF-8"]), "utf8", "The only encoding of JSON."),
        key("delimiter", Choice(&["\n", "\r\n"]), "\\n", "The line end; framing is detected anyway."),
        key(
            "timeout",
            strict_millis(1000, 300_000),
            "`callTimeout`",
            "How long a call may take on stdio, in ms.",
        ),
    ],
};
