use super::*;

fn raw(text: &'static str) -> Raw {
    Raw::from_static(text)
}

fn of(params: &'static str) -> Digest {
    digest(&Principal::Local, b"me", &Method::ToolsCall, Some(&raw(params)))
}

fn text(state: &Raw) -> String {
    state.to_text().unwrap().into_owned()
}

#[tokio::test(start_paused = true)]
async fn a_state_is_good_for_its_own_call_and_time_only() {
    let seal = Seal::new();
    let mine = of(r#"{"name":"t","arguments":{"a":1,"b":[true]}}"#);
    for resumption in [
        Resumption::Parked { place: [7; 16], round: 3 },
        Resumption::Again,
        Resumption::Foreign("mf1.of.another".to_owned()),
    ] {
        let state = text(&seal.close(&resumption, &mine).unwrap());
        assert_eq!(seal.open(&state, &mine), Ok(resumption));
    }
    let state = text(&seal.close(&Resumption::Again, &mine).unwrap());
    let refusal = |result: Result<Resumption, Fault>| result.unwrap_err().message();
    let other = of(r#"{"name":"t","arguments":{"a":2,"b":[true]}}"#);
    assert!(refusal(seal.open(&state, &other)).contains("other parameters"));
    assert!(refusal(Seal::new().open(&state, &mine)).contains("restarted"));
    assert!(refusal(seal.open(&format!("{state}-TAMPERED"), &mine)).contains("start the call again"));
    assert!(refusal(seal.open("mf1.", &mine)).contains("not one of"));

    tokio::time::advance(PATIENCE + std::time::Duration::from_millis(2)).await;
    assert!(refusal(seal.open(&state, &mine)).contains("expired"));
}

#[test]
fn the_digest_knows_meaning_not_spelling() {
    let plain = of(r#"{"name":"t","arguments":{"a":"x","b":1}}"#);
    let again = r#"{"arguments":{"b":1, "a":"\u0078"},"name":"t","_meta":{"p":1},"requestState":"s","inputResponses":{}}"#;
    assert_eq!(of(again), plain);
    for other in [
        r#"{"name":"t","arguments":{"a":"x","b":2}}"#,
        r#"{"name":"t","arguments":{"a":"x","b":"1"}}"#,
        r#"{"name":"t"}"#,
        r#"{"name":"t","arguments":{"a":"x","b":1,"_meta":{}}}"#,
    ] {
        assert_ne!(of(other), plain, "{other}");
    }
    let params = raw(r#"{"name":"t","arguments":{"a":"x","b":1}}"#);
    assert_ne!(digest(&Principal::Local, b"you", &Method::ToolsCall, Some(&params)), plain);
    let another = Principal::Token("another".into());
    assert_ne!(digest(&another, b"me", &Method::ToolsCall, Some(&params)), plain);
    // Half of a surrogate pair is no text, and still differs from the other half.
    assert_ne!(of(r#"{"a":"\ud83d"}"#), of(r#"{"a":"\udc00"}"#));
    assert_ne!(of(r#"{"\ud83d":1}"#), of(r#"{"\udc00":1}"#));
    assert_ne!(digest(&Principal::Local, b"me", &Method::PromptsGet, Some(&params)), plain);
}

// States that a replica of today's format has sealed, which those of the next must read.
#[test]
fn states_of_another_version_are_read() {
    let key = BASE64_URL_SAFE_NO_PAD.encode([1; 32]);
    let keys = crate::replica::StateKeys::parse(&key).unwrap();
    let replica = Replica::new("a".to_owned(), keys, &manifold_engine::Tasks::new()).unwrap();
    let seal = Seal::Shared(Arc::new(replica));
    let head = "mf1.AAADuyzD2AAHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHB";
    for (rest, resumption) in [
        (
            "3IAAAAJBQUFBQUFBQUFBQUFBQUFBQAAAAM.E9a8GM2Nf4rmH5aEce5gGETu2XW5jrbqjS3W5wheg_E",
            Resumption::Elsewhere { replica: 9 },
        ),
        ("2E.-baONq9BYX2qxWdncfPTHGBRTq8uf-d13CJSGqoV0gs", Resumption::Again),
        ("2Z0aGVpcnM.IsvxF5HoIXs-RIs50JoUnZKex0PcCUmriq0D6-v1Vxk", Resumption::Foreign("theirs".to_owned())),
    ] {
        assert_eq!(seal.open(&format!("{head}{rest}"), &[7; 32]), Ok(resumption));
    }
}
