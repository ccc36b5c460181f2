//! What names and values of secrets look like.

use super::super::known::known;

/// Words that make a name that of a secret, wherever they stand in it.
const SECRET_WORDS: [&str; 14] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PWD",
    "PAT",
    "APIKEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "ACCESSKEY",
];
/// Words that make it that of something else when they stand last.
const OTHER_ENDS: [&str; 20] = [
    "PATH", "FILE", "DIR", "FOLDER", "URL", "URI", "ENDPOINT", "NAME", "ID", "LIMIT", "COUNT", "TTL",
    "TIMEOUT", "TYPE", "HOST", "PORT", "MODE", "ENABLED", "HEADER", "PREFIX",
];
/// The shortest thing that is taken for a token by what it begins with, and for one in an address.
const SHORTEST_TOKEN: usize = 16;
const SHORTEST_SEGMENT: usize = 24;

/// Tells whether what has this name is secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last() else { return false };
    let is_key = last == "KEY" && !words.iter().any(|word| word == "PUBLIC" || word == "PUBLISHABLE");
    // `PWD` alone is the folder.
    let names_one = words.iter().any(|word| SECRET_WORDS.contains(&word.as_str())) && name != "PWD";
    (is_key || names_one) && !OTHER_ENDS.contains(&last.as_str())
}

/// Returns the words of a name, in capitals: `apiKey`, `api-key` and `API_KEY` have the same.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for char in name.chars() {
        let starts = !char.is_ascii_alphanumeric() || (was_lower && char.is_ascii_uppercase());
        if starts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| char.is_ascii_alphanumeric()) {
            word.push(char.to_ascii_uppercase());
        }
        was_lower = char.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Tells whether a value can be what such a name promises: no switch, no number, no path, and not what a manual says.
pub(super) fn is_secret_value(value: &str) -> bool {
    let value = value.trim();
    let lower = value.to_ascii_lowercase();
    let is_word =
        ["true", "false", "yes", "no", "on", "off", "none", "null", "0", "1"].contains(&lower.as_str());
    let is_number = value.len() < 8 && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_path = value.starts_with(['/', '~']) || value.starts_with("./") || value.contains(":\\");
    let is_blank = (value.starts_with('<') && value.ends_with('>'))
        || ["your-", "your_", "changeme", "xxxx", "***"].iter().any(|blank| lower.contains(blank));
    !(value.is_empty() || is_word || is_number || is_path || is_blank)
}

/// Returns where in a text tokens of well-known services are.
pub(super) fn tokens(text: &str) -> Vec<(usize, usize)> {
    let is_inside = |char: char| char.is_ascii_alphanumeric() || "_-.+~".contains(char);
    let mut found = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let length = text[start..].find(|char| !is_inside(char)).unwrap_or(text.len() - start);
        let word = &text[start..start + length];
        if is_token(word) {
            found.push((start, start + length));
        }
        start += length + text[start + length..].chars().next().map_or(0, char::len_utf8);
    }
    found
}

fn is_token(word: &str) -> bool {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_web_token = !word.starts_with("eyJ") || word.contains('.');
    let begins = || known().token_prefixes.iter().any(|prefix| word.starts_with(prefix.as_str()));
    word.len() >= SHORTEST_TOKEN && has_digit && is_web_token && begins()
}

/// Tells whether a part of an address's path is nothing a person would have chosen.
pub(super) fn is_random(segment: &str) -> bool {
    let has = |is: fn(&u8) -> bool| segment.bytes().any(|byte| is(&byte));
    segment.len() >= SHORTEST_SEGMENT
        && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-=".contains(&byte))
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && segment.bytes().filter(u8::is_ascii_digit).count() * 8 >= segment.len()
}

/// Tells whether a text can be the name of a flag or a variable.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}
