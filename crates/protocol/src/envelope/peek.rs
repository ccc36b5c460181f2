use bytes::Bytes;

use crate::id::Id;
use crate::raw::Raw;
use crate::scan::{Cursor, ScanError, is_blank};

/// Tells whether the text would be a batch, without reading on.
pub fn looks_like_batch(message: &[u8]) -> bool {
    message.iter().find(|&&byte| !is_blank(byte)) == Some(&b'[')
}

/// Finds the id in the first part of a message that was cut off.
pub fn peek_id(head: &[u8]) -> Option<Id> {
    let mut ids = Vec::new();
    // It ends in an error where it was cut.
    let _ = collect_ids(&mut Cursor::new(head), &mut ids);
    match ids.as_slice() {
        [id] => parse_id(id),
        _ => None,
    }
}

/// Finds the id in the last part of a message, where it is the last member.
///
/// In valid JSON `,"id":1}` at the very end can only be a member of the outermost object.
pub fn peek_id_at_end(tail: &[u8]) -> Option<Id> {
    memchr::memmem::rfind_iter(tail, b"\"id\"").take(2).find_map(|at| {
        let before = tail.get(..at)?.iter().rfind(|&&byte| !is_blank(byte))?;
        if !matches!(before, b',' | b'{') {
            return None;
        }
        let (colon, rest) = tail.get(at + 4..)?.trim_ascii_start().split_first()?;
        let value = rest.trim_ascii_end().strip_suffix(b"}")?;
        if *colon == b':' { parse_id(value) } else { None }
    })
}

fn collect_ids<'a>(cursor: &mut Cursor<'a>, ids: &mut Vec<&'a [u8]>) -> Result<(), ScanError> {
    cursor.skip_blank();
    if cursor.peek() != Some(b'{') {
        return Ok(());
    }
    let mut first = true;
    cursor.enter()?;
    while let Some(key) = cursor.next_key(first)? {
        first = false;
        let start = cursor.at();
        cursor.value()?;
        let name = cursor.name(&key);
        // A number that ends where the text does may go on.
        if cursor.peek().is_some() && *name == *b"id" {
            ids.push(cursor.slice(start..cursor.at()));
        } else if name.eq_ignore_ascii_case(b"id") {
            // Another reader may take this one: none is certain (H2).
            ids.push(b"");
        }
    }
    Ok(())
}

fn parse_id(text: &[u8]) -> Option<Id> {
    Id::from_raw(&Raw::parse(Bytes::copy_from_slice(text)).ok()?)
}
