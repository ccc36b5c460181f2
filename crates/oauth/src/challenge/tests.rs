use super::*;

fn check(headers: &[&str], metadata: Option<&str>, scope: Option<&str>, error: Option<&str>) {
    let found = Challenge::parse(headers.iter().copied()).expect("there is a Bearer challenge");
    let got = (found.resource_metadata.as_deref(), found.scope.as_deref(), found.error.as_deref());
    assert_eq!(got, (metadata, scope, error), "{headers:?}");
}

#[test]
fn challenges_are_found_however_they_are_written() {
    check(&["Bearer"], None, None, None);
    check(&["bearer realm=x"], None, None, None);
    check(
        &[r#"BEARER Resource_Metadata="https://a/b", SCOPE="x y""#],
        Some("https://a/b"),
        Some("x y"),
        None,
    );
    check(&["Bearer resource_metadata=https://a/b?c=d, scope=x"], Some("https://a/b?c=d"), Some("x"), None);
    check(&[r#"Bearer  scope = "x" , error = invalid_token"#], None, Some("x"), Some("invalid_token"));
    check(&[r#"Bearer scope="x" error="invalid_token""#], None, Some("x"), Some("invalid_token"));
    check(&["Basic realm=\"a, Bearer scope=\\\"z\\\"\"", "Bearer scope=x"], None, Some("x"), None);
    check(&[r#"Negotiate, Basic realm="x", Bearer scope="y", Digest nonce="z""#], None, Some("y"), None);
    check(&[r#"Negotiate YWJj==, Bearer scope="y""#], None, Some("y"), None);
    check(&["Bearer scope=a", r#"Bearer resource_metadata="https://m""#], Some("https://m"), None, None);
    check(&[r#"Bearer scope="a", scope="b""#], None, Some("a"), None);
    check(&[r#", ,Bearer scope="a",,"#], None, Some("a"), None);
    check(
        &[r#"Bearer error="insufficient_scope", scope="files:read files:write""#],
        None,
        Some("files:read files:write"),
        Some("insufficient_scope"),
    );
}

#[test]
fn what_is_inside_a_value_is_no_parameter() {
    check(
        &[
            r#"Bearer error="invalid_token", error_description="needs scope=admin, resource_metadata=https://evil""#,
        ],
        None,
        None,
        Some("invalid_token"),
    );
    check(&[r#"Bearer error_description="a \" scope=\"x", scope=y"#], None, Some("y"), None);
}

#[test]
fn what_is_broken_does_no_harm() {
    check(&[r#"Bearer scope="x"#], None, Some("x"), None);
    check(&["Bearer scope=\"a\tb\""], None, None, None);
    check(&["Bearer error=\"in valid\""], None, None, None);
    for none in [
        "",
        ",",
        "=",
        "Basic x",
        "\"Bearer\" scope=x",
        "Bearer =, scope=x",
        "DPoP algs=\"ES256\"",
        "\u{fc}",
        "Beare",
        "x=\"Bearer, scope=y",
    ] {
        assert_eq!(Challenge::parse([none]), None, "{none}");
    }
}

/// The headers of rmcp 3.8's own tests (`extract_www_authenticate_params`), read as it reads them.
#[test]
fn challenges_are_read_as_rmcp_does() {
    let document = "https://example.com/.well-known/oauth-protected-resource";
    check(
        &[&format!(
            r#"Bearer error="invalid_token", resource_metadata="{document}", scope="read:data write:data", error_description="token expired""#
        )],
        Some(document),
        Some("read:data write:data"),
        Some("invalid_token"),
    );
    check(
        &[
            r#"Bearer error="insufficient_scope", scope="admin:write", error_description="Additional file write permission required""#,
        ],
        None,
        Some("admin:write"),
        Some("insufficient_scope"),
    );
    check(&["Bearer"], None, None, None);
    check(&[r#"Bearer error="invalid_token""#], None, None, Some("invalid_token"));
    check(
        &[r#"Bearer scope=read:data, error="insufficient_scope""#],
        None,
        Some("read:data"),
        Some("insufficient_scope"),
    );
}
