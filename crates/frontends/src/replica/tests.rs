use base64::prelude::{BASE64_STANDARD, Engine};
use manifold_protocol::{Raw, Revision};

use super::*;

fn line(byte: u8) -> String {
    BASE64_STANDARD.encode([byte; 32])
}

fn keys(bytes: &[u8]) -> StateKeys {
    StateKeys::parse(&bytes.iter().map(|byte| line(*byte) + "\n").collect::<String>()).unwrap()
}

fn session(name: &str) -> SealedSession {
    SealedSession {
        random: [7; 16],
        principal: hash_of("token:ci"),
        namespace: hash_of("/work"),
        revision: Revision::V2025_06_18,
        capabilities: Capabilities::of(&Raw::from_static(
            r#"{"roots":{"listChanged":true},"elicitation":{}}"#,
        )),
        client_name: name.to_owned(),
        client_version: "1.2.3".to_owned(),
        created: 1_800_000_000,
    }
}

#[test]
fn a_key_file_has_a_key_on_each_line() {
    assert!(StateKeys::parse(&format!("# in use\n{}\n\n# before\n{}\n", line(1), line(2))).is_ok());
    let wrong = |text: &str| StateKeys::parse(text).unwrap_err();
    assert_eq!(wrong(""), KeyFileError::Empty);
    assert_eq!(wrong("# nothing\n"), KeyFileError::Empty);
    assert_eq!(wrong(&format!("{}\nabc\n", line(1))), KeyFileError::Line(2));
    assert_eq!(wrong(&BASE64_STANDARD.encode([1; 31])), KeyFileError::Line(1));
    assert_eq!(wrong(&(line(1) + "\n").repeat(9)), KeyFileError::TooMany);
    assert_eq!(format!("{:?}", keys(&[1, 2])), "StateKeys(2 of ***)");
}

// an id says the same to whoever has the key, and nothing to others
#[test]
fn an_id_is_opened_by_those_who_have_its_key() {
    let sealed = session("editor").seal(&keys(&[1])).unwrap();
    assert!(sealed.starts_with("mf1.") && sealed.len() <= 300, "{sealed}");
    assert_eq!(SealedSession::open(&sealed, &keys(&[1])), Some(session("editor")));
    // The key that sealed is now the one before.
    assert_eq!(SealedSession::open(&sealed, &keys(&[2, 1])), Some(session("editor")));
    assert_eq!(SealedSession::open(&sealed, &keys(&[2])), None, "a retired key");
    for at in 4..sealed.len() {
        let mut bytes = sealed.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let tampered = String::from_utf8(bytes).unwrap();
        // The last digit has bits that say nothing; a strict reader refuses those as well.
        assert_eq!(SealedSession::open(&tampered, &keys(&[1])), None, "at {at}");
    }
    for other in ["", "mf1.", "mf1.AAAA", "mf2.abc", &sealed[4..], &sealed[..sealed.len() - 4]] {
        assert_eq!(SealedSession::open(other, &keys(&[1])), None, "{other}");
    }
    let again = session("editor").seal(&keys(&[1])).unwrap();
    assert_ne!(sealed, again, "no two are alike");
}

#[test]
fn the_longest_id_is_bounded() {
    let long = SealedSession { client_version: "v".repeat(500), ..session(&"ä".repeat(500)) };
    let sealed = long.seal(&keys(&[1])).unwrap();
    assert!(sealed.len() <= 300, "{} bytes", sealed.len());
    let opened = SealedSession::open(&sealed, &keys(&[1])).unwrap();
    assert_eq!((opened.client_name, opened.client_version), ("ä".repeat(40), "v".repeat(32)));
}

#[test]
fn capabilities_come_back_as_they_were() {
    for text in [
        "{}",
        r#"{"roots":{}}"#,
        r#"{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}}}"#,
        r#"{"sampling":{},"elicitation":{"form":{},"url":{}}}"#,
    ] {
        assert_eq!(Capabilities::of(&Raw::from_static(text)).to_raw().as_str(), text);
    }
    let odd = Raw::from_static(r#"{"roots":{"listChanged":false},"experimental":{"x":{}}}"#);
    assert_eq!(Capabilities::of(&odd).to_raw().as_str(), r#"{"roots":{}}"#);
}

#[test]
fn replicas_know_each_other_by_their_keys() {
    let token = keys(&[1, 2]).replica_token();
    assert!(keys(&[2, 1]).knows_replica(token.as_bytes()));
    assert!(!keys(&[2]).knows_replica(token.as_bytes()));
    assert!(!keys(&[1]).knows_replica(b"") && !keys(&[1]).knows_replica(b"AAAA"));
}

#[test]
fn only_replicas_say_where_they_are() {
    let address = "http://10.0.0.7:3095";
    let signed = keys(&[1]).sign_address(7, address);
    assert_eq!(keys(&[2, 1]).read_address(7, &signed).as_deref(), Some(address));
    assert_eq!(keys(&[1]).read_address(8, &signed), None, "another's");
    assert_eq!(keys(&[2]).read_address(7, &signed), None, "another key");
    let moved = signed.replace("10.0.0.7", "10.0.0.8");
    for wrong in [moved.as_str(), address, "", "#"] {
        assert_eq!(keys(&[1]).read_address(7, wrong), None, "{wrong}");
    }
}

#[test]
fn numbers_say_whose_they_are() {
    let replica = Replica::new("a".to_owned(), keys(&[1]), &Tasks::new()).unwrap();
    for _ in 0..10_000 {
        let first = replica.first_number();
        assert_eq!(Replica::of_number(first), Some(replica.number()));
        assert!(first < 1 << 53);
    }
    assert_eq!(Replica::of_number(17), None);
}

#[test]
fn own_news_are_none() {
    let news = News::Cancelled { sid: "ab".to_owned(), id: "7".to_owned() };
    let text = news.clone().encode(7);
    assert_eq!(News::read(&text, 8), Some(news));
    assert_eq!(News::read(&text, 7), None);
    assert_eq!(News::read(r#"{"from":7,"what":"later","sid":"x"}"#, 8), None);
}

// What replicas of today's format have written, which those of the next must read: side by side during a rollout.
#[test]
fn what_another_version_wrote_is_read() {
    let id = "mf1.pDqhnAABAgMEBQYHCAkKC8k5Ber8iALGTFheUZmcYPDp8cz9lK2MSIu-qLYvnRlZSVSY8iQnTx4N06eAcQrnzn8b_qVsrlcJ\
              B7ezbVakTFpzWKgHstrULjEr-OUjNlo67PywbTW3JL8w";
    assert_eq!(SealedSession::open(id, &keys(&[1])), Some(session("editor")));
    let signed = "http://10.0.0.7:3095#dtohFVL2mN4Px0FU0UsqLKhgNWO-5e4FzUAupaKCZRk";
    assert_eq!(keys(&[1]).read_address(7, signed).as_deref(), Some("http://10.0.0.7:3095"));
    assert!(keys(&[1]).knows_replica(b"E7DjL85hHLE_qQq2f4_jIZcpxNZqFHqN0Bo_9j59ciI"));
    let sid = || "07070707070707070707070707070707".to_owned();
    for (text, news) in [
        (
            r#"{"from":7,"what":"noted","sid":"07070707070707070707070707070707"}"#,
            News::Noted { sid: sid(), number: None },
        ),
        (r#"{"from":7,"what":"over","sid":"07070707070707070707070707070707"}"#, News::Over { sid: sid() }),
        (r#"{"from":7,"what":"taken","sid":"07070707070707070707070707070707"}"#, News::Taken { sid: sid() }),
        (
            r#"{"from":7,"what":"cancelled","sid":"07070707070707070707070707070707","id":"\"a\""}"#,
            News::Cancelled { sid: sid(), id: "\"a\"".to_owned() },
        ),
    ] {
        assert_eq!(News::read(text, 8).as_ref(), Some(&news), "{text}");
        assert_eq!(news.encode(7), text, "and written");
    }
}
