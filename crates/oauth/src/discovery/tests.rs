use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::fakes::{FakeHttp, json};

/// A little web: addresses and what is there. `500` and the like stand for a status.
fn web(pages: &[(&str, &str)]) -> Arc<FakeHttp> {
    let pages: BTreeMap<String, String> =
        pages.iter().map(|(url, page)| ((*url).to_owned(), (*page).to_owned())).collect();
    FakeHttp::new(move |request| {
        Ok(match pages.get(request.url.as_str()).map(String::as_str) {
            None => json(404, ""),
            Some(status) if status.parse::<u16>().is_ok() => json(status.parse().unwrap(), ""),
            Some(page) => json(200, page),
        })
    })
}

fn prm(resource: &str, issuers: &[&str]) -> String {
    format!(r#"{{"resource":"{resource}","authorization_servers":{issuers:?}}}"#)
}

fn issuer_page(issuer: &str) -> String {
    format!(
        r#"{{"issuer":"{issuer}","authorization_endpoint":"{issuer}/authorize","token_endpoint":"{issuer}/token","code_challenge_methods_supported":["S256"]}}"#
    )
}

async fn find(
    http: &FakeHttp,
    server: &str,
    settings: &Settings,
    metadata: Option<&str>,
    known: Option<&str>,
) -> Result<Found, LoginError> {
    let server = Url::parse(server).unwrap();
    let challenge =
        metadata.map(|url| Challenge { resource_metadata: Some(url.to_owned()), ..Challenge::default() });
    Discovery { http, server: &server, settings, challenge: challenge.as_ref(), known_issuer: known }
        .find()
        .await
}

const RESOURCE: &str = "https://mcp.example/.well-known/oauth-protected-resource";
const SERVER: &str = "https://mcp.example/mcp";

#[tokio::test(start_paused = true)]
async fn metadata_is_looked_for_in_order() {
    let issuer = issuer_page("https://as.example/tenant");
    let resource = prm(SERVER, &["https://as.example/tenant"]);
    for (place, order) in [
        ("https://as.example/.well-known/oauth-authorization-server/tenant", 1),
        ("https://as.example/.well-known/openid-configuration/tenant", 2),
        ("https://as.example/tenant/.well-known/openid-configuration", 3),
    ] {
        let http = web(&[(&format!("{RESOURCE}/mcp"), &resource), (place, &issuer)]);
        let found = find(&http, SERVER, &Settings::default(), None, None).await.unwrap();
        assert_eq!(found.metadata.issuer, "https://as.example/tenant");
        assert_eq!(http.urls().len(), 1 + order, "{:?}", http.urls());
    }
    let http = web(&[
        (RESOURCE, &prm("https://mcp.example", &["https://as.example"])),
        ("https://as.example/.well-known/openid-configuration", &issuer_page("https://as.example")),
    ]);
    let found = find(&http, SERVER, &Settings::default(), None, None).await.unwrap();
    assert_eq!(found.resource.as_deref(), Some("https://mcp.example"), "no slash is added");
    assert_eq!(http.urls()[..2], [format!("{RESOURCE}/mcp"), RESOURCE.to_owned()], "the root comes last");
}

#[tokio::test(start_paused = true)]
async fn what_the_refusal_names_comes_first_and_alone() {
    let http = web(&[
        ("https://other.example/doc", &prm(SERVER, &["https://as.example"])),
        ("https://as.example/.well-known/oauth-authorization-server", &issuer_page("https://as.example")),
    ]);
    find(&http, SERVER, &Settings::default(), Some("https://other.example/doc"), None).await.unwrap();
    assert_eq!(http.urls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn metadata_of_another_server_is_refused() {
    for (resource, is_ours) in [
        ("https://mcp.example/mcp", true),
        ("https://mcp.example/mcp/", true),
        ("https://mcp.example/", true),
        ("https://MCP.example:443", true),
        ("https://mcp.example/mcp?tenant=1", true),
        ("https://mcp.example/mc", false),
        ("https://mcp.example/mcp/deeper", false),
        ("https://evil.example/mcp", false),
        ("http://mcp.example/mcp", false),
        ("https://mcp.example:8443/mcp", false),
        ("https://mcp.example/mcp#x", false),
        ("urn:mcp", false),
    ] {
        let http = web(&[
            (&format!("{RESOURCE}/mcp"), &prm(resource, &["https://as.example"])),
            ("https://as.example/.well-known/oauth-authorization-server", &issuer_page("https://as.example")),
        ]);
        let found = find(&http, SERVER, &Settings::default(), None, None).await;
        assert_eq!(found.is_ok(), is_ours, "{resource}: {found:?}");
        if !is_ours {
            assert!(matches!(found, Err(LoginError::WrongResource { .. })));
            assert_eq!(http.urls().len(), 1, "nobody else is asked");
        }
    }
}

/// `resource` is sent as the server writes it, in whatever form: twenty of them.
/// Twenty ways to write what a server may call itself (row 16 of signing in).
pub(crate) const FORMS: [&str; 20] = [
    "https://mcp.example/mcp",
    "https://mcp.example/mcp/",
    "https://mcp.example",
    "https://mcp.example/",
    "HTTPS://mcp.example/mcp",
    "https://MCP.EXAMPLE/mcp",
    "https://mcp.example:443/mcp",
    "https://mcp.example:443",
    "https://mcp.example:443/",
    "https://mcp.example/mcp?a=b",
    "https://mcp.example/mcp?a=%20b",
    "https://mcp.example/mcp?",
    "https://mcp.example?",
    "https://mcp.example/?x",
    "https://mcp.example/mcp/?x=y",
    "https://Mcp.Example/mcp/",
    "https://mcp.example./mcp",
    "https://mcp.example/mcp?a=b&c=d",
    "https://mcp.example/mcp?q=a+b",
    "https://mcp.example/mcp?%c3%bc",
];

#[tokio::test(start_paused = true)]
async fn the_resource_keeps_its_bytes() {
    for form in FORMS {
        let http = web(&[
            (&format!("{RESOURCE}/mcp"), &prm(form, &["https://as.example"])),
            ("https://as.example/.well-known/oauth-authorization-server", &issuer_page("https://as.example")),
        ]);
        let found = find(&http, SERVER, &Settings::default(), None, None).await.unwrap();
        assert_eq!(found.resource.as_deref(), Some(form));
    }
}

#[tokio::test(start_paused = true)]
async fn an_issuer_is_who_it_was_asked_as() {
    let cases = [
        ("https://as.example", "https://as.example", true),
        ("https://as.example/", "https://as.example", true),
        ("https://as.example", "https://as.example/", true),
        ("https://as.example", "https://AS.example", false),
        ("https://as.example", "https://as.example:443", false),
        ("https://as.example", "https://evil.example", false),
        ("https://as.example/a", "https://as.example", false),
        ("https://as.example/a", "https://as.example/a/", false),
        ("https://mcp.slack.com", "https://slack.com", true),
    ];
    for (listed, named, is_good) in cases {
        let origin = Url::parse(listed).unwrap().origin();
        let path = Url::parse(listed).unwrap().path().trim_end_matches('/').to_owned();
        let place = format!("{origin}/.well-known/oauth-authorization-server{path}");
        let http =
            web(&[(&format!("{RESOURCE}/mcp"), &prm(SERVER, &[listed])), (&place, &issuer_page(named))]);
        let found = find(&http, SERVER, &Settings::default(), None, None).await;
        assert_eq!(found.is_ok(), is_good, "{listed} {named} {found:?}");
        if !is_good {
            let trusting = Settings { issuer: Some(named.to_owned()), ..Settings::default() };
            assert!(find(&http, SERVER, &trusting, None, None).await.is_ok(), "the config may trust it");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_late_is_waited_for_and_not_replaced() {
    let http = web(&[
        (&format!("{RESOURCE}/mcp"), &prm(SERVER, &["https://one.example", "https://two.example"])),
        ("https://one.example/.well-known/oauth-authorization-server", "503"),
        ("https://two.example/.well-known/oauth-authorization-server", &issuer_page("https://two.example")),
    ]);
    let found = find(&http, SERVER, &Settings::default(), None, None).await;
    assert!(found.unwrap_err().is_transient());
    assert!(!http.urls().iter().any(|url| url.contains("two.example")));
    let known = find(&http, SERVER, &Settings::default(), None, Some("https://two.example")).await.unwrap();
    assert_eq!(
        known.metadata.issuer, "https://two.example",
        "the one we are signed in with is taken while it is listed"
    );
}

#[tokio::test(start_paused = true)]
async fn the_browser_is_sent_to_no_page_of_somebody_elses() {
    let document = |page: &str, token: &str, more: &str| {
        format!(
            r#"{{"issuer":"https://as.example","authorization_endpoint":"https://{page}/a","token_endpoint":"https://{token}/t"{more}}}"#
        )
    };
    let elsewhere = |more: &str| document("x.example", "y.example", more);
    let pages = |page: &str| {
        web(&[
            (&format!("{RESOURCE}/mcp"), &prm(SERVER, &["https://as.example"])),
            ("https://as.example/.well-known/oauth-authorization-server", page),
        ])
    };
    let refused = find(&pages(&elsewhere("")), SERVER, &Settings::default(), None, None).await;
    assert!(matches!(refused, Err(LoginError::EndpointsElsewhere { .. })));
    // Codes of the one whose page it is would come to the other.
    let mixed_up = document("x.example", "as.example", "");
    let refused = find(&pages(&mixed_up), SERVER, &Settings::default(), None, None).await;
    assert!(matches!(refused, Err(LoginError::EndpointsElsewhere { .. })));
    let at_home = document("as.example", "y.example", "");
    assert!(find(&pages(&at_home), SERVER, &Settings::default(), None, None).await.is_ok());
    let says_who = elsewhere(r#","authorization_response_iss_parameter_supported":true"#);
    assert!(find(&pages(&says_who), SERVER, &Settings::default(), None, None).await.is_ok());
    let trusting = Settings { issuer: Some("https://as.example".to_owned()), ..Settings::default() };
    assert!(find(&pages(&elsewhere("")), SERVER, &trusting, None, None).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn servers_of_before_are_their_own_issuer() {
    let http = web(&[(
        "https://mcp.example/.well-known/oauth-authorization-server",
        &issuer_page("https://mcp.example"),
    )]);
    let found = find(&http, SERVER, &Settings::default(), None, None).await.unwrap();
    assert_eq!(found.resource.as_deref(), Some(SERVER));
    let nothing = web(&[]);
    let found = find(&nothing, SERVER, &Settings::default(), None, None).await;
    assert_eq!(found.unwrap_err(), LoginError::NoAuthorizationServer);
    let assuming = Settings { assume_endpoints: true, ..Settings::default() };
    let found = find(&nothing, SERVER, &assuming, None, None).await.unwrap();
    assert_eq!(found.metadata.token_endpoint.as_deref(), Some("https://mcp.example/token"));
}

/// Documents without end and redirects without end are a reason to stop, and it is said.
#[tokio::test(start_paused = true)]
async fn what_is_too_much_is_refused_with_a_reason() {
    let host = || "mcp.example".to_owned();
    let limit = crate::http::MAX_METADATA_BYTES;
    for error in [HttpError::TooLarge { host: host(), limit }, HttpError::Redirected { host: host() }] {
        let told = error.clone();
        let http = FakeHttp::new(move |_| Err(error.clone()));
        let refused = find(&http, SERVER, &Settings::default(), None, None).await.unwrap_err();
        assert_eq!(refused, LoginError::Http(told));
        assert!(!refused.is_transient());
        let seen = http.seen.lock().unwrap();
        assert_eq!(
            (seen[0].max_body_bytes, seen[0].redirects),
            (1 << 20, crate::http::Redirects::SameOrigin(3))
        );
    }
}

/// Thirty addresses that a server may name to have us ask our own network.
#[tokio::test(start_paused = true)]
async fn hostile_addresses_are_never_asked() {
    let hostile = [
        "http://as.example/x",
        "http://127.0.0.1/x",
        "https://127.0.0.1/x",
        "https://localhost/x",
        "https://[::1]/x",
        "https://10.0.0.1/x",
        "https://192.168.0.1/x",
        "https://172.16.0.1/x",
        "https://169.254.169.254/latest",
        "http://169.254.169.254/latest",
        "https://100.64.0.1/x",
        "https://[::ffff:127.0.0.1]/x",
        "https://[fe80::1]/x",
        "https://[fc00::1]/x",
        "https://[64:ff9b::7f00:1]/x",
        "https://[2002:7f00:1::]/x",
        "https://0.0.0.0/x",
        "https://metadata.google.internal/x",
        "https://2130706433/x",
        "https://0x7f000001/x",
        "https://0177.0.0.1/x",
        "https://127.1/x",
        "file:///etc/passwd",
        "ftp://as.example/x",
        "gopher://as.example/x",
        "javascript:alert(1)",
        "data:application/json,{}",
        "https://user@as.example/x",
        "https://as.example\\@127.0.0.1/x",
        "https://app.localhost/x",
    ];
    assert_eq!(hostile.len(), 30);
    for url in hostile {
        let http = web(&[]);
        let found = find(&http, SERVER, &Settings::default(), Some(url), None).await;
        assert!(
            found.is_err() && http.urls().is_empty(),
            "{url} as the place of metadata: {:?}",
            http.urls()
        );
        let http = web(&[(&format!("{RESOURCE}/mcp"), &prm(SERVER, &[&url.replace('\\', "\\\\")]))]);
        let found = find(&http, SERVER, &Settings::default(), None, None).await;
        assert!(found.is_err() && http.urls().len() <= 2, "{url} as an issuer: {:?}", http.urls());
        assert!(http.urls().iter().all(|url| url.starts_with("https://mcp.example/")));
        for endpoint in
            ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"]
        {
            let page = issuer_page("https://as.example")
                .replace(&format!(r#""{endpoint}":"https://as.example/"#), r#""was":""#);
            let page = page.replace(
                '{',
                &format!(r#"{{"{endpoint}":"{}","#, url.replace('\\', "\\\\").replace(['{', '}'], "")),
            );
            let http = web(&[
                (&format!("{RESOURCE}/mcp"), &prm(SERVER, &["https://as.example"])),
                ("https://as.example/.well-known/oauth-authorization-server", &page),
            ]);
            let found = find(&http, SERVER, &Settings::default(), None, None).await;
            assert!(found.is_err(), "{url} as {endpoint}");
        }
    }
}
