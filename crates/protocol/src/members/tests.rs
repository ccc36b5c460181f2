use super::*;

fn flaw(members: &'static Members, text: &str) -> Option<Flaw> {
    members.flaw(&Raw::parse(text.to_owned()).unwrap())
}

/// Every table, and all that hang on it.
fn tables() -> Vec<&'static Members> {
    let mut all = vec![&ENVELOPE, &QUESTION, &ITEM];
    all.extend([&litemcp::MESSAGE, &litemcp::CALL, &litemcp::TOOL, &litemcp::RESULT]);
    let mut at = 0;
    while at < all.len() {
        all.extend(all[at].inner.iter().map(|(_, inner)| *inner));
        at += 1;
    }
    all
}

/// Swaps the case of each letter, by turns, and spells some as only Unicode's folding reads them.
fn variants(name: &str) -> Vec<String> {
    let swap = |letter: char| match letter.is_ascii_lowercase() {
        true => letter.to_ascii_uppercase(),
        false => letter.to_ascii_lowercase(),
    };
    let mut variants: Vec<String> = (0..name.len())
        .map(|turn| {
            name.chars().enumerate().map(|(at, one)| if at == turn { swap(one) } else { one }).collect()
        })
        .collect();
    variants.push(name.to_ascii_uppercase());
    variants.push(name.replace('s', "\u{17f}"));
    variants.push(name.replace('k', "\u{212a}"));
    variants.push(name.replace('S', "\u{17f}").replace('K', "\u{212a}"));
    variants.retain(|variant| variant != name);
    variants
}

/// Spells every letter as an escape.
fn escaped(name: &str) -> String {
    name.chars().map(|letter| format!("\\u{:04X}", u32::from(letter))).collect()
}

// H2: every member with meaning, in every spelling that a reader without regard to case would take for it.
#[test]
fn a_member_with_meaning_has_no_double() {
    for members in tables() {
        for &name in members.names {
            let variants = variants(name);
            assert!(variants.len() >= 2, "{name}");
            for variant in &variants {
                for spelled in [variant.clone(), escaped(variant)] {
                    for text in [
                        format!(r#"{{"{name}":1,"{spelled}":2}}"#),
                        format!(r#"{{"x":0,"{spelled}":2,"y":[],"{name}":1}}"#),
                    ] {
                        assert_eq!(flaw(members, &text), Some(Flaw::Variant { of: name }), "{text}");
                    }
                }
            }
            for spelled in [name.to_owned(), escaped(name)] {
                let text = format!(r#"{{"{name}":1,"{spelled}":2}}"#);
                assert_eq!(flaw(members, &text), Some(Flaw::Twice), "{text}");
            }
            assert_eq!(
                flaw(members, &format!(r#"{{"{}":1}}"#, escaped(name))),
                None,
                "an escape is only a spelling"
            );
        }
    }
}

// H2: what we pass on with our word for it is taken in its own spelling alone; what a peer says of itself may be anything
// that is not taken for something else.
#[test]
fn a_variant_alone_is_refused_where_it_would_pass_unread() {
    for members in [&ENVELOPE, &PARAMS, &META, &REFERENCE, &FILTER, &QUESTION] {
        for &name in members.names {
            for variant in variants(name) {
                let text = format!(r#"{{"{variant}":1}}"#);
                assert_eq!(flaw(members, &text), Some(Flaw::Variant { of: name }), "{text}");
            }
        }
    }
    assert_eq!(flaw(&RESULT, r#"{"Content":[],"Status":1,"TOOLS":[]}"#), None);
    assert_eq!(flaw(&ITEM, r#"{"name":"a","Description":"d"}"#), None);
    // A mark of ours would come to stand beside it.
    for own in ["ResultType", "TTLMS", "cachescope", "_META"] {
        let text = format!(r#"{{"{own}":1}}"#);
        assert!(matches!(flaw(&RESULT, &text), Some(Flaw::Variant { .. })), "{text}");
    }
}

#[test]
fn what_only_looks_alike_is_no_double() {
    for text in [
        r#"{"name":1,"names":2,"nam":3,"name ":4,"":5,"n\u0430me":6,"\u0456d":7}"#,
        r#"{"uri":1,"url":2,"ref":3,"_meta":{"progress_token":1,"progressToken":2}}"#,
        r#"{"name":1,"arguments":{"name":1,"NAME":2,"name":3},"task":{"A":1,"a":2}}"#,
        r#"{"name":1,"n\u00e4me":2,"ſ":3}"#,
        "[]",
        r#""name""#,
    ] {
        assert_eq!(flaw(&PARAMS, text), None, "{text}");
    }
    assert_eq!(
        flaw(&RESULT, r#"{"content":[{"type":"text","TYPE":1,"type":2}],"structuredContent":{"a":1,"A":2}}"#),
        None
    );
    assert_eq!(flaw(&ITEM, r#"{"name":"a","inputSchema":{"type":"object","Type":1,"type":2}}"#), None);
}

#[test]
fn what_hangs_on_a_member_is_looked_at_too() {
    let of = |of| Some(Flaw::Variant { of });
    assert_eq!(flaw(&PARAMS, r#"{"_meta":{"PROGRESSTOKEN":1}}"#), of("progressToken"));
    assert_eq!(
        flaw(&PARAMS, r#"{"_meta":{"IO.modelcontextprotocol/protocolVersion":1}}"#),
        of("io.modelcontextprotocol/protocolVersion")
    );
    assert_eq!(flaw(&PARAMS, r#"{"ref":{"type":"ref/prompt","name":"a","Name":"b"}}"#), of("name"));
    assert_eq!(flaw(&PARAMS, r#"{"notifications":{"taskids":[]}}"#), of("taskIds"));
    assert_eq!(flaw(&RESULT, r#"{"task":{"taskId":"a","TaskId":"b"}}"#), of("taskId"));
    assert_eq!(
        flaw(&RESULT, r#"{"status":"completed","result":{"resultType":1,"RESULTTYPE":2}}"#),
        of("resultType")
    );
    assert_eq!(flaw(&QUESTION, r#"{"method":"m","params":{"MODE":"url"}}"#), of("mode"));
    assert_eq!(flaw(&PARAMS, r#"{"_meta":{"k":1,"\u006b":2}}"#), Some(Flaw::Twice));
}
