use super::*;
use crate::testing::{SECRET, environment};

fn expand(raw: &str, environment: &Environment) -> Text {
    variables(environment, Forms::OURS).expand(raw)
}

fn variables(environment: &Environment, forms: Forms) -> Variables<'_> {
    Variables { environment, forms, folder: "/etc".into(), workspace: "/work/site".into() }
}

fn check_expand(raw: &str, expected: &str) {
    assert_eq!(expand(raw, &environment()).with_home(&environment()), expected, "{raw}");
}

// S3-9 and sections 2.1, 2.3: `${VAR}` in all strings.
#[test]
fn variables_are_filled_in() {
    check_expand("", "");
    check_expand("plain", "plain");
    check_expand("${NAME}", "ann");
    check_expand("a ${NAME} b ${env:NAME}!", "a ann b ann!");
    check_expand("${NAME}${NAME}", "annann");
    check_expand("Bearer ${KEY}", &format!("Bearer {SECRET}"));
}

#[test]
fn defaults_replace_what_is_unset_or_empty() {
    check_expand("${NONE:-x}", "x");
    check_expand("${env:NONE:-x y}", "x y");
    check_expand("${NAME:-x}", "ann");
    check_expand("${EMPTY:-x}", "x");
    check_expand("<${EMPTY}>", "<>");
    check_expand("${NONE:-}", "");
    check_expand("${NONE:-a:-b}", "a:-b");
    check_expand(r#"${NONE:-{"a":{}}}"#, r#"{"a":{}}"#);
}

#[test]
fn values_and_defaults_are_never_expanded_again() {
    check_expand("${TRICK}", "${NAME} ~/x");
    check_expand("${NONE:-${NAME}}", "${NAME}");
}

#[test]
fn other_dollars_are_plain_text() {
    for raw in
        ["$", "$$", "$NAME", "${", "${}", "${NAME", "${1A}", "${a b}", "$(NAME)", "100$", "${NAME-x", "}{"]
    {
        check_expand(raw, raw);
    }
    check_expand("$${NAME}", "$ann");
    check_expand("${a ${NAME}}", "${a ann}");
}

#[test]
fn a_tilde_counts_at_the_start_only() {
    check_expand("~", "/home/ann");
    check_expand("~/x", "/home/ann/x");
    check_expand("~//x", "/home/ann/x");
    check_expand("~bob/x", "~bob/x");
    check_expand("a/~/x", "a/~/x");
    check_expand("~/${NAME}", "/home/ann/ann");
    let mut environment = environment();
    environment.vars.insert("HERE".into(), "~/x".into());
    assert_eq!(expand("${HERE}", &environment).with_home(&environment), "~/x");
    environment.home = None;
    assert_eq!(expand("~/x", &environment).with_home(&environment), "~/x");
}

// S3-10: the variable's name must be recoverable from the placeholder.
#[test]
fn names_are_kept_for_the_message() {
    let text = expand("${NAME} ${NONE} ${env:NONE} ${OTHER:-x} ${input:key}", &environment());
    assert_eq!(text.variables, ["NAME", "NONE", "OTHER"]);
    assert_eq!(text.missing, ["NONE"]);
    assert_eq!(text.inputs, ["key"]);
    assert_eq!(text.value, "ann ${NONE} ${env:NONE} x ${input:key}");
}

// D8: each program has its own way to refer to a variable, and what is none of its ways is plain text.
#[test]
fn each_program_has_its_own_forms() {
    let none = Forms { braced: false, ..Forms::USUAL };
    let check = |forms: Forms, raw: &str, expected: &str| {
        assert_eq!(variables(&environment(), forms).expand(raw).value, expected, "{raw}");
    };
    check(Forms::USUAL, "${:-${NAME}} ${file:none}", "${:-ann} ${file:none}");
    check(none, "${NAME} $NAME %NAME% {env:NAME}", "${NAME} $NAME %NAME% {env:NAME}");
    let dollar = Forms { dollar: true, ..Forms::OURS };
    check(dollar, "$NAME/${NAME} $$ $1 $ %NAME%", "ann/ann $$ $1 $ %NAME%");
    check(Forms { percent: true, ..none }, "%NAME%\\x 100% %NAME $NAME", "ann\\x 100% %NAME $NAME");
    let opencode = Forms { bare_braces: true, ..none };
    check(opencode, "{env:NAME}-{x} {env:NAME ${NAME}", "ann-{x} {env:NAME ${NAME}");
}

// D8: what an editor calls its folders; a variable of that name comes first.
#[test]
fn the_names_of_editors_are_known() {
    check_expand("${workspaceFolder}/x", "/work/site/x");
    check_expand("${workspaceFolder:web}", "/work/site");
    check_expand("${workspaceFolderBasename}", "site");
    check_expand("${userHome}${/}x${pathSeparator}", "/home/ann/x/");
    let mut environment = environment();
    environment.vars.insert("userHome".into(), "/mine".into());
    assert_eq!(expand("${userHome}", &environment).value, "/mine");
}

// D8: nobody can be asked here, but a variable may hold the answer.
#[test]
fn an_input_may_be_answered_by_a_variable() {
    let mut environment = environment();
    environment.vars.insert("INPUT_API_KEY_2".into(), "k".into());
    let text = expand("${input:api-key 2} ${input:other}", &environment);
    assert_eq!(
        (text.value.as_str(), text.inputs.as_slice()),
        ("k ${input:other}", &["other".to_owned()][..])
    );
}

// What looks like a variable and is none can be written in our own files.
#[test]
fn a_text_may_stand_for_itself() {
    check_expand("${:-${NAME}}", "${NAME}");
    check_expand("a${:-$}{NAME}b", "a${NAME}b");
    check_expand("${:-}${:-${:-x}}", "${:-x}");
    let text = expand("${:-${NONE}} ${:-${input:x}}", &environment());
    assert!(text.names.is_empty() && text.missing.is_empty() && text.inputs.is_empty());
}

// D8: `{file:…}` and `${file:…}` are the content of a file.
#[test]
fn a_file_may_hold_a_value() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), format!("{SECRET}\n")).unwrap();
    let environment = environment();
    for (forms, mark) in [(Forms { bare_braces: true, ..Forms::USUAL }, ""), (Forms::OURS, "$")] {
        let variables = Variables {
            environment: &environment,
            forms,
            folder: folder.path().into(),
            workspace: "/".into(),
        };
        assert_eq!(variables.expand(&format!("<{mark}{{file:key}}>")).value, format!("<{SECRET}>"));
        assert_eq!(variables.expand(&format!("{mark}{{file:none}}")).missing, ["file:none"]);
    }
}
