//! Whose a client's certificate is: the subject, as people write it (RFC 4514). The certificate has been checked by
//! then; all that is read here is its name.

use std::fmt::Write as _;
use std::sync::Arc;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
/// The version of a certificate, which may be left out.
const VERSION: u8 = 0xa0;
/// A longer subject names nobody.
const MAX_BYTES: usize = 1024;

/// Returns the subject of a certificate, if it has one.
pub(super) fn subject(certificate: &[u8]) -> Option<Arc<str>> {
    let (_, whole, _) = element(certificate)?;
    let (_, mut rest, _) = element(whole)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest)?.2;
    }
    // Serial number, signature, issuer, validity.
    for _ in 0..4 {
        rest = element(rest)?.2;
    }
    let (tag, name, _) = element(rest)?;
    let shown = (tag == SEQUENCE).then(|| distinguished(name)).flatten()?;
    (!shown.is_empty() && shown.len() <= MAX_BYTES).then(|| shown.into())
}

/// Writes the parts of a name, the most particular first.
fn distinguished(mut name: &[u8]) -> Option<String> {
    let mut parts = Vec::new();
    while !name.is_empty() {
        let (tag, mut set, rest) = element(name)?;
        name = rest;
        let mut together = Vec::new();
        while tag == SET && !set.is_empty() {
            let (_, pair, rest) = element(set)?;
            set = rest;
            let (tag, kind, value) = element(pair)?;
            let (_, value, _) = element(value).filter(|_| tag == OID)?;
            together.push(format!("{}={}", word(kind), escaped(&String::from_utf8_lossy(value))));
        }
        parts.push(together.join("+"));
    }
    parts.reverse();
    Some(parts.join(","))
}

/// Returns the word for a kind of name.
fn word(kind: &[u8]) -> String {
    match kind {
        [0x55, 4, 3] => "CN".to_owned(),
        [0x55, 4, 6] => "C".to_owned(),
        [0x55, 4, 7] => "L".to_owned(),
        [0x55, 4, 8] => "ST".to_owned(),
        [0x55, 4, 10] => "O".to_owned(),
        [0x55, 4, 11] => "OU".to_owned(),
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1] => "UID".to_owned(),
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25] => "DC".to_owned(),
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1] => "emailAddress".to_owned(),
        other => other.iter().fold("OID.".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    }
}

/// Marks what would otherwise part names.
fn escaped(value: &str) -> String {
    value.chars().fold(String::new(), |mut text, char| {
        if matches!(char, ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=') {
            text.push('\\');
        }
        text.push(char);
        text
    })
}

/// Returns the tag and the content of the first element, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        short @ 0..=0x7f => (usize::from(short), rest),
        long => {
            let count = usize::from(long & 0x7f);
            let digits = rest.get(..count).filter(|_| (1..=4).contains(&count))?;
            let length = digits.iter().fold(0_usize, |length, byte| length << 8 | usize::from(*byte));
            (length, rest.get(count..)?)
        }
    };
    Some((tag, rest.get(..length)?, rest.get(length..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag, 0x82, (content.len() >> 8) as u8, content.len() as u8];
        bytes.extend_from_slice(content);
        bytes
    }

    fn named(kind: &[u8], value: &str) -> Vec<u8> {
        tlv(SET, &tlv(SEQUENCE, &[tlv(OID, kind), tlv(0x0c, value.as_bytes())].concat()))
    }

    fn certificate(subject: &[u8]) -> Vec<u8> {
        let before = [tlv(VERSION, &[2, 1, 2]), tlv(2, &[1]), tlv(SEQUENCE, &[])].concat();
        let issuer = tlv(SEQUENCE, &named(&[0x55, 4, 3], "issuer"));
        let tbs = [before, issuer, tlv(SEQUENCE, &[]), tlv(SEQUENCE, subject)].concat();
        tlv(SEQUENCE, &tlv(SEQUENCE, &tbs))
    }

    #[test]
    fn a_subject_is_written_with_the_most_particular_first() {
        let name = [named(&[0x55, 4, 10], "Acme, Inc."), named(&[0x55, 4, 3], "ann")].concat();
        assert_eq!(subject(&certificate(&name)).as_deref(), Some(r"CN=ann,O=Acme\, Inc."));
        assert_eq!(subject(&certificate(&[])), None, "a certificate for nobody");
        let whole = certificate(&name);
        for bytes in 0..whole.len() {
            assert_eq!(subject(&whole[..bytes]), None, "{bytes}");
        }
    }
}
