use proptest::prelude::*;

use super::*;

fn hiding(values: &[&str]) -> Register {
    let mut forms: Vec<Box<str>> =
        values.iter().flat_map(|value| forms::of(value)).map(String::into_boxed_str).collect();
    forms.sort();
    forms.dedup();
    Register { forms }
}

fn check(values: &[&str], text: &str, expected: &str) {
    assert_eq!(hiding(values).redact(text), expected);
}

// M11
#[test]
fn a_secret_is_hidden_in_every_form() {
    let secret = "p/ss wörd+1\"x";
    check(&[secret], &format!("a {secret} b {secret}"), "a *** b ***");
    check(&[secret], r#"{"key":"p/ss wörd+1\"x"}"#, r#"{"key":"***"}"#);
    check(&[secret], "?a=p%2Fss%20w%C3%B6rd%2B1%22x&b", "?a=***&b");
    check(&[secret], "?a=p%2fss%20w%c3%b6rd%2b1%22x&b", "?a=***&b");
    check(&[secret], "?a=p%2Fss+w%C3%B6rd%2B1%22x&b", "?a=***&b");
    check(&[secret], "/p/ss%20w%C3%B6rd+1%22x/", "/***/");
}

// M11: what stands before a secret moves its bits
#[test]
fn a_secret_is_hidden_in_base64_wherever_it_begins() {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let secret = "hunter2?hunter2~";
    for before in ["", "u", "u:", "me:", "user:"] {
        for after in ["", "!", "!!", "!!!"] {
            for engine in [STANDARD, URL_SAFE] {
                let text = engine.encode(format!("{before}{secret}{after}"));
                let shown = hiding(&[secret]).redact(&text).into_owned();
                // A few bits at either end belong to the neighbours as well.
                assert!(shown.contains(HIDDEN) && shown.len() <= before.len() * 2 + 12, "{text}: {shown}");
            }
        }
    }
}

#[test]
fn the_longer_of_two_is_hidden_whole() {
    check(&["12345678", "1234567890"], "x1234567890 12345678 1234567", "x*** *** 1234567");
    check(&["12345678"], "123456781234567812345678", "*********");
    check(&[], "12345678", "12345678");
}

#[test]
fn what_was_cut_off_is_hidden_as_far_as_it_goes() {
    let register = hiding(&["correct horse battery"]);
    assert_eq!(register.begun_at_end("say: correct hor"), Some(5));
    assert_eq!(register.begun_at_end("say: correct horse battery"), Some(5));
    assert_eq!(register.begun_at_end("say: something"), None);
}

// M11: by its lines, and by what follows a scheme
#[test]
fn parts_of_a_value_are_hidden() {
    register("-----BEGIN KEY-----\n  bGluZSBvbmUgb2Yga2V5\nc2hvcnQ=\n");
    register("Bearer tok-9f8e7d6c");
    assert_eq!(redact("got bGluZSBvbmUgb2Yga2V5."), "got ***.");
    assert_eq!(redact("got tok-9f8e7d6c, Bearer"), "got ***, Bearer");
    assert_eq!(redact_cut("got tok-9f8"), "got ***");
    assert_eq!(redact_cut("got tok-9f8e7d6c and more"), "got *** and more");
}

proptest! {
    #[test]
    fn no_text_is_torn(secret in "\\PC{8,20}", before in "\\PC{0,9}", after in "\\PC{0,9}") {
        let text = format!("{before}{secret}{after}");
        let register = hiding(&[&secret]);
        prop_assert!(!register.redact(&text).contains(&secret));
        for (cut, _) in text.char_indices() {
            let start = register.begun_at_end(&text[..cut]);
            prop_assert!(start.is_none_or(|start| text.is_char_boundary(start)));
        }
    }
}
