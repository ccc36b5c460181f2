//! The shapes as JSON Schemas, committed in `docs/api`: a change of a type is a change of a file that others read.
//! `UPDATE_EXPECT=1` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use expect_test::expect_file;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::example::{call, failed_server, problem, server_id, snapshot};
use crate::*;

pub(super) fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// What is answered, by what writes it.
fn told<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    json!(generator.into_root_schema_for::<T>())
}

/// What is sent to us, by what reads it: all that has a default may be left out.
fn taken<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    json!(generator.into_root_schema_for::<T>())
}

/// What a server answered, as it answered it.
fn mcp(title: &str, members: Value) -> Value {
    let required: Vec<&String> = members.as_object().into_iter().flat_map(|members| members.keys()).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": format!("`{title}` of the Model Context Protocol, as the server gave it."),
        "type": "object",
        "properties": members,
        "required": required,
    })
}

fn object(members: Value) -> Value {
    let required: Vec<&String> = members.as_object().into_iter().flat_map(|members| members.keys()).collect();
    json!({"type": "object", "properties": members, "required": required})
}

fn blocks() -> Value {
    json!({"type": "array", "items": object(json!({"type": {"type": "string"}}))})
}

fn contents() -> Value {
    json!({"type": "array", "items": object(json!({"uri": {"type": "string"}}))})
}

fn messages() -> Value {
    let message = json!({"role": {"enum": ["user", "assistant"]}, "content": {"type": "object"}});
    json!({"type": "array", "items": object(message)})
}

fn completion() -> Value {
    object(json!({"values": {"type": "array", "items": {"type": "string"}}}))
}

fn schemas() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        // What routes answer with.
        ("about", told::<About>()),
        ("snapshot", told::<Snapshot>()),
        ("event", told::<StreamItem>()),
        ("server", told::<Server>()),
        ("servers", told::<Vec<Server>>()),
        ("logs", told::<Vec<LogLine>>()),
        ("recordings", told::<Vec<Recording>>()),
        ("recording", told::<Recording>()),
        ("recording-start", taken::<RecordingStart>()),
        ("cli-record-show", told::<RecordingDetail>()),
        ("cli-replay", told::<ReplayReport>()),
        ("cli-replay-diff", told::<RecordingDiff>()),
        ("items", told::<ItemPage>()),
        ("client", told::<Client>()),
        ("clients", told::<Vec<Client>>()),
        ("namespaces", told::<Vec<Namespace>>()),
        ("permissions", told::<Vec<NamespacePermissions>>()),
        ("config", told::<ConfigFile>()),
        ("config-check", told::<ConfigCheck>()),
        ("config-changed", told::<ConfigChanged>()),
        ("reload", told::<ReloadReport>()),
        ("traffic", told::<TrafficItem>()),
        ("audit", told::<Vec<AuditLine>>()),
        ("error", told::<ErrorBody>()),
        ("web-grant", told::<WebGrant>()),
        ("web-token", told::<WebToken>()),
        ("cli-open", told::<WebOpened>()),
        // What they take.
        ("web-session", taken::<WebSession>()),
        ("setup-change", taken::<SetupChange>()),
        ("web-code", taken::<WebCode>()),
        ("call-request", taken::<CallRequest>()),
        ("read-request", taken::<ReadRequest>()),
        ("prompt-request", taken::<PromptRequest>()),
        ("complete-request", taken::<CompleteRequest>()),
        ("question-answer", taken::<QuestionAnswer>()),
        ("permission-change", taken::<PermissionChange>()),
        ("config-text", taken::<ConfigText>()),
        ("server-rename", taken::<ServerRename>()),
        // What the command line writes with `--json`.
        ("cli-list", told::<Vec<ServerRow>>()),
        ("cli-get", told::<ServerDetail>()),
        ("cli-status", told::<StatusReport>()),
        ("cli-items", told::<Vec<ItemRow>>()),
        ("cli-log-line", told::<LogLine>()),
        ("cli-clients", told::<Vec<ClientRow>>()),
        ("cli-namespaces", told::<Vec<NamespaceRow>>()),
        ("cli-namespace", told::<NamespaceDetail>()),
        ("cli-disconnected", told::<Disconnected>()),
        ("cli-entries", told::<EntriesChanged>()),
        ("cli-import", told::<ImportReport>()),
        ("cli-init", told::<InitReport>()),
        ("cli-install", told::<InstalledRow>()),
        ("cli-undo", told::<UndoReport>()),
        ("cli-undo-list", told::<Vec<UndoRow>>()),
        ("cli-doctor", told::<DoctorReport>()),
        ("login-link", told::<LoginLink>()),
        ("cli-login", told::<LoginReport>()),
        ("cli-logout", told::<LogoutReport>()),
        ("cli-secret", told::<SecretChanged>()),
        ("cli-secrets", told::<SecretsReport>()),
        ("cli-token", told::<TokenChanged>()),
        ("cli-tokens", told::<Vec<TokenRow>>()),
        ("cli-secret-rekey", told::<StoreRekeyed>()),
        ("cli-secret-backup", told::<StoreCopied>()),
        ("cli-search", told::<Vec<RegistryRow>>()),
        ("cli-config-check", told::<ConfigReport>()),
        ("cli-config-show", told::<ShownConfig>()),
        ("cli-daemon-status", told::<DaemonStatus>()),
        ("cli-daemon-order", told::<DaemonOrdered>()),
        ("cli-error", told::<ErrorLine>()),
        // The same, in the words of MCP: of those no more than scripts rely on.
        ("cli-tool", mcp("Tool", json!({"name": {"type": "string"}, "inputSchema": {"type": "object"}}))),
        ("cli-call", mcp("CallToolResult", json!({"content": blocks()}))),
        ("cli-read", mcp("ReadResourceResult", json!({"contents": contents()}))),
        ("cli-prompt", mcp("GetPromptResult", json!({"messages": messages()}))),
        ("cli-complete", mcp("CompleteResult", json!({"completion": completion()}))),
    ])
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let folder = docs().join("api");
    let mut names = BTreeSet::new();
    for (name, schema) in schemas() {
        let file = format!("{name}.schema.json");
        let text = serde_json::to_string_pretty(&schema).expect("it can be written");
        expect_file![folder.join(&file)].assert_eq(&format!("{text}\n"));
        names.insert(file);
    }
    let there = std::fs::read_dir(folder).expect("the folder is there");
    let there: BTreeSet<String> =
        there.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    assert_eq!(there, names, "each file is of a type");
}

#[test]
fn what_is_written_is_what_its_schema_says() {
    let schemas = schemas();
    let check = |name: &str, value: Value| {
        let validator = jsonschema::validator_for(&schemas[name]).expect("it is a schema");
        let wrong: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?} in {value}");
    };
    let whole = snapshot();
    check("snapshot", json!(whole));
    check("snapshot", json!(Snapshot::default()));
    check("servers", json!(whole.servers));
    check("server", json!(failed_server()));
    check("clients", json!(whole.clients));
    check("namespaces", json!(whole.namespaces));
    check("about", json!(About::default()));
    let report =
        ReloadReport { added: vec![server_id("a")], problems: vec![problem()], ..ReloadReport::default() };
    for happening in [
        Happening::Server { server: Box::new(failed_server()) },
        Happening::Config { change: ConfigChange::Reloaded { report } },
        Happening::Call { call: CallStage::Began(call()) },
        Happening::Audit { line: Box::default() },
        Happening::Reset,
    ] {
        check("event", json!(Event { seq: 1, happening }));
    }
    check("event", json!(StreamItem::Cursor { at: Cursor::default() }));
    check("cli-list", json!(whole.server_rows()));
    for server in &whole.servers {
        check("cli-get", json!(whole.server_detail(server)));
    }
    let running = Some(Running { pid: 1, kind: "daemon".to_owned(), ..Running::default() });
    check(
        "cli-status",
        json!(StatusReport { running, servers: whole.server_rows(), ..StatusReport::default() }),
    );
    check("cli-status", json!(StatusReport::default()));
    check("cli-clients", json!([ClientRow::of(&whole.clients[0], String::new())]));
    check("cli-namespaces", json!([NamespaceRow::of(&whole.namespaces[0])]));
    let error = CommandError::new(ErrorCode::Busy, "later");
    check("cli-error", json!(ErrorLine::from(&error)));
    check("error", json!(ErrorBody { error }));
    check("call-request", json!({"name": "git__push", "arguments": {"x": 1}}));
    check(
        "permission-change",
        json!({"namespace": "n", "server": "s", "item": "tool", "name": "t", "allow": null}),
    );
}

#[test]
fn a_schema_wants_what_scripts_rely_on() {
    let schemas = schemas();
    let required = |name: &str, at: &str| {
        let members = schemas[name].pointer(at).and_then(Value::as_array).cloned().unwrap_or_default();
        members.iter().filter_map(Value::as_str).map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let has = |found: BTreeSet<String>, wanted: &[&str]| {
        for wanted in wanted {
            assert!(found.contains(*wanted), "{wanted} is not in {found:?}");
        }
    };
    has(required("cli-list", "/$defs/ServerRow/required"), &["id", "state", "kind", "tools", "clients"]);
    let of_get = ["id", "state", "why", "instances", "pids", "restarts", "calls", "errors"];
    has(required("cli-get", "/required"), &of_get);
    has(required("cli-status", "/required"), &["config", "problems", "running", "servers"]);
    has(
        required("cli-items", "/$defs/ItemRow/required"),
        &["name", "server", "original", "description", "bytes"],
    );
    let of_client = ["id", "name", "version", "era", "transport", "namespace", "since"];
    has(required("cli-clients", "/$defs/ClientRow/required"), &of_client);
    has(required("cli-error", "/$defs/ErrorRow/required"), &["code", "message", "hint"]);
    has(required("cli-import", "/required"), &["found", "added", "same", "skipped"]);
    has(required("cli-import", "/$defs/FoundEntry/required"), &["client", "file", "id"]);
    has(required("cli-entries", "/required"), &["file", "changed", "added", "removed", "problems"]);
    has(required("call-request", "/required"), &["name"]);
    assert_eq!(required("call-request", "/required").len(), 1);
}
