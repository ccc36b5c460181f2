//! Bytes as a state of JSON carries them: unchanged, whatever they are.

use std::fmt;

use bytes::Bytes;
use manifold_protocol::Raw;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// JSON of somebody else, carried as a text: it keeps its bytes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Json(pub(crate) Raw);

// What clients and servers say may be secret, and a state may be shown in a log.
impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.as_bytes().len())
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.as_str())
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Raw::parse(text).map(Self).map_err(|_| de::Error::custom("it is not valid JSON"))
    }
}

/// Any bytes: a text where they are one, else their digits.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Data(pub(crate) Bytes);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Hex { hex: String },
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => Written::Hex { hex: hex(&self.0) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self(text.into())),
            Written::Hex { hex } => match unhex(&hex) {
                Some(bytes) => Ok(Self(bytes.into())),
                None => Err(de::Error::custom("`hex` holds something else than pairs of digits")),
            },
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_as_they_were() {
        for bytes in [&b""[..], b"plain \"text\"\n", "\u{0}ä\u{10ffff}".as_bytes(), b"\xff\x00half \xc3"] {
            let data = Data(Bytes::copy_from_slice(bytes));
            let text = serde_json::to_string(&data).unwrap();
            assert_eq!(serde_json::from_str::<Data>(&text).unwrap(), data, "{text}");
        }
        assert!(serde_json::from_str::<Data>(r#"{"hex":"0"}"#).is_err());
        assert!(serde_json::from_str::<Data>(r#"{"hex":"0x"}"#).is_err());
    }

    #[test]
    fn json_keeps_its_bytes() {
        let json = Json(Raw::parse(r#"{ "a":1.0, "a" : "\ud800" }"#).unwrap());
        let text = serde_json::to_string(&json).unwrap();
        assert_eq!(serde_json::from_str::<Json>(&text).unwrap().0.as_str(), json.0.as_str());
        assert_eq!(format!("{json:?}"), "27 bytes", "it is not shown");
    }
}
