//! The forms that MCP lets a server ask for a text in: what is typed is checked here, so that nobody hears of a slip only
//! from the server.

use jiff::Timestamp;
use jiff::civil::Date;

/// A form of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Email,
    Uri,
    Date,
    DateTime,
}

impl Format {
    /// Returns the one of this name; what is not known asks for nothing.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "email" => Some(Self::Email),
            "uri" => Some(Self::Uri),
            "date" => Some(Self::Date),
            "date-time" => Some(Self::DateTime),
            _ => None,
        }
    }

    /// Says what is to be typed.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Email => "an address like name@example.org",
            Self::Uri => "an address like https://example.org",
            Self::Date => "a date like 2026-01-31",
            Self::DateTime => "a date and time like 2026-01-31T12:00:00Z",
        }
    }

    pub(super) fn fits(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uri => is_uri(text),
            // jiff also reads shorter spellings, which JSON Schema does not have.
            Self::Date => text.len() == "2026-01-31".len() && text.parse::<Date>().is_ok(),
            Self::DateTime => is_date_time(text),
        }
    }
}

/// Whether mail arrives there nobody knows before it is sent: something stands on both sides of the last `@`.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    let is_label = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-');
    !local.is_empty() && text.chars().all(is_plain) && domain.split('.').all(is_label)
}

/// A scheme, a colon, and characters that may stand in an address (RFC 3986).
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme && !rest.is_empty() && rest.chars().all(|c| c.is_ascii_graphic() && !"<>\"{}|\\^`".contains(c))
}

/// As RFC 3339 has it: a `T`, seconds, and the distance from UTC.
fn is_date_time(text: &str) -> bool {
    let has_date = text.as_bytes().get(10).is_some_and(|byte| byte.eq_ignore_ascii_case(&b't'));
    let has_seconds = text.as_bytes().get(16) == Some(&b':');
    has_date && has_seconds && text.parse::<Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_told_from_what_does_not() {
        for (name, good, bad) in [
            ("email", ["a@b.org", "x.y+z@host"], ["a", "@b.org", "a@", "a b@c.org", "a@b..org", "a@-b"]),
            (
                "uri",
                ["https://example.org/a?b=c#d", "urn:isbn:1"],
                ["example.org", "://x", "http:", "http://a b", "1http://x", "http://<x>"],
            ),
            (
                "date",
                ["2026-01-31", "2024-02-29"],
                ["2026-02-30", "31.1.2026", "20260131", "2026-1-31", "tomorrow", "2026-01-31T00:00:00Z"],
            ),
            (
                "date-time",
                ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+02:00"],
                [
                    "2026-01-31",
                    "2026-01-31T12:00Z",
                    "2026-01-31T12:00:00",
                    "2026-01-31 12:00:00Z",
                    "noon",
                    "2026-13-31T12:00:00Z",
                ],
            ),
        ] {
            let format = Format::of(name).unwrap();
            assert!(good.iter().all(|text| format.fits(text)), "{name}");
            for text in bad {
                assert!(!format.fits(text), "{name}: {text}");
            }
        }
        assert_eq!(Format::of("hostname"), None);
    }
}
