//! The head of an answer: read by httparse, past the interim ones that may go before it.

use std::mem::MaybeUninit;

use crate::head::{MAX_HEADERS, check_line_ends, may_be_whole, text_of};
use crate::length::Claims;
use crate::{Length, Malformed};

/// So many interim answers (1xx) may go before the one that counts; a server could go on with them for ever (L18).
const MAX_INTERIM: u8 = 32;

/// What was asked for, as far as the end of the answer depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// An answer with its body.
    Body,
    /// The head alone.
    Head,
    /// Another protocol on the same connection.
    Upgrade,
}

/// What an answer says of itself. All its headers go to whoever reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead {
    pub status: u16,
    pub length: Length,
    /// Whether another request may follow on the connection.
    pub keeps_alive: bool,
}

/// The heads of what comes for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answers {
    asked: Asked,
    interim: u8,
}

impl Answers {
    pub fn new(asked: Asked) -> Self {
        Self { asked, interim: 0 }
    }

    /// Looks for the head of the answer, and gives its headers to `note`. Returns how much of the text was taken, which
    /// may be interim answers alone. Where a head was not found before, only what is new is searched.
    pub fn take(
        &mut self,
        text: &[u8],
        searched: usize,
        mut note: impl FnMut(&str, &[u8]),
    ) -> Result<(usize, Option<ResponseHead>), Malformed> {
        let (mut at, mut searched) = (0, searched);
        while at < text.len() {
            let rest = &text[at..];
            if !may_be_whole(rest, searched)? {
                break;
            }
            let mut headers = [MaybeUninit::uninit(); MAX_HEADERS];
            let mut response = httparse::Response::new(&mut []);
            let config = httparse::ParserConfig::default();
            let parsed = config.parse_response_with_uninit_headers(&mut response, rest, &mut headers);
            let Some(head) = text_of(parsed, rest)? else { break };
            at += head.len();
            searched = 0;
            if let Some(head) = self.judge(&response, head, &mut note)? {
                return Ok((at, Some(head)));
            }
        }
        Ok((at, None))
    }

    /// Returns what a head says; `None` if it is an interim one.
    fn judge(
        &mut self,
        response: &httparse::Response<'_, '_>,
        text: &[u8],
        note: &mut impl FnMut(&str, &[u8]),
    ) -> Result<Option<ResponseHead>, Malformed> {
        let (Some(status @ 100..), Some(version)) = (response.code, response.version) else {
            return Err(Malformed::Head);
        };
        // What httparse skips before it is nothing we wait for.
        if !text.starts_with(b"HTTP/") {
            return Err(Malformed::Head);
        }
        check_line_ends(text, response.headers)?;
        match (status, self.asked) {
            (101, Asked::Upgrade) | (200.., _) => {}
            (101, _) => return Err(Malformed::Switched),
            _ if self.interim == MAX_INTERIM => return Err(Malformed::Interim),
            _ => {
                self.interim += 1;
                return Ok(None);
            }
        }
        let is_1_1 = version == 1;
        let mut claims = Claims::default();
        for header in response.headers.iter() {
            claims.note(header.name, header.value)?;
            note(header.name, header.value);
        }
        let said = claims.body(is_1_1)?;
        let mut keeps_alive = claims.keeps_alive(is_1_1);
        let length = match status {
            101 => Length::Open,
            // Whatever they say, these have none (RFC 9112, 6.3). Who says otherwise may mean it, and what came of it
            // after all would be taken for the next answer.
            204 | 304 => {
                keeps_alive &= matches!(said, None | Some(Length::Known(0)));
                Length::Known(0)
            }
            _ if self.asked == Asked::Head => Length::Known(0),
            _ => said.unwrap_or(Length::Open),
        };
        Ok(Some(ResponseHead { status, length, keeps_alive }))
    }
}
