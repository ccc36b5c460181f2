use bytes::{BufMut, Bytes, BytesMut};

use crate::id::Id;
use crate::outgoing::{COPIED_BYTES, Outgoing, OutgoingBuilder, blank_line_ends};
use crate::raw::{Cuts, Raw, RawObject};

// All of these write one line without its terminator.

pub fn request(id: &Id, method: &str, params: Option<&Raw>) -> Outgoing {
    let mut out = start(id.max_len() + method.len() + small_len(params));
    put_id(&mut out, Some(id));
    put_method(&mut out, method);
    match params {
        Some(params) => {
            out.put_slice(b",\"params\":");
            packed(out, |builder| builder.put_all(params), b"}")
        }
        None => finish(out).into(),
    }
}

/// Writes a request with one more member, given as the pieces of its text, behind all others of its parameters.
pub(crate) fn request_with(id: &Id, method: &str, params: &Raw, member: &[&[u8]]) -> Outgoing {
    let more: usize = member.iter().map(|piece| piece.len()).sum();
    let mut out = start(id.max_len() + method.len() + small_len(Some(params)) + more);
    put_id(&mut out, Some(id));
    put_method(&mut out, method);
    out.put_slice(b",\"params\":");
    packed(out, |builder| builder.put_with(params, member), b"}")
}

pub fn notification(method: &str, params: Option<&Raw>) -> Bytes {
    let mut out = start(method.len() + payload_len(params));
    put_method(&mut out, method);
    put_params(&mut out, params);
    finish(out)
}

pub fn result(id: &Id, result: &Raw) -> Outgoing {
    packed(start_result(id, small_len(Some(result))), |builder| builder.put_all(result), b"}")
}

/// Writes a result that was edited.
pub fn result_object(id: &Id, result: &RawObject) -> Outgoing {
    packed(start_result(id, 0), |builder| result.pack(builder), b"}")
}

/// Writes a result of which something is left out.
pub(crate) fn result_cut(id: &Id, result: &Cuts) -> Outgoing {
    packed(start_result(id, small_size(result.max_len())), |builder| result.pack(builder), b"}")
}

/// Writes a result whose only member is a list.
pub fn list(id: &Id, member: &str, items: &Raw) -> Outgoing {
    let mut out = start_result(id, member.len() + small_len(Some(items)));
    out.put_slice(b"{\"");
    out.put_slice(member.as_bytes());
    out.put_slice(b"\":");
    packed(out, |builder| builder.put_all(items), b"}}")
}

fn start_result(id: &Id, variable_bytes: usize) -> BytesMut {
    let mut out = start(id.max_len() + variable_bytes);
    put_id(&mut out, Some(id));
    out.put_slice(b",\"result\":");
    out
}

/// Packs a payload behind its head. `tail` is what closes the brackets that the head opens.
fn packed(head: BytesMut, pack: impl FnOnce(&mut OutgoingBuilder), tail: &[u8]) -> Outgoing {
    let mut builder = OutgoingBuilder::new(head);
    pack(&mut builder);
    builder.say(tail);
    builder.finish()
}

/// Returns how much of a payload is copied.
fn small_len(payload: Option<&Raw>) -> usize {
    small_size(payload_len(payload))
}

fn small_size(len: usize) -> usize {
    if len <= COPIED_BYTES { len } else { 0 }
}

/// Writes an error; an id that could not be read is null.
pub fn error(id: Option<&Id>, error: &Raw) -> Bytes {
    let mut out = start(id.map_or(4, Id::max_len) + error.as_bytes().len());
    put_id(&mut out, id);
    put_error(&mut out, error);
    finish(out)
}

/// Writes an error as modern peers expect it if the id could not be read.
pub fn error_without_id(error: &Raw) -> Bytes {
    let mut out = start(error.as_bytes().len());
    put_error(&mut out, error);
    finish(out)
}

fn start(variable_bytes: usize) -> BytesMut {
    let mut out = BytesMut::with_capacity(variable_bytes + 64);
    out.put_slice(b"{\"jsonrpc\":\"2.0\"");
    out
}

fn put_id(out: &mut BytesMut, id: Option<&Id>) {
    out.put_slice(b",\"id\":");
    match id {
        Some(id) => id.write(out),
        None => out.put_slice(b"null"),
    }
}

fn put_method(out: &mut BytesMut, method: &str) {
    out.put_slice(b",\"method\":");
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.$".contains(&byte);
    if method.bytes().all(plain) {
        out.put_u8(b'"');
        out.put_slice(method.as_bytes());
        out.put_u8(b'"');
    } else {
        out.put_slice(Raw::string(method).as_bytes());
    }
}

fn put_params(out: &mut BytesMut, params: Option<&Raw>) {
    if let Some(params) = params {
        out.put_slice(b",\"params\":");
        out.put_slice(params.as_bytes());
    }
}

fn put_error(out: &mut BytesMut, error: &Raw) {
    out.put_slice(b",\"error\":");
    out.put_slice(error.as_bytes());
}

fn payload_len(payload: Option<&Raw>) -> usize {
    payload.map_or(0, |payload| payload.as_bytes().len())
}

fn finish(mut out: BytesMut) -> Bytes {
    out.put_u8(b'}');
    blank_line_ends(&mut out);
    out.freeze()
}
