//! Hides members of JSON objects by their names, in a text that may end anywhere; all else keeps its bytes.

use std::borrow::Cow;

use manifold_protocol::Raw;

/// What stands in the place of a value.
const HIDDEN: &str = "\"***\"";

/// Names, without their dashes, underscores and capitals.
const SECRET: [&str; 36] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "apisecret",
    "apitoken",
    "authorization",
    "authtoken",
    "bearertoken",
    "clientsecret",
    "cookie",
    "credentials",
    "csrftoken",
    "idtoken",
    "jwt",
    "mcpsessionid",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "proxyauthorization",
    "pwd",
    "refreshtoken",
    "requeststate",
    "secret",
    "secretaccesskey",
    "secretkey",
    "sessionid",
    "sessiontoken",
    "setcookie",
    "signingkey",
    "token",
    "userpassword",
    "webhooksecret",
    "xapikey",
    "xauthtoken",
    "xcsrftoken",
];

/// Members whose own members are named by whoever writes a schema: a property called `token` is no secret.
const NAMES_OF_OTHERS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Returns a text with `"***"` in the place of what has such a name.
pub(super) fn hide(text: &str) -> Cow<'_, str> {
    let mut walk = Walk { bytes: text.as_bytes(), at: 0 };
    let (mut shown, mut copied) = (String::new(), 0);
    let mut containers = Vec::new();
    let mut has_names_next = false;
    while let Some(byte) = walk.peek() {
        match byte {
            b'{' | b'[' => {
                let is_object = byte == b'{';
                let has_names = std::mem::take(&mut has_names_next) && is_object;
                containers.push(Container { is_object, has_names, wants_name: is_object });
                walk.at += 1;
            }
            b'}' | b']' => {
                containers.pop();
                walk.at += 1;
            }
            b',' => {
                if let Some(container) = containers.last_mut() {
                    container.wants_name = container.is_object;
                }
                walk.at += 1;
            }
            b'"' => {
                let start = walk.at;
                walk.string();
                let Some(container) = containers.last_mut().filter(|container| container.wants_name) else {
                    continue;
                };
                container.wants_name = false;
                let (name, is_schema) = (&text[start..walk.at], container.has_names);
                if !walk.colon() {
                    break;
                }
                has_names_next = is_among(name, &NAMES_OF_OTHERS);
                let value = walk.at;
                let is_hidden = match walk.peek() {
                    Some(b'{') => !is_schema,
                    Some(b'n' | b't' | b'f') | None => false,
                    Some(_) => true,
                };
                if is_hidden && is_secret(name) {
                    walk.value();
                    shown.push_str(&text[copied..value]);
                    shown.push_str(HIDDEN);
                    copied = walk.at;
                }
            }
            _ => walk.at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    shown.push_str(&text[copied..]);
    Cow::Owned(shown)
}

struct Container {
    is_object: bool,
    /// Its members are named by others.
    has_names: bool,
    wants_name: bool,
}

struct Walk<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Walk<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Passes a string.
    fn string(&mut self) {
        self.at += 1;
        while let Some(skip) = memchr::memchr2(b'"', b'\\', self.bytes.get(self.at..).unwrap_or_default()) {
            self.at += skip;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return;
            }
            self.at += 2;
        }
        self.at = self.bytes.len();
    }

    /// Passes what stands between a name and its value; says whether there is one.
    fn colon(&mut self) -> bool {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || *byte == b':';
        let between = self.bytes[self.at..].iter().take_while(|byte| is_between(byte)).count();
        self.at += between;
        self.at < self.bytes.len()
    }

    /// Passes a value.
    fn value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' if depth == 0 => return,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

fn is_secret(quoted: &str) -> bool {
    // No name is as long, spelled with whatever escapes.
    if quoted.len() > 256 {
        return false;
    }
    if !quoted.contains('\\') {
        return is_plain_secret(quoted.trim_matches('"'));
    }
    let name = Raw::parse(quoted.to_owned()).ok();
    name.as_ref().and_then(Raw::to_text).is_some_and(|name| is_plain_secret(&name))
}

/// No name has more letters.
const LONGEST: usize = 18;

fn is_plain_secret(name: &str) -> bool {
    let (mut plain, mut length) = ([0; LONGEST], 0);
    for byte in name.bytes().filter(|byte| !matches!(byte, b'-' | b'_')) {
        let Some(place) = plain.get_mut(length) else { return false };
        *place = byte.to_ascii_lowercase();
        length += 1;
    }
    SECRET.binary_search_by(|known| known.as_bytes().cmp(&plain[..length])).is_ok()
}

fn is_among(quoted: &str, names: &[&str]) -> bool {
    names.iter().any(|name| quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(hide(text), expected);
    }

    #[test]
    fn the_names_are_in_order() {
        assert!(SECRET.is_sorted());
        assert_eq!(SECRET.iter().map(|name| name.len()).max(), Some(LONGEST));
    }

    #[test]
    fn members_are_hidden_by_their_names() {
        check(r#"{"a":1,"password":"x\"y","b":[2]}"#, r#"{"a":1,"password":"***","b":[2]}"#);
        check(r#"{"API_Key" : {"deep":[1,{"x":"}"}]} , "b":2}"#, r#"{"API_Key" : "***" , "b":2}"#);
        check(r#"[{"headers":{"Authorization":"Bearer q"}}]"#, r#"[{"headers":{"Authorization":"***"}}]"#);
        check(r#"{"tok\u0065n":12345}"#, r#"{"tok\u0065n":"***"}"#);
        check(
            r#"{"requestState":"abc","Mcp-Session-Id":["a","b"]}"#,
            r#"{"requestState":"***","Mcp-Session-Id":"***"}"#,
        );
    }

    #[test]
    fn all_else_keeps_its_bytes() {
        for text in [
            r#"{"progressToken":7,"maxTokens":100,"nextCursor":"x"}"#,
            r#"{"text":"password","v":["token","secret"],"token":null,"password":true}"#,
            r#"{"inputSchema":{"properties":{"token":{"type":"string"}},"required":["token"]}}"#,
            "no JSON, token: x",
            "",
            "\"password\"",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn arguments_are_no_schema() {
        check(r#"{"properties":{"token":"abc"}}"#, r#"{"properties":{"token":"***"}}"#);
    }

    #[test]
    fn a_text_may_end_anywhere() {
        check(r#"{"a":{"password":"hun"#, r#"{"a":{"password":"***""#);
        check(r#"{"a":{"password":["hun","#, r#"{"a":{"password":"***""#);
        check(r#"{"a":{"password":"#, r#"{"a":{"password":"#);
        let whole = r#"{"a":"\\","secret":{"b":["\"",1]},"c":"d"}"#;
        for end in 0..whole.len() {
            assert!(!hide(&whole[..end]).contains(r#""b""#), "{end}");
        }
    }
}
