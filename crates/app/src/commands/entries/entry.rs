//! A server's entry on its way into the config: members keep their order, and values their bytes.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// Members of a JSON object.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry(Vec<(String, Box<RawValue>)>);

impl Entry {
    /// Returns the entry of a program.
    pub(super) fn of_command(words: &[String]) -> Self {
        let mut entry = Self::default();
        if let Some((program, arguments)) = words.split_first() {
            entry.set("command", program);
            if !arguments.is_empty() {
                entry.set("args", &arguments);
            }
        }
        entry
    }

    /// Returns the entry of an address.
    pub(super) fn of_url(url: &str) -> Self {
        let mut entry = Self::default();
        entry.set("url", &url);
        entry
    }

    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Gives a member a value, in its place or as the last.
    pub(super) fn set(&mut self, name: &str, value: &impl Serialize) {
        let Ok(value) = to_raw_value(value) else { return };
        match self.0.iter_mut().find(|(there, _)| there == name) {
            Some((_, there)) => *there = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Gives a member of a member a value.
    pub(super) fn set_below(&mut self, name: &str, below: &str, value: &str) {
        let mut inner: Self = self.get(name).unwrap_or_default();
        inner.set(below, &value);
        self.set(name, &inner);
    }

    /// Reads a member; `None` where it is not there, or is something else.
    pub(super) fn get<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Option<T> {
        let (_, value) = self.0.iter().find(|(there, _)| there == name)?;
        serde_json::from_str(value.get()).ok()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(there, _)| there == name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the program and its arguments, or none where it is something else.
    pub(super) fn command(&self) -> Option<Vec<String>> {
        let program: String = self.get("command")?;
        let arguments: Vec<String> = self.get("args").unwrap_or_default();
        Some([program].into_iter().chain(arguments).collect())
    }

    pub(super) fn url(&self) -> Option<String> {
        self.get("url")
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Entry(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order() {
        let mut entry = Entry::of_command(&["npx".to_owned(), "-y".to_owned()]);
        entry.set_below("env", "Z", "1");
        entry.set_below("env", "A", "2");
        entry.set("args", &["x"]);
        assert_eq!(entry.text(), r#"{"command":"npx","args":["x"],"env":{"Z":"1","A":"2"}}"#);
        let read = Entry::parse(r#"{"b": 1.0, "a": {"y": [ 1 ]}}"#).unwrap();
        assert_eq!(read.text(), r#"{"b":1.0,"a":{"y": [ 1 ]}}"#);
        assert!(Entry::parse("[]").is_err());
    }
}
