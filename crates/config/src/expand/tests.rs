use super::*;
use crate::testing::{SECRET, environment};

fn check_expand(raw: &str, expected: &str) {
    assert_eq!(expand(raw, &environment()).with_home(&environment()), expected, "{raw}");
}

// S3-9 and section 2: `${VAR}` in all strings.
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
