//! Which pages may read what we say (S2-17, decision 31).

use super::*;
use crate::http_lifecycle::Answer;

const YOURS: &str = "https://yourdomain.com";

/// Returns all CORS headers of an answer.
fn cors_of(answer: &Answer) -> Vec<(&str, &str)> {
    let all = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(|(name, _)| name.starts_with("access-control-")).collect()
}

fn preflight(gateway: &Gateway, origin: &str) -> Answer {
    let headers = [
        ("Origin", origin),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type,mcp-session-id"),
    ];
    gateway.ask("OPTIONS", "/mcp", &headers, "")
}

// S2-17, decision 31: off unless configured
#[test]
fn cors_is_off_unless_configured() {
    let sandbox = Sandbox::new();
    for server in [json!({}), json!({"cors": {"enabled": false, "origins": ["*", YOURS]}})] {
        let gateway = Gateway::start(&sandbox, &with_server(&sandbox, server), &[]);
        let asked = preflight(&gateway, "http://localhost:5173");
        assert_eq!((asked.status, cors_of(&asked)), (204, vec![]));
        let answer =
            gateway.ask("POST", "/api/default/mcp", &[("Origin", "http://localhost:5173")], &trace());
        assert_eq!((answer.status, cors_of(&answer)), (200, vec![]));
        let asked = preflight(&gateway, YOURS);
        assert_eq!((asked.status, cors_of(&asked)), (403, vec![]));
        check_refused_everywhere(&gateway, &[("Origin", YOURS)], 403);
        end_quietly(gateway.client);
    }
}

// S2-17: named origins may read, others may not even ask
#[test]
fn cors_for_named_origins() {
    let sandbox = Sandbox::new();
    let cors = json!({"enabled": true, "origins": [YOURS, "https://slash.example/"], "methods": ["GET", "POST"], "allowedHeaders": ["Content-Type", "X-Own"], "credentials": true});
    let gateway = Gateway::start(&sandbox, &with_server(&sandbox, json!({"cors": cors})), &[]);
    for origin in [YOURS, "https://slash.example"] {
        let asked = preflight(&gateway, origin);
        assert_eq!((asked.status, asked.header("vary")), (204, Some("Origin")));
        assert_eq!(asked.header("access-control-allow-origin"), Some(origin));
        assert_eq!(asked.header("access-control-allow-methods"), Some("GET, POST"));
        assert_eq!(asked.header("access-control-allow-headers"), Some("Content-Type, X-Own"));
        assert_eq!(asked.header("access-control-allow-credentials"), Some("true"));
        let answer = gateway.ask("POST", "/api/default/mcp", &[("Origin", origin)], &trace());
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, Some(origin)));
        let exposed = answer.header("access-control-expose-headers").unwrap_or_default();
        assert!(exposed.contains("Mcp-Session-Id"), "{exposed}");
        // An error can be read as well.
        let answer = gateway.ask("POST", "/api/nowhere/mcp", &[("Origin", origin)], &trace());
        assert_eq!((answer.status, answer.header("access-control-allow-origin")), (404, Some(origin)));
    }
    let before = calls(&sandbox);
    for origin in [
        "https://evil.example",
        "http://yourdomain.com",
        "https://yourdomain.com:444",
        "https://x.yourdomain.com",
        "https://yourdomain.com.evil.example",
        "null",
    ] {
        let asked = preflight(&gateway, origin);
        assert_eq!((asked.status, cors_of(&asked)), (403, vec![]), "{origin}");
        check_refused_everywhere(&gateway, &[("Origin", origin)], 403);
    }
    assert_eq!(calls(&sandbox), before, "no tool ran");
    end_quietly(gateway.client);
}

// Decision 31: `*` is every page of this machine, or with a token every page there is
#[test]
fn cors_for_any_origin() {
    let sandbox = Sandbox::new();
    let any = with_server(&sandbox, json!({"cors": {"enabled": true, "origins": ["*"]}}));
    for (config, more) in [(&any, vec![]), (&one(&sandbox), vec!["--cors"])] {
        let gateway = Gateway::start(&sandbox, config, &more);
        let answer =
            gateway.ask("POST", "/api/default/mcp", &[("Origin", "http://localhost:5173")], &trace());
        assert_eq!(answer.header("access-control-allow-origin"), Some("http://localhost:5173"), "{more:?}");
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert_eq!(
            preflight(&gateway, "http://localhost:5173").header("access-control-allow-origin"),
            Some("http://localhost:5173")
        );
        for origin in ["https://evil.example", "null"] {
            check_refused_everywhere(&gateway, &[("Origin", origin)], 403);
        }
        let warned = gateway.client.stderr();
        assert!(warned.contains("WARN") && warned.contains('*'), "{warned}");
        end_quietly(gateway.client);
    }
    let mut config = any.clone();
    config["server"]["token"] = json!(TOKEN);
    let gateway = Gateway::start(&sandbox, &config, &[]);
    let right = bearer(TOKEN);
    let answer = gateway.ask(
        "POST",
        "/api/default/mcp",
        &[("Origin", "https://any.example"), ("Authorization", &right)],
        &trace(),
    );
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (200, Some("https://any.example"))
    );
    // A preflight cannot carry the token.
    assert_eq!(preflight(&gateway, "https://any.example").status, 204);
    let answer = gateway.ask("POST", "/api/default/mcp", &[("Origin", "https://any.example")], &trace());
    assert_eq!(answer.status, 401);
    check_refused_everywhere(&gateway, &[("Origin", "null"), ("Authorization", &right)], 403);
    end_quietly(gateway.client);
    let gateway = Gateway::start(&sandbox, &one(&sandbox), &["--cors-origin", YOURS]);
    assert_eq!(preflight(&gateway, YOURS).header("access-control-allow-origin"), Some(YOURS));
    check_refused_everywhere(&gateway, &[("Origin", "https://evil.example")], 403);
    end_quietly(gateway.client);
}
