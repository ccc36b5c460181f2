use proptest::prelude::*;

use super::*;

fn hiding(values: &[&str]) -> Register {
    let mut register = Register::new();
    values.iter().for_each(|value| register.add(value));
    register
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

// M11, B4: encoders differ in what they escape, and how often
#[test]
fn a_secret_is_hidden_whichever_of_its_characters_are_escaped() {
    let secret = r#"a/b&c<d>e"f'g %h\ö"#;
    for text in [
        // Go, PHP, Python; quoted twice
        r#"a/b\u0026c\u003cd\u003ee\"f'g %h\\ö"#,
        r#"a\/b&c<d>e\"f'g %h\\\u00f6"#,
        r#"a/b&c<d>e\u0022f\u0027g %h\\\xc3\xb6"#,
        r#"a\\/b\\u0026c\\u003cd\\u003ee\\\"f'g %h\\\\ö"#,
        // addresses: some, all, twice
        r#"a%2Fb&c<d>e%22f'g%20%h\ö"#,
        r#"%61/b%26c%3Cd%3ee"f'g+%25h\%C3%B6"#,
        r#"a%252Fb%2526c%253Cd%253ee%2522f%2527g%2520%2525h%255C%25C3%25B6"#,
        // pages
        r#"a/b&amp;c&lt;d&gt;e&quot;f&#39;g %h\ö"#,
        r#"a&#x2F;b&#38;c&lt;d&gt;e&#34;f&apos;g %h\&#246;"#,
        r#"a/b&amp;amp;c&amp;lt;d&gt;e&quot;f&#039;g %h\ö"#,
    ] {
        check(&[secret], &format!("x {text} y"), "x *** y");
        check(&[secret], &format!("{text}{text}"), "******");
    }
    check(&[secret], r#"a/b\u0026c\u003cd\u003fe\"f'g %h\\ö"#, r#"a/b\u0026c\u003cd\u003fe\"f'g %h\\ö"#);
    check(&["abc😀def/g"], r"abc\ud83d\ude00def\/g \ud83d", r"*** \ud83d");
    // The last letter of base64 belongs to what follows as well.
    check(&["????>>>>~~~"], r"Pz8\/Pz4+Pj5+fn4 Pz8%2FPz4%2BPj5%2Bfn4", "***4 ***4");
}

// M11, B4: any number of backslashes and escapes is read in bounded time
#[test]
fn secrets_made_of_escapes_are_found_quickly() {
    let (slashes, percents) = (r"\".repeat(40), "%25".repeat(40));
    let register = hiding(&[&slashes, &percents]);
    assert_eq!(register.redact(&r"\".repeat(79)).matches(HIDDEN).count(), 1);
    assert!(register.redact(&"%25".repeat(400)).contains(HIDDEN));
    assert!(register.redact(&format!("{}x", r"\\".repeat(200))).contains(HIDDEN));
}

// M11, B4
#[test]
fn what_was_cut_off_within_escapes_is_hidden_as_far_as_it_goes() {
    let register = hiding(&["p/ss&word/1"]);
    for begun in [r"p\/ss\u0026wo", r"p\/ss\u00", r"p\/ss&wor", "p%2", "p%2Fss&amp;word", "p%2Fss&am"] {
        assert_eq!(register.begun_at_end(&format!("say: {begun}")), Some(5), "{begun}");
    }
    assert_eq!(register.begun_at_end(r"say: p\/ss\u0027wo"), None);
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
        // B4: as encoders write it that escape every other character
        let escaped: String = secret.chars().enumerate().map(|(nth, c)| match nth % 4 {
            1 => c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
            2 => c.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect(),
            3 => format!("&#{};", u32::from(c)),
            _ => c.to_string(),
        }).collect();
        let text_of_many = format!("{before}{escaped}{after}");
        prop_assert!(register.redact(&text_of_many).contains(HIDDEN));
        for (cut, _) in text.char_indices() {
            let start = register.begun_at_end(&text[..cut]);
            prop_assert!(start.is_none_or(|start| text.is_char_boundary(start)));
        }
    }
}

#[test]
fn tokens_that_others_took_the_place_of_are_let_go() {
    let token = |number: usize| format!("Bearer passing-token-{number:06}-xyz");
    (0..MAX_PASSING + 10).for_each(|number| drop(crate::Secret::passing(token(number))));
    assert_eq!(redact(&token(MAX_PASSING + 9)), "***");
    assert_eq!(redact("token passing-token-000100-xyz"), "token ***");
    assert_eq!(redact(&token(0)), token(0), "it is worth nothing any more");
}

/// Compares with a look at every place of a text, which is what the sieve saves.
fn everywhere<'t>(register: &Register, text: &'t str) -> Cow<'t, str> {
    let (mut shown, mut copied, mut at) = (String::new(), 0, 0);
    let may_have_escapes = escapes::may_have_escapes(text);
    while at + MIN_CHARS <= text.len() {
        let rest = &text.as_bytes()[at..];
        let escaped = if may_have_escapes { register.longest_escaped_at(rest) } else { None };
        match register.longest_at(rest).max(escaped) {
            Some(bytes) => {
                shown.push_str(&text[copied..at]);
                shown.push_str(HIDDEN);
                at += bytes;
                copied = at;
            }
            None => at += 1,
        }
    }
    if copied == 0 { Cow::Borrowed(text) } else { Cow::Owned(shown + &text[copied..]) }
}

proptest! {
    #[test]
    fn the_sieve_passes_over_no_secret(
        secrets in proptest::collection::vec("[a-c%/\\\\ ö]{8,12}", 1..4),
        parts in proptest::collection::vec("[a-c%/\\\\ ö\"&+]{0,9}", 1..6),
        which in proptest::collection::vec(0_usize..12, 6),
    ) {
        let register = hiding(&secrets.iter().map(String::as_str).collect::<Vec<_>>());
        let mut text = String::new();
        for (part, which) in parts.iter().zip(which) {
            text.push_str(part);
            let forms = &register.forms;
            text.push_str(if which % 2 == 0 { &secrets[which % secrets.len()] } else { &forms[which % forms.len()] });
        }
        prop_assert_eq!(register.redact(&text), everywhere(&register, &text));
    }
}
