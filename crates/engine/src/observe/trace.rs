//! Where a call stands in a trace (W3C Trace Context), carried in the `_meta` of requests.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use manifold_protocol::{Call, Raw, RawObject};

const META: &str = "_meta";
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";
/// Under which a front end notes the context of its transport where the message has one of its own. It goes no further.
const TRANSPORT: &str = "io.manifold/transport-traceparent";

/// A longer `tracestate` may be left out by anybody.
const MAX_STATE: usize = 512;
const MAX_BAGGAGE: usize = 8192;

pub type TraceId = [u8; 16];
pub type SpanId = [u8; 8];

/// Another's span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanContext {
    pub trace: TraceId,
    pub span: SpanId,
    pub sampled: bool,
}

/// Where a call stands in a trace: ours is one span for what the client asks, and one in it for what we ask the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    pub trace: TraceId,
    pub parent: Option<SpanId>,
    pub server_span: SpanId,
    pub client_span: SpanId,
    /// Whether the spans are kept.
    pub sampled: bool,
    pub state: Option<String>,
    /// What the transport said, where the message says otherwise.
    pub link: Option<SpanContext>,
    /// What of the baggage a server may see.
    baggage: Option<String>,
}

/// How traces begin and go on.
#[derive(Debug)]
pub struct Tracer {
    options: TraceOptions,
    ids: Ids,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TraceOptions {
    /// Of traces that begin here, so large a part is kept.
    pub ratio: f64,
    /// Whether what others decided for their traces counts.
    pub follows_parent: bool,
    /// The members of `baggage` that servers may see.
    pub baggage: Vec<String>,
}

/// Unforeseeable numbers that never come twice: a keyed hash of a counter.
#[derive(Debug, Default)]
struct Ids {
    keys: RandomState,
    last: AtomicU64,
}

impl Ids {
    fn next(&self) -> u64 {
        loop {
            let id = self.keys.hash_one(self.last.fetch_add(1, Ordering::Relaxed));
            if id != 0 {
                return id;
            }
        }
    }
}

impl Tracer {
    pub fn new(options: TraceOptions) -> Self {
        Self { options, ids: Ids::default() }
    }

    /// Begins a trace that no call has asked for.
    pub fn begin_apart(&self) -> Arc<Trace> {
        self.begin(&mut Call::new(manifold_protocol::Method::Ping, None))
    }

    /// Finds the place of a call that has come in, and takes out of it what is only for us.
    pub(crate) fn begin(&self, call: &mut Call) -> Arc<Trace> {
        let meta = call.params.as_ref().and_then(|params| params.get(META)).and_then(|meta| meta.object());
        let meta = meta.unwrap_or_default();
        let text = |key: &str| meta.get(key).and_then(|value| value.to_text().map(|text| text.into_owned()));
        let said = text(PARENT).as_deref().and_then(SpanContext::parse);
        let link = text(TRANSPORT).as_deref().and_then(SpanContext::parse).filter(|link| Some(*link) != said);
        if meta.contains(TRANSPORT) {
            edit(call, |meta| meta.remove(TRANSPORT));
        }
        let trace = said.map_or_else(
            || {
                let mut trace = [0; 16];
                trace[..8].copy_from_slice(&self.ids.next().to_be_bytes());
                trace[8..].copy_from_slice(&self.ids.next().to_be_bytes());
                trace
            },
            |said| said.trace,
        );
        let sampled = match said {
            Some(said) if self.options.follows_parent => said.sampled,
            _ => self.keeps(&trace),
        };
        // Without a parent there is nothing that a state could belong to.
        let state = said.and_then(|_| text(STATE)).filter(|state| state.len() <= MAX_STATE);
        Arc::new(Trace {
            trace,
            parent: said.map(|said| said.span),
            server_span: self.ids.next().to_be_bytes(),
            client_span: self.ids.next().to_be_bytes(),
            sampled,
            state,
            link,
            baggage: text(BAGGAGE).and_then(|baggage| self.permitted(&baggage)),
        })
    }

    /// Decides by the id, so that all who use the same part agree.
    fn keeps(&self, trace: &TraceId) -> bool {
        let [.., a, b, c, d, e, f, g, h] = *trace;
        let number = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
        (number as f64) < self.options.ratio * (1_u64 << 63) as f64
    }

    fn permitted(&self, baggage: &str) -> Option<String> {
        let name = |member: &str| member.split(['=', ';']).next().unwrap_or_default().trim().to_owned();
        let is_permitted = |member: &&str| self.options.baggage.iter().any(|one| *one == name(member));
        let left: Vec<&str> = baggage.split(',').filter(is_permitted).collect();
        let left = left.join(",");
        (!left.is_empty() && left.len() <= MAX_BAGGAGE).then_some(left)
    }
}

impl SpanContext {
    /// Reads a `traceparent`. Anything but the one form that is defined is none.
    pub fn parse(text: &str) -> Option<Self> {
        let [b'0', b'0', b'-', rest @ ..] = text.as_bytes() else { return None };
        if rest.len() != 52 || rest[32] != b'-' || rest[49] != b'-' {
            return None;
        }
        let (mut trace, mut span, mut flags) = ([0; 16], [0; 8], [0; 1]);
        from_hex(&rest[..32], &mut trace)?;
        from_hex(&rest[33..49], &mut span)?;
        from_hex(&rest[50..], &mut flags)?;
        let is_some = trace.iter().any(|byte| *byte != 0) && span.iter().any(|byte| *byte != 0);
        is_some.then_some(Self { trace, span, sampled: flags[0] & 1 == 1 })
    }
}

impl Trace {
    /// Has a server told that the call belongs to this trace, and is made by our span.
    pub(crate) fn tell(&self, call: &mut Call) {
        edit(call, |meta| {
            meta.set(PARENT, Raw::string(&self.parent_of_server()));
            match &self.state {
                Some(_) => {}
                None => meta.remove(STATE),
            }
            match &self.baggage {
                Some(baggage) => meta.set(BAGGAGE, Raw::string(baggage)),
                None => meta.remove(BAGGAGE),
            }
        });
    }

    fn parent_of_server(&self) -> String {
        let mut text = String::with_capacity(55);
        text.push_str("00-");
        hex(&self.trace, &mut text);
        text.push('-');
        hex(&self.client_span, &mut text);
        text.push_str(if self.sampled { "-01" } else { "-00" });
        text
    }

    /// Returns the id of the trace as it is written.
    pub fn id(&self) -> String {
        let mut text = String::with_capacity(32);
        hex(&self.trace, &mut text);
        text
    }
}

/// Changes the `_meta` of a call. Parameters that are no object stay as they are.
fn edit(call: &mut Call, edit: impl FnOnce(&mut RawObject)) {
    let mut params = match &call.params {
        None => RawObject::default(),
        Some(params) => match params.object() {
            Some(params) => params,
            None => return,
        },
    };
    let mut meta = match params.get(META) {
        None => RawObject::default(),
        Some(meta) => match meta.object() {
            Some(meta) => meta,
            None => return,
        },
    };
    edit(&mut meta);
    match meta.is_empty() {
        true => params.remove(META),
        false => params.set(META, meta.into_raw()),
    }
    call.params = Some(params.into_raw());
}

/// Adds the context of a transport to the parameters of a request: as its own where the message has none.
pub fn add_transport(params: Option<Raw>, traceparent: &str, tracestate: Option<&str>) -> Option<Raw> {
    if SpanContext::parse(traceparent).is_none() {
        return params;
    }
    let mut call = Call::new(manifold_protocol::Method::Ping, params);
    edit(&mut call, |meta| match meta.contains(PARENT) {
        true => meta.set(TRANSPORT, Raw::string(traceparent)),
        false => {
            meta.set(PARENT, Raw::string(traceparent));
            if let Some(state) = tracestate.filter(|_| !meta.contains(STATE)) {
                meta.set(STATE, Raw::string(state));
            }
        }
    });
    call.params
}

fn hex(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
}

fn from_hex(text: &[u8], bytes: &mut [u8]) -> Option<()> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(())
}

#[cfg(test)]
mod tests;
