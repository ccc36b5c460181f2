//! Which route a request is for, by the table of all of them.

use std::borrow::Cow;

use hyper::Method;
use manifold_admin::{ROUTES, Route};
use percent_encoding::percent_decode_str;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// With the name that stands in the path, where one does.
    Route(&'static Route, Option<String>),
    /// There is such a resource, and this is what can be done to it.
    NotAllowed(String),
    Unknown,
}

pub(super) fn find(method: &Method, path: &str) -> Found {
    let here: Vec<(&'static Route, Option<String>)> =
        ROUTES.iter().filter_map(|route| Some((route, matches(route.path, path)?))).collect();
    if here.is_empty() {
        return Found::Unknown;
    }
    // What can be asked for can also be asked about.
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    let mut allowed: Vec<&str> = here.iter().map(|(route, _)| route.method.as_str()).collect();
    match here.into_iter().find(|(route, _)| route.method.as_str() == method.as_str()) {
        Some((route, name)) => Found::Route(route, name),
        None => {
            if allowed.contains(&"GET") {
                allowed.push("HEAD");
            }
            allowed.push("OPTIONS");
            Found::NotAllowed(allowed.join(", "))
        }
    }
}

/// Returns whether a path is one of this pattern, and the name in it.
fn matches(pattern: &str, path: &str) -> Option<Option<String>> {
    let mut parts = path.split('/');
    let mut name = None;
    for wanted in pattern.split('/') {
        let part = parts.next()?;
        if wanted.starts_with('{') {
            let decoded: Cow<'_, str> = percent_decode_str(part).decode_utf8().ok()?;
            name = Some(decoded.into_owned()).filter(|name| !name.is_empty());
            name.as_ref()?;
        } else if wanted != part {
            return None;
        }
    }
    parts.next().is_none().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: Method, path: &str) -> (String, Option<String>) {
        match find(&method, path) {
            Found::Route(route, name) => (format!("{} {}", route.method.as_str(), route.path), name),
            Found::NotAllowed(allow) => (allow, None),
            Found::Unknown => ("unknown".to_owned(), None),
        }
    }

    #[test]
    fn every_route_of_the_table_is_found_as_itself() {
        for route in ROUTES {
            let method = Method::from_bytes(route.method.as_str().as_bytes()).unwrap();
            let path = route.path.replace("{id}", "main%2Fgit");
            let name = route.path.contains("{id}").then(|| "main/git".to_owned());
            assert_eq!(find(&method, &path), Found::Route(route, name), "{path}");
        }
    }

    #[test]
    fn what_is_none_is_told_apart_from_what_cannot_be_done() {
        for path in [
            "/",
            "/v1",
            "/v1/",
            "/v1/servers/",
            "/v2/about",
            "/v1/about/",
            "/v1/servers/a/b/logs",
            "/v1/servers/%ff",
        ] {
            assert_eq!(found(Method::GET, path).0, "unknown", "{path}");
        }
        assert_eq!(found(Method::DELETE, "/v1/about").0, "GET, HEAD, OPTIONS");
        assert_eq!(found(Method::POST, "/v1/config").0, "GET, PUT, HEAD, OPTIONS");
        assert_eq!(found(Method::GET, "/v1/call").0, "POST, OPTIONS");
        assert_eq!(found(Method::HEAD, "/v1/about").0, "GET /v1/about");
    }
}
