//! The front door: a website in the user's browser must not reach a server on the user's machine (T1, T2).

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

/// Lets a request pass only if Host and Origin are this machine's own, before its body is read.
pub(super) async fn check(request: Request, next: Next) -> Response {
    match refusal(request.method(), request.headers(), request.uri().host()) {
        None => next.run(request).await,
        Some((status, why)) => super::json(status, format!(r#"{{"error":"{why}"}}"#)),
    }
}

fn refusal(
    method: &Method,
    headers: &HeaderMap,
    authority: Option<&str>,
) -> Option<(StatusCode, &'static str)> {
    let text = |name: header::HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let host = text(header::HOST).map(without_port).or(authority).unwrap_or("");
    if !is_loopback(host) {
        return Some((StatusCode::FORBIDDEN, "Host is not allowed"));
    }
    if let Some(origin) = text(header::ORIGIN) {
        let host = origin.split_once("://").map(|(_, rest)| without_port(rest));
        if !host.is_some_and(is_loopback) {
            return Some((StatusCode::FORBIDDEN, "Origin is not allowed"));
        }
    }
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    if site == Some(b"cross-site") {
        return Some((StatusCode::FORBIDDEN, "cross-site requests are not allowed"));
    }
    if method == Method::POST {
        let kind = text(header::CONTENT_TYPE).unwrap_or("");
        let essence = kind.split(';').next().unwrap_or("").trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type must be application/json"));
        }
    }
    None
}

fn without_port(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => authority.split(':').next().unwrap_or(""),
    }
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: Option<u16>) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse::<header::HeaderName>().unwrap(), value.parse().unwrap()))
            .collect();
        assert_eq!(refusal(&Method::POST, &headers, None).map(|(status, _)| status.as_u16()), expected);
    }

    #[test]
    fn only_this_machine_gets_in() {
        let json = ("content-type", "application/json; charset=utf-8");
        check(&[("host", "localhost:3095"), json], None);
        check(&[("host", "127.0.0.1"), json], None);
        check(&[("host", "[::1]:3095"), json], None);
        check(&[("host", "evil.example"), json], Some(403));
        check(&[("host", "localhost.evil.example"), json], Some(403));
        check(&[json], Some(403));
        check(&[("host", "localhost"), ("origin", "http://localhost:5173"), json], None);
        check(&[("host", "localhost"), ("origin", "https://evil.example"), json], Some(403));
        check(&[("host", "localhost"), ("origin", "null"), json], Some(403));
        check(&[("host", "localhost"), ("sec-fetch-site", "cross-site"), json], Some(403));
        check(&[("host", "localhost"), ("content-type", "text/plain")], Some(415));
        check(&[("host", "localhost")], Some(415));
    }
}
