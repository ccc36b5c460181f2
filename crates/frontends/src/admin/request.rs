//! What a request says, beside its route.

use std::collections::BTreeMap;
use std::error::Error;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, IF_MATCH};
use manifold_admin::{AskerEnvironment, CommandError, ENVIRONMENT_HEADER, ErrorCode};
use percent_encoding::percent_decode_str;
use serde::de::{DeserializeOwned, IgnoredAny};

/// No body is longer.
pub(super) const MAX_BODY_BYTES: usize = 16 << 20;

/// A request that has been read.
pub(super) struct Asked {
    pub(super) headers: HeaderMap,
    pub(super) query: Query,
    pub(super) body: Bytes,
    /// What stands in the path where a name goes.
    pub(super) name: String,
}

impl Asked {
    /// Reads what was sent. A body that is no JSON by its own word is not read.
    pub(super) async fn read<B>(
        headers: HeaderMap,
        query: Option<&str>,
        body: B,
        name: Option<String>,
        max_bytes: usize,
    ) -> Result<Self, CommandError>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        if !body.is_end_stream() && !is_json(&headers) {
            return Err(bad("a body must be JSON, with `Content-Type: application/json`"));
        }
        let body = match Limited::new(body, max_bytes).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let most = if max_bytes < 1 << 20 { "4 KiB" } else { "16 MiB" };
                return Err(bad(&format!("the body is longer than {most}")));
            }
            Err(_) => return Err(bad("the body ended before it was whole")),
        };
        // Also where nothing of it is used: what somebody meant by it was not done.
        if !body.is_empty() {
            let read = serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(&body);
            read.map_err(|error| unfit(&error))?;
        }
        Ok(Self {
            headers,
            query: Query::parse(query.unwrap_or_default()),
            body,
            name: name.unwrap_or_default(),
        })
    }

    /// Reads the body as what is asked for.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, CommandError> {
        if self.body.is_empty() {
            return Err(bad("a body is missing"));
        }
        serde_json::from_slice(&self.body).map_err(|error| unfit(&error))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the revision a change was made for; `None`: whichever there is.
    pub(super) fn if_match(&self) -> Option<String> {
        let revision = self.header(IF_MATCH.as_str())?.trim();
        let revision = revision.trim_matches('"');
        (revision != "*").then(|| revision.to_owned())
    }

    /// Returns the variables and the folder of whoever asks, where it tells them.
    pub(super) fn environment(&self) -> Result<Option<AskerEnvironment>, CommandError> {
        let Some(written) = self.header(ENVIRONMENT_HEADER) else { return Ok(None) };
        let read = percent_decode_str(written).decode_utf8().ok();
        let read = read.and_then(|text| serde_json::from_str(&text).ok());
        read.map(Some).ok_or_else(|| bad(&format!("`{ENVIRONMENT_HEADER}` is not what is asked for")))
    }

    /// Returns whether the answer is wanted as events.
    pub(super) fn wants_events(&self) -> bool {
        self.header(ACCEPT.as_str()).is_some_and(|accept| accept.contains("text/event-stream"))
    }
}

/// The members behind the `?`. Those that nobody knows are ignored.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        let decoded = |text: &str| {
            let text = text.replace('+', " ");
            percent_decode_str(&text).decode_utf8_lossy().into_owned()
        };
        let members = text.split('&').filter(|member| !member.is_empty()).map(|member| {
            let (name, value) = member.split_once('=').unwrap_or((member, ""));
            (decoded(name), decoded(value))
        });
        Self(members.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Returns whether a member is set, as `follow=1` or `follow` alone.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.0.iter().any(|(found, value)| found == name && value != "0" && value != "false")
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<usize>, CommandError> {
        let number = |value: &str| {
            value.parse().map_err(|_| bad(&format!("`{name}` must be a number, not `{value}`")))
        };
        self.get(name).map(number).transpose()
    }
}

pub(super) fn bad(message: &str) -> CommandError {
    CommandError::new(ErrorCode::BadRequest, message)
}

/// Says what is wrong with a body, in the words of JSON rather than in those of the program.
pub(super) fn unfit(error: &serde_json::Error) -> CommandError {
    let said = error.to_string();
    let (mut words, mut plain) = (said.split(' '), Vec::new());
    while let Some(word) = words.next() {
        let (word, comma) = word.strip_suffix(',').map_or((word, ""), |word| (word, ","));
        let (said, comma) = match word {
            // Its name follows.
            "struct" | "enum" => {
                ("an object", if words.next().unwrap_or_default().ends_with(',') { "," } else { "" })
            }
            "map" => ("object", comma),
            "sequence" => ("array", comma),
            "unit" => ("null", comma),
            "field" => ("member", comma),
            "variant" => ("word", comma),
            "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" => ("a whole number", comma),
            word => (word, comma),
        };
        plain.push(format!("{said}{comma}"));
    }
    let plain = plain.join(" ").replace("a object", "an object").replace("a array", "an array");
    bad(&format!("the body is not what is asked for: {plain}"))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_body_is_said_without_names_of_ours() {
        use manifold_admin::{CallRequest, PermissionChange};
        let of_call = |body: &str| unfit(&serde_json::from_str::<CallRequest>(body).unwrap_err()).message;
        let of_rule =
            |body: &str| unfit(&serde_json::from_str::<PermissionChange>(body).unwrap_err()).message;
        let said = [
            of_call("5"),
            of_call("[]"),
            of_call(r#"{"name": 5}"#),
            of_call(r#"{"name": "a", "timeoutMs": "x"}"#),
            of_call("{}"),
            of_call("{"),
            of_rule(r#"{"item": 5}"#),
            of_rule(r#"{"allow": {}}"#),
        ];
        for said in said {
            let said = said.strip_prefix("the body is not what is asked for: ").unwrap();
            for word in
                ["struct", "enum", "CallRequest", "PermissionChange", "map", "sequence", "u64", "field"]
            {
                assert!(!said.split([' ', ',']).any(|found| found == word), "{word} in {said}");
            }
        }
    }

    #[test]
    fn a_query_is_read_as_browsers_write_it() {
        let query = Query::parse("q=a+b%26c&limit=3&follow&full=0&odd=%ff&&x");
        assert_eq!(query.get("q"), Some("a b&c"));
        assert_eq!(query.number("limit"), Ok(Some(3)));
        assert_eq!(
            (query.is_set("follow"), query.is_set("full"), query.is_set("none")),
            (true, false, false)
        );
        assert_eq!(query.get("odd"), Some("\u{fffd}"));
        assert_eq!(query.get("follow"), None);
        assert_eq!(
            Query::parse("limit=x").number("limit").unwrap_err().message,
            "`limit` must be a number, not `x`"
        );
    }
}
