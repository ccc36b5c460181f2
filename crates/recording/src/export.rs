//! A recording in the formats of others.

mod har;
mod text;

use crate::reader::Recorded;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One entry for each call, for viewers of HTTP archives.
    Har,
    /// One line for each frame, for people.
    Text,
    /// One document.
    Json,
}

/// Writes a recording in another format. Whoever prints it must see to control characters.
pub fn export(recorded: &Recorded, format: Format) -> String {
    match format {
        Format::Har => har::write(recorded),
        Format::Text => text::write(recorded),
        Format::Json => json(recorded),
    }
}

fn json(recorded: &Recorded) -> String {
    let text = |value: Result<String, serde_json::Error>| value.unwrap_or_else(|_| "null".to_owned());
    let items: Vec<String> = recorded.items.iter().map(|item| text(serde_json::to_string(item))).collect();
    format!(
        "{{\"header\":{},\"frames\":[{}],\"footer\":{}}}\n",
        text(serde_json::to_string(&recorded.header)),
        items.join(",\n"),
        text(serde_json::to_string(&recorded.footer)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::conversation;

    #[test]
    fn every_format_has_every_call() {
        let recorded = conversation();
        let har: serde_json::Value = serde_json::from_str(&export(&recorded, Format::Har)).unwrap();
        let entries = har["log"]["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 5);
        assert_eq!(entries[2]["request"]["url"], "mcp://gateway/tools/call/fx__echo");
        assert!(entries[2]["response"]["content"]["text"].as_str().unwrap().contains("first"));
        assert!(entries[2]["startedDateTime"].as_str().unwrap().starts_with("2026-11-18T00:00:00.00"));
        let text = export(&recorded, Format::Text);
        assert_eq!(text.lines().filter(|line| line.contains("tools/call")).count(), 3, "{text}");
        let json: serde_json::Value = serde_json::from_str(&export(&recorded, Format::Json)).unwrap();
        assert_eq!(json["frames"].as_array().unwrap().len(), recorded.items.len());
        assert_eq!(json["header"]["format"], "manifold-recording");
    }
}
