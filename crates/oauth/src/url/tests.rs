use super::*;

#[test]
fn an_address_keeps_its_bytes() {
    let url = Url::parse("HTTPS://Mcp.Example.COM:8443/a%2Fb/?x=1#f").unwrap();
    assert_eq!(url.as_str(), "HTTPS://Mcp.Example.COM:8443/a%2Fb/?x=1#f");
    assert_eq!(
        (url.host(), url.port(), url.path(), url.query()),
        ("mcp.example.com", 8443, "/a%2Fb/", Some("x=1"))
    );
    assert_eq!(url.origin(), "https://mcp.example.com:8443");
    assert_eq!(url.canonical(), "https://mcp.example.com:8443/a%2Fb/?x=1");
    assert_eq!(url.target(), "/a%2Fb/?x=1");
}

#[test]
fn the_canonical_form_has_no_bare_slash() {
    for (written, canonical) in [
        ("https://A.example/", "https://a.example"),
        ("https://a.example", "https://a.example"),
        ("https://a.example/mcp/", "https://a.example/mcp/"),
        ("http://[::1]:80/mcp#x", "http://[::1]:80/mcp"),
    ] {
        assert_eq!(Url::parse(written).unwrap().canonical(), canonical);
    }
}

#[test]
fn what_others_may_read_otherwise_is_refused() {
    for text in [
        "ftp://a/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https:/a",
        "https://",
        "https://a b/",
        "https://a\\b/",
        "https://u@a/",
        "https://u:p@a/",
        "https://a:0/",
        "https://a:99999/",
        "https://a:/",
        "https://[::1",
        "https://[g]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://0177.0.0.1/",
        "http://127.0.0.1./",
        "https://a..b/",
        "https://ünï.example/",
        "https://a%2eb/",
        "https://a\n/",
        "//a/b",
        "https://a:+80/",
    ] {
        assert!(Url::parse(text).is_err(), "{text}");
    }
}

#[test]
fn parameters_join_a_query() {
    for (url, joined) in [
        ("https://a/x", "https://a/x?p=1"),
        ("https://a/x?", "https://a/x?p=1"),
        ("https://a/x?y=2", "https://a/x?y=2&p=1"),
        ("https://a/x?y=2#z", "https://a/x?y=2&p=1"),
    ] {
        assert_eq!(Url::parse(url).unwrap().with_query("p=1"), joined);
    }
}
