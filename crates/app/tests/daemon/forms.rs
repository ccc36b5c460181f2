//! What every verb writes with `--json`, against the committed schemas, and that nothing of it can steer a terminal. Each
//! gateway that can answer is asked: the daemon, `manifold http`, one of the command's own, and the files alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use manifold_testkit::http::Gateway;
use manifold_testkit::{Sandbox, fake};
use serde_json::{Value, json};

use crate::LEGACY;
use crate::home::Home;
use crate::operator::{Ran, run};

/// Colours, a title, the clipboard, a jump in C1, and text that runs the other way.
const UGLY: &str = "\u{1b}[31mred\u{1b}]52;c;YWJj\u{7}\u{9b}2J\u{202e}drow\u{2066}";

/// A verb with what it is asked for, the schema of what it writes, and how it ends where nothing runs.
struct Form {
    verb: &'static str,
    arguments: &'static [&'static str],
    schema: &'static str,
    ends: i32,
    ends_alone: i32,
}

const fn form(verb: &'static str, arguments: &'static [&'static str], schema: &'static str) -> Form {
    Form { verb, arguments, schema, ends: 0, ends_alone: 0 }
}

/// It asks what runs, or has it do something.
const fn of_running(verb: &'static str, arguments: &'static [&'static str], schema: &'static str) -> Form {
    Form { ends_alone: 3, ..form(verb, arguments, schema) }
}

/// All verbs that have `--json`, in an order in which each finds what it needs.
const FORMS: &[Form] = &[
    of_running("start", &["ugly"], "cli-get"),
    of_running("wait", &["ugly"], "cli-get"),
    form("list", &[], "cli-list"),
    form("get", &["ugly"], "cli-get"),
    form("get", &["broken"], "cli-get"),
    form("refresh", &["ugly"], "cli-get"),
    form("tools", &[], "cli-items"),
    form("tool", &["ugly__echo"], "cli-tool"),
    form("resources", &[], "cli-items"),
    form("resources", &["--templates"], "cli-items"),
    form("prompts", &[], "cli-items"),
    form("call", &["ugly__complain", "text=\u{1b}[31mx\u{1b}[0m"], "cli-call"),
    form("call", &["ugly__echo", "text=\u{1b}[31mx\u{1b}[0m"], "cli-call"),
    Form { ends: 5, ends_alone: 5, ..form("call", &["ugly__fail", "text=\u{1b}[31mx"], "cli-call") },
    form("read", &["file:///a"], "cli-read"),
    form("prompt", &["ugly__plan", "topic=x"], "cli-prompt"),
    form("complete", &["prompt", "ugly__plan", "topic=x"], "cli-complete"),
    of_running("logs", &["ugly"], "cli-log-line"),
    of_running("logs", &[], "cli-log-line"),
    of_running("clients", &[], "cli-clients"),
    of_running("clients list", &[], "cli-clients"),
    of_running("clients disconnect", &["CLIENT"], "cli-disconnected"),
    form("ns", &[], "cli-namespaces"),
    form("ns list", &[], "cli-namespaces"),
    form("ns deny", &["work", "ugly.echo"], "permission-change"),
    form("ns show", &["work"], "cli-namespace"),
    form("ns allow", &["work", "ugly.echo", "--unset"], "permission-change"),
    Form { ends: 1, ends_alone: 1, ..form("status", &[], "cli-status") },
    Form { ends: 2, ends_alone: 2, ..form("config check", &[], "cli-config-check") },
    form("config show", &[], "cli-config-show"),
    form("daemon status", &[], "cli-daemon-status"),
    of_running("daemon reload", &[], "reload"),
    form("add", &["new", "true '\u{1b}[31mx'", "--disabled"], "cli-entries"),
    form("add-json", &["newer", r#"{"command": "true", "disabled": true}"#], "cli-entries"),
    form("rename", &["new", "other", "--dry-run"], "cli-entries"),
    form("remove", &["new", "newer", "--dry-run"], "cli-entries"),
    form("import", &["--dry-run"], "cli-import"),
    form("undo", &["--list"], "cli-undo-list"),
    form("undo", &[], "cli-undo"),
    form("secret list", &[], "cli-secrets"),
    form("token list", &[], "cli-tokens"),
    Form { ends: 1, ends_alone: 1, ..form("doctor", &[], "cli-doctor") },
    form("disable", &["ugly"], "cli-get"),
    form("enable", &["ugly"], "cli-get"),
    of_running("restart", &["ugly"], "cli-get"),
    of_running("stop", &["ugly"], "cli-get"),
    form("audit", &[], "audit"),
];

/// What fails, however it is asked for.
const FAILURES: &[(&[&str], i32)] = &[
    (&["get", UGLY], 7),
    (&["refresh", UGLY], 7),
    (&["tool", UGLY], 7),
    (&["call", UGLY], 7),
    (&["call", "ugly__echo", UGLY], 2),
    (&["call", "ugly__rpcerror", "message=\u{1b}[31mx"], 1),
    (&["call", "broken__x"], 4),
    (&["read", "nowhere:///\u{1b}[31m"], 7),
    (&["prompt", UGLY], 7),
    (&["complete", "prompt", UGLY, "a=b"], 7),
    (&["ns", "show", UGLY], 7),
    (&["ns", "deny", "work", UGLY], 2),
    (&["tools", "--namespace", UGLY], 7),
    (&["remove", UGLY], 7),
    (&["rename", UGLY, "x"], 7),
    (&["add", UGLY, "true x"], 2),
    (&["add-json", "x", UGLY], 2),
    (&["import", "--from", UGLY], 2),
    (&["list", UGLY], 2),
    (&["config", "check", "--namespace", UGLY], 2),
];

fn config() -> Value {
    let prompt =
        json!({"name": "plan", "description": UGLY, "arguments": [{"name": "topic", "description": UGLY}]});
    let tool = |name: &str| {
        let argument = json!({"type": "string", "description": UGLY});
        json!({"name": name, "description": UGLY, "inputSchema": {"type": "object", "properties": {"text": argument, "message": argument}}})
    };
    let odd = format!("odd{UGLY}");
    let tools = ["echo", "fail", "complain", "rpcerror", &odd].map(tool);
    let ugly = fake(json!({
        "name": UGLY,
        "tools": tools,
        "resources": [{"uri": "file:///a", "name": UGLY, "description": UGLY}],
        "resourceTemplates": [{"uriTemplate": "log:///{day}", "name": UGLY, "description": UGLY}],
        "prompts": [prompt],
        "instructions": UGLY,
    }));
    let dies = format!("printf '{}' >&2; exit 1", UGLY.replace('\u{1b}', "\\033"));
    json!({
        "mcpServers": {
            "ugly": ugly,
            "dies": {"command": "/bin/sh", "args": ["-c", dies]},
            "broken": {"command": format!("no-such-program{UGLY}")},
        },
        "namespaces": {"work": {"name": format!("for {UGLY}"), "description": UGLY, "serverIds": ["ugly", "dies", "broken"]}},
        "daemon": {"linger": 60_000},
    })
}

/// The schemas of `docs/api`.
pub(crate) struct Schemas(BTreeMap<String, jsonschema::Validator>);

impl Schemas {
    pub(crate) fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api");
        let files = fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
        let schema = |path: std::path::PathBuf| {
            let name = path.file_name()?.to_str()?.strip_suffix(".schema.json")?.to_owned();
            let schema: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
            Some((name, jsonschema::validator_for(&schema).expect("it is a schema")))
        };
        Self(files.filter_map(schema).collect())
    }

    #[track_caller]
    pub(crate) fn check(&self, name: &str, text: &str, of: &str) {
        let document: Value =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{of}: {error} in {text}"));
        let wrong: Vec<String> = self.0[name].iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{of} is no {name}: {wrong:?} in {text}");
    }
}

/// Checks that what was written cannot steer a terminal.
#[track_caller]
fn check_tame(ran: &Ran, of: &str) {
    let is_wild = |c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    for text in [&ran.stdout, &ran.stderr] {
        let wild = text.find(is_wild).map(|at| &text[at..]);
        assert_eq!(wild, None, "{of}: {text:?}");
    }
}

/// Runs every verb in both forms in front of a gateway, or of none.
fn check_forms(sandbox: &Sandbox, gateway: &str) {
    let schemas = Schemas::read();
    check_failures(sandbox, &schemas);
    let clients = run(sandbox, &["clients", "-q"]).stdout;
    assert_eq!(clients.lines().count(), usize::from(gateway != "none"), "{clients}");
    for form in FORMS {
        let argument = |word: &&str| match *word {
            "CLIENT" => clients.lines().next().unwrap_or("1").to_owned(),
            word => word.to_owned(),
        };
        let mut words: Vec<String> = form.verb.split(' ').map(str::to_owned).collect();
        words.extend(form.arguments.iter().map(argument));
        let of = words.join(" ");
        let ends = match (form.verb, gateway) {
            ("daemon status", "http" | "none") => 3,
            (_, "none") => form.ends_alone,
            _ => form.ends,
        };
        // A client can be disconnected once; all else can be done again.
        if !form.arguments.contains(&"CLIENT") {
            let plain = run(sandbox, &words);
            assert_eq!(plain.code, Some(ends), "{of}: {plain:?}");
            // What servers answer is written into a pipe as it is.
            if !matches!(form.verb, "call" | "read" | "prompt" | "complete") {
                check_tame(&plain, &of);
            }
        }
        words.push("--json".to_owned());
        let ran = run(sandbox, &words);
        assert_eq!(ran.code, Some(ends), "{of}: {ran:?}");
        assert!(!ran.stdout.contains('\u{1b}'), "{of}: {ran:?}");
        match (ends, form.verb) {
            (3, "daemon status") => schemas.check(form.schema, &ran.stdout, &of),
            (3, _) => {
                assert_eq!(ran.stdout, "", "{of}");
                schemas.check("cli-error", &ran.stderr, &of);
            }
            (_, "logs") => {
                assert!(ran.stdout.lines().count() > 0, "{of}: {ran:?}");
                ran.stdout.lines().for_each(|line| schemas.check(form.schema, line, &of));
                check_tame(&ran, &of);
            }
            (_, "call" | "read" | "prompt" | "complete") => schemas.check(form.schema, &ran.stdout, &of),
            _ => {
                schemas.check(form.schema, &ran.stdout, &of);
                check_tame(&ran, &of);
            }
        }
    }
}

fn check_failures(sandbox: &Sandbox, schemas: &Schemas) {
    for (words, ends) in FAILURES {
        let of = format!("{words:?}");
        let plain = run(sandbox, words);
        assert_eq!(plain.code, Some(*ends), "{of}: {plain:?}");
        check_tame(&plain, &of);
        let ran = run(sandbox, &[words, &["--json"][..]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(*ends), ""), "{of}: {ran:?}");
        check_tame(&ran, &of);
        assert_eq!(ran.stderr.lines().count(), 1, "{of}: {ran:?}");
        schemas.check("cli-error", &ran.stderr, &of);
    }
}

// B8
#[test]
fn every_verb_writes_what_its_schema_says_of_a_daemon() {
    let home = Home::with(config());
    let _window = home.open();
    check_forms(&home.sandbox, "daemon");
}

// B8
#[test]
fn every_verb_writes_what_its_schema_says_of_a_gateway_over_http() {
    let sandbox = Sandbox::new();
    let gateway = Gateway::start(&sandbox, &config(), &[]);
    let _session = gateway.session("/mcp", LEGACY, json!({}));
    check_forms(&sandbox, "http");
}

// B8
#[test]
fn every_verb_writes_what_its_schema_says_where_nothing_runs() {
    let sandbox = Sandbox::new();
    sandbox.write_config(&config());
    check_forms(&sandbox, "none");
    assert!(sandbox.processes().is_empty(), "what was started for a command ends with it");
}

/// Verbs that each need what the one before has done; FILE is what was recorded.
const OF_TRAFFIC: [(&str, &[&str], &str); 6] = [
    ("record start", &["one"], "recording"),
    ("record list", &[], "recordings"),
    ("record stop", &["one"], "recording"),
    ("record show", &["one"], "cli-record-show"),
    ("replay", &["FILE", "--verify", "--yes"], "cli-replay"),
    ("replay diff", &["FILE", "FILE"], "cli-replay-diff"),
];

// B8
#[test]
fn verbs_of_recordings_write_what_their_schemas_say() {
    let home = Home::with(config());
    let schemas = Schemas::read();
    let mut window = home.open();
    let file = home.sandbox.path(".local/state/manifold/recordings/one.mfr");
    for (verb, arguments, schema) in OF_TRAFFIC {
        let mut words: Vec<String> = verb.split(' ').map(str::to_owned).collect();
        words.extend(arguments.iter().map(|word| word.replace("FILE", &file.to_string_lossy())));
        words.push("--json".to_owned());
        let of = words.join(" ");
        let ran = run(&home.sandbox, &words);
        assert_eq!(ran.code, Some(0), "{of}: {ran:?}");
        check_tame(&ran, &of);
        schemas.check(schema, &ran.stdout, &of);
        if verb == "record start" {
            window.call("ugly__echo", json!({"text": UGLY}));
        }
    }
}

// B8
#[test]
fn every_verb_for_programs_is_tested_above() {
    let sandbox = Sandbox::new();
    let pages = sandbox.path("man");
    let ran = run(&sandbox, &["man", "--dir", &pages.to_string_lossy()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut verbs = BTreeSet::new();
    for page in fs::read_dir(pages).expect("the pages are there").flatten() {
        let name = page.file_name().into_string().expect("a name");
        let text = fs::read_to_string(page.path()).expect("a page");
        if text.contains("\\-\\-json") {
            let verb = name.trim_start_matches("manifold-").trim_end_matches(".1").replace('-', " ");
            verbs.insert(verb);
        }
    }
    // Those of the daemon end it, or start one: `orders.rs` has them.
    let orders = ["daemon start", "daemon stop", "daemon restart", "daemon upgrade"];
    // They read from the pipe, need an editor or a registry, never end, or connect as a client would, for which a daemon is
    // started: `cli/` has them, `pages.rs` has `open`, and `it/signin` those that need somebody to sign in at.
    let elsewhere = [
        "config edit",
        "secret set",
        "secret rm",
        "secret rekey",
        "secret export",
        "secret import",
        "token create",
        "token revoke",
        "login",
        "logout",
        "search",
        "init",
        "install",
        "uninstall",
        "watch",
        "open",
    ];
    // The name of a page does not tell `add-json` from a verb below `add`.
    let tested: BTreeSet<String> = FORMS
        .iter()
        .map(|form| form.verb)
        .chain(orders)
        .chain(elsewhere)
        .chain(OF_TRAFFIC.map(|(verb, ..)| verb))
        .map(|verb| verb.replace('-', " "))
        .collect();
    assert_eq!(verbs, tested);
}
