//! Every syntax of other programs, in ours.

use std::path::Path;

use proptest::prelude::*;

use super::{client, found_at};
use crate::environment::Environment;
use crate::expand::{Forms, Variables};
use crate::file::Object;
use crate::import::translate::{Inputs, Notes, Translation};
use crate::testing::environment;

fn translated(forms: Forms, project: Option<&str>, raw: &str) -> String {
    let inputs = Inputs::of(&[] as &[Object]);
    let translation = Translation {
        forms,
        folder: Path::new("/etc/them"),
        project: project.map(Path::new),
        inputs: &inputs,
    };
    translation.ours(raw, &mut Notes::default())
}

fn check(forms: Forms, table: &[(&str, &str)]) {
    for (theirs, ours) in table {
        assert_eq!(translated(forms, None, theirs), *ours, "{theirs}");
    }
}

#[test]
fn most_programs_have_what_we_have() {
    check(
        Forms::USUAL,
        &[
            ("plain", "plain"),
            ("${VAR}", "${VAR}"),
            ("a ${VAR:-b c} d", "a ${VAR:-b c} d"),
            ("${env:VAR}", "${VAR}"),
            ("${env:VAR:-x}", "${VAR:-x}"),
            ("${userHome}${/}x${pathSeparator}", "${userHome}${/}x${pathSeparator}"),
            ("${workspaceFolder}/x", "${workspaceFolder}/x"),
            ("${workspaceFolder:web}", "${workspaceFolder}"),
            ("~/x", "~/x"),
            ("${input:api-key}", "${INPUT_API_KEY}"),
            // Forms of a shell, and what is no variable: left alone.
            ("${var%x} ${var#x} ${var/a/b} $VAR $(x) 100%", "${var%x} ${var#x} ${var/a/b} $VAR $(x) 100%"),
            ("$${VAR} ${ ${VAR}}", "$${VAR} ${ ${VAR}}"),
        ],
    );
}

#[test]
fn gemini_and_crush() {
    check(
        client("gemini").forms,
        &[
            ("$VAR/x", "${VAR}/x"),
            (
                "$VAR$OTHER%WIN%\\x",
                if cfg!(windows) { "${VAR}${OTHER}${WIN}\\x" } else { "${VAR}${OTHER}%WIN%\\x" },
            ),
            ("$1 $ $$ 50% %a b%", "$1 $ $$ 50% %a b%"),
            ("${VAR:-d}", "${VAR:-d}"),
        ],
    );
    check(client("crush").forms, &[("$VAR %VAR%", "${VAR} %VAR%")]);
}

#[test]
fn opencode_has_no_dollars() {
    check(
        client("opencode").forms,
        &[
            ("{env:VAR}/x{y}", "${VAR}/x{y}"),
            ("{file:key}", "${file:/etc/them/key}"),
            (
                "{file:./a/key} {file:/abs} {file:~/key}",
                "${file:/etc/them/./a/key} ${file:/abs} ${file:~/key}",
            ),
            // What it leaves alone would be a variable of ours.
            ("${VAR}", "${:-${VAR}}"),
            ("${X:-{env:VAR}}", "${:-$}{X:-${VAR}}"),
            ("${{env:VAR}}", "${${VAR}}"),
        ],
    );
}

#[test]
fn windsurf_reads_files() {
    check(client("windsurf").forms, &[("${file:/run/key} ${env:A}", "${file:/run/key} ${A}")]);
    // Others do not, and we do.
    check(
        Forms::USUAL,
        &[("${file:/run/key}", "${:-${file:/run/key}}"), ("${secret:A}", "${:-${secret:A}}")],
    );
}

// Codex fills in nothing: all that looks like a variable is text.
#[test]
fn codex_has_no_variables() {
    check(
        client("codex").forms,
        &[
            ("${HOME}/x ${A:-b}", "${:-${HOME}}/x ${:-${A:-b}}"),
            ("$HOME %HOME% {env:HOME}", "$HOME %HOME% {env:HOME}"),
            ("${:-x}", "${:-${:-x}}"),
            ("${input:a} ${userHome}", "${:-${input:a}} ${:-${userHome}}"),
        ],
    );
}

#[test]
fn a_project_is_named_by_its_path() {
    let of = |raw: &str| translated(Forms::USUAL, Some("/work/si${X}te"), raw);
    assert_eq!(of("${workspaceFolder}/a"), "/work/si${:-${X}}te/a");
    assert_eq!(of("${CLAUDE_PROJECT_DIR:-.}/a"), "/work/si${:-${X}}te/a");
    assert_eq!(of("${workspaceFolder:web}"), "/work/si${:-${X}}te");
    assert_eq!(of("${workspaceFolderBasename}${userHome}"), "si${:-${X}}te${userHome}");
}

#[test]
fn inputs_are_asked_for() {
    let text = r#"{
      "inputs": [
        {"type": "promptString", "id": "key", "description": "Your key", "password": true},
        {"type": "pickString", "id": "area", "options": ["eu", {"label": "United States", "value": "us"}], "default": "eu"},
        {"type": "promptString", "id": "odd", "default": "}"}
      ],
      "servers": {"x": {"command": "x", "args": ["${input:key}", "${input:area}", "${input:odd}", "${input:none}"]}}
    }"#;
    let mut found = found_at("/home/ann/.config/Code/User/mcp.json", text).remove(0);
    assert_eq!(
        found.entry,
        r#"{"command": "x", "args": ["${INPUT_KEY}", "${INPUT_AREA:-eu}", "${INPUT_ODD}", "${INPUT_NONE}"]}"#
    );
    let told: Vec<_> = found
        .questions
        .iter()
        .map(|one| (one.variable.as_str(), one.about.as_str(), one.is_secret))
        .collect();
    assert_eq!(told[..2], [("INPUT_KEY", "Your key", true), ("INPUT_AREA", "area", false)]);
    assert_eq!(found.questions[1].choices, ["eu", "us"]);
    let key = found.questions[0].clone();
    found.answer_by_secret(&key, "VS_KEY");
    assert!(found.entry.contains(r#""${secret:VS_KEY}", "${INPUT_AREA:-eu}""#));
    assert!(!found.questions.contains(&key));
}

/// Pieces that texts are put together from.
const PIECES: [&str; 30] = [
    "$",
    "{",
    "}",
    "%",
    "a",
    "/",
    "~",
    ":-",
    "NAME",
    "${NAME}",
    "${NONE:-x}",
    "${EMPTY:-}",
    "$NAME",
    "%NAME%",
    "{env:NAME}",
    "${env:KEY}",
    "{file:key}",
    "${file:key}",
    "${",
    "{file:",
    "${workspaceFolder}",
    "${userHome}",
    "${/}",
    "${workspaceFolderBasename}",
    "env:",
    "${:-",
    "${secret:A}",
    "${input:i}",
    "${NONE:-{}}",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // What we make of a translated text is what the program made of its own, wherever it makes anything of it.
    #[test]
    fn a_translated_text_means_the_same(picks in prop::collection::vec(0..PIECES.len(), 0..7), in_project: bool) {
        let raw: String = picks.iter().map(|pick| PIECES[*pick]).collect();
        // Its file `key` has something in it that looks like a variable.
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import");
        let environment = environment_with_input();
        let inputs = Inputs::of(&[] as &[Object]);
        let workspace = Path::new("/work/${NAME}");
        for id in ["claude-code", "gemini", "crush", "opencode", "windsurf", "codex"] {
            let forms = client(id).forms;
            let theirs = Variables {
                environment: &environment, forms, folder: folder.clone(), workspace: workspace.into(),
            };
            let theirs = theirs.expand(&raw);
            if !theirs.missing.is_empty() || !theirs.inputs.is_empty() {
                continue;
            }
            let project = in_project.then_some(workspace);
            let translation = Translation { forms, folder: &folder, project, inputs: &inputs };
            let text = translation.ours(&raw, &mut Notes::default());
            let ours = Variables {
                environment: &environment,
                forms: Forms::OURS,
                folder: "/elsewhere".into(),
                workspace: workspace.into(),
            };
            let made = ours.expand(&text);
            prop_assert_eq!(made.with_home(&environment), theirs.with_home(&environment), "{} {} {}", id, raw, text);
            prop_assert_eq!(made.missing, Vec::<String>::new());
        }
    }
}

fn environment_with_input() -> Environment {
    let mut environment = environment();
    environment.vars.insert("INPUT_I".into(), "answer".into());
    environment
}
