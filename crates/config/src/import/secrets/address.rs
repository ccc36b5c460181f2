//! Secrets in addresses: in the part before the host, in the query, in the path.

use super::looks::{is_random, is_secret_name, is_secret_value};

/// Where something is in a text, and what it could be called.
type Named = (String, (usize, usize));

/// Returns the secrets of the first address in a text.
pub(super) fn secrets_of(text: &str) -> Vec<Named> {
    let Some(scheme) = text.find("://") else { return Vec::new() };
    let start = scheme + "://".len();
    let end = text[start..].find(char::is_whitespace).map_or(text.len(), |at| start + at);
    let path = text[start..end].find(['/', '?', '#']).map_or(end, |at| start + at);
    let query = text[path..end].find('?').map(|at| path + at);
    let mut found = Vec::new();
    found.extend(in_authority(&text[start..path], start));
    let is_web = text[..scheme].to_ascii_lowercase().ends_with("http") || text[..scheme].ends_with("https");
    if is_web {
        found.extend(in_path(&text[path..query.unwrap_or(end)], path));
    }
    if let Some(query) = query {
        found.extend(in_query(&text[query + 1..end], query + 1));
    }
    found
}

fn in_authority(authority: &str, start: usize) -> Option<Named> {
    let (user, _) = authority.rsplit_once('@')?;
    let (_, secret) = user.split_once(':').unwrap_or(("", user));
    let from = start + user.len() - secret.len();
    // A name alone is a name, unless it is as long as a token.
    let is_secret = is_secret_value(secret) && (user.contains(':') || secret.len() >= 16);
    is_secret.then(|| ("PASSWORD".to_owned(), (from, from + secret.len())))
}

fn in_path(path: &str, start: usize) -> Vec<Named> {
    let mut at = start;
    let mut found = Vec::new();
    for segment in path.split('/') {
        if is_random(segment) {
            found.push(("TOKEN".to_owned(), (at, at + segment.len())));
        }
        at += segment.len() + 1;
    }
    found
}

fn in_query(query: &str, start: usize) -> Vec<Named> {
    let mut at = start;
    let mut found = Vec::new();
    for pair in query.split('#').next().unwrap_or_default().split('&') {
        if let Some((name, value)) = pair.split_once('=')
            && is_secret_name(name)
            && is_secret_value(value)
        {
            let from = at + name.len() + 1;
            found.push((name.to_owned(), (from, from + value.len())));
        }
        at += pair.len() + 1;
    }
    found
}
