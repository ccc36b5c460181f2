//! Beside hyper: what it refuses we refuse, and what both take is the same message that ends in the same place. Where
//! hyper takes what we do not (a bare LF, a coding beside chunks), that is counted and printed.
#![expect(clippy::expect_used, reason = "tests fail by panicking and say what they tried")]

#[path = "../../../../fuzz/checks/http_messages.rs"]
mod http_messages;
mod mutations;
mod oracle;
mod written;

use http_messages::{Message, Said, requests, responses};
use manifold_http1::Asked;
use mutations::Mutations;

/// Follows every request, so that it is seen where they end.
const NEXT_REQUEST: &str = "GET /next HTTP/1.1\r\nHost: next\r\n\r\n";
/// Follows every answer.
const NEXT_ANSWER: &str = "HTTP/1.1 299 Next\r\n\r\n";
/// How many others are made of each that is written down.
const VARIANTS: usize = 30;

/// What came of so many messages.
#[derive(Debug, Default)]
struct Tally {
    messages: usize,
    /// Times they were put to both, whole and cut.
    runs: usize,
    same: usize,
    /// Both stop sooner: it is refused, cut off, or says that it is the last.
    both_stop: usize,
    /// hyper takes what we refuse.
    stricter: usize,
}

impl Tally {
    /// Counts a run, after which we may have taken less than hyper, and never more.
    fn note(&mut self, ours: usize, theirs: usize, expected: usize) {
        self.runs += 1;
        match ours {
            ours if ours < theirs => self.stricter += 1,
            ours if ours < expected => self.both_stop += 1,
            _ => self.same += 1,
        }
    }
}

/// Puts what a client says to both.
fn check_requests(pieces: &[&[u8]], expected: usize, tally: &mut Tally) {
    let (ours, theirs) = (requests(pieces).messages, oracle::requests(pieces));
    let said = pieces.concat();
    let said = said.escape_ascii();
    assert!(ours.len() <= theirs.len(), "hyper refuses what we take: {said}\n{ours:#?}\n{theirs:#?}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(plain(ours), *theirs, "{said}");
    }
    tally.note(ours.len(), theirs.len(), expected);
}

/// Puts what a server says to both, who asked for so much.
fn check_answer(pieces: &[&[u8]], asked: Asked, tally: &mut Tally) {
    let ours = responses(pieces, asked).messages.into_iter().next();
    let theirs = oracle::response(pieces, asked);
    let said = pieces.concat();
    let said = said.escape_ascii();
    if let Some(ours) = &ours {
        let theirs = theirs.as_ref();
        let theirs = theirs.unwrap_or_else(|| panic!("hyper refuses what we take: {said}\n{ours:#?}"));
        assert_eq!((plain(ours), ours.end), (theirs.message.clone(), theirs.end), "{said}");
    }
    tally.note(usize::from(ours.is_some()), usize::from(theirs.is_some()), 1);
}

/// Both keep headers of other names in an order of their own, and hyper forgets a second length that is the same.
type Plain = (String, Vec<(String, Vec<u8>)>, Vec<u8>);

fn plain(message: &Message) -> Plain {
    oracle::plain(message.start.clone(), message.headers.clone(), message.body.clone())
}

/// However it is cut in two, and byte by byte, we read the same. What is wrong may come out later.
fn check_cuts(text: &[u8], whole: &Said, read: impl Fn(&[&[u8]]) -> Said) {
    let check = |pieces: &[&[u8]]| {
        let said = read(pieces);
        assert_eq!(said.messages, whole.messages, "{}", text.escape_ascii());
        assert!(said.wrong.is_none() || said.wrong == whole.wrong, "{}", text.escape_ascii());
    };
    for at in 1..text.len() {
        check(&[&text[..at], &text[at..]]);
    }
    check(&bytes(text));
}

fn bytes(text: &[u8]) -> Vec<&[u8]> {
    text.chunks(1).collect()
}

/// Returns those that are written down, and others made of them.
fn with_variants(written: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut mutations = Mutations::new(written);
    let made = written.iter().flat_map(|text| {
        let variants: Vec<_> = (0..VARIANTS).map(|_| mutations.of(text)).collect();
        variants
    });
    let made: Vec<_> = made.collect();
    written.iter().cloned().chain(made).collect()
}

#[test]
fn requests_are_read_as_hyper_does() {
    let mut tally = Tally::default();
    let written = written::requests();
    for (at, text) in with_variants(&written).iter().enumerate() {
        let text = [text, NEXT_REQUEST.as_bytes()].concat();
        tally.messages += 1;
        check_cuts(&text, &requests(&[&text]), requests);
        check_requests(&[&text], 2, &mut tally);
        check_requests(&bytes(&text), 2, &mut tally);
        if at < written.len() {
            for cut in 1..text.len() {
                check_requests(&[&text[..cut], &text[cut..]], 2, &mut tally);
                check_requests(&[&text[..cut]], 2, &mut Tally::default());
            }
        }
    }
    println!("requests beside hyper: {tally:?}");
    assert!(tally.messages >= 1000 && tally.same >= 1000, "{tally:?}");
}

#[test]
fn answers_are_read_as_hyper_does() {
    let mut tally = Tally::default();
    let written = written::answers();
    for (at, text) in with_variants(&written).iter().enumerate() {
        let text = [text, NEXT_ANSWER.as_bytes()].concat();
        tally.messages += 1;
        for asked in [Asked::Body, Asked::Head] {
            let read = |pieces: &[&[u8]]| responses(pieces, asked);
            check_cuts(&text, &read(&[&text]), read);
            check_answer(&[&text], asked, &mut tally);
            check_answer(&bytes(&text), asked, &mut tally);
        }
        if at < written.len() {
            for cut in 1..text.len() {
                check_answer(&[&text[..cut], &text[cut..]], Asked::Body, &mut tally);
                check_answer(&[&text[..cut]], Asked::Body, &mut Tally::default());
            }
        }
    }
    println!("answers beside hyper: {tally:?}");
    assert!(tally.messages >= 300 && tally.same >= 300, "{tally:?}");
}
