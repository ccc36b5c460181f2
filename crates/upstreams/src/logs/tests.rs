use super::*;

#[test]
fn the_ring_keeps_the_last_thousand_lines() {
    let ring = LogRing::default();
    for line in 0..1500 {
        ring.push(format!("line {line}").as_bytes());
    }
    assert_eq!(ring.last_words(2), ["line 1498", "line 1499"]);
    assert_eq!(ring.last_words(5000).len(), MAX_LINES);
    assert_eq!(ring.tail().as_deref(), Some("line 1497 | line 1498 | line 1499"));
    ring.new_life();
    assert_eq!(ring.tail(), None);
    ring.push(b"anew");
    assert_eq!(ring.tail().as_deref(), Some("anew"));
}

// M11: nor does the end of a long line give a part away
#[test]
fn secrets_are_hidden() {
    let _known = manifold_config::Secret::new("sesame-open-up-123");
    let ring = LogRing::default();
    ring.push(b"the word is sesame-open-up-123, psst");
    ring.push_noise(b"sesame-open-up-123");
    assert_eq!(ring.last_words(2), ["the word is ***, psst", "[stdout] ***"]);
    assert_eq!(ring.tail().as_deref(), Some("the word is ***, psst | [stdout] ***"));
    let long = "sesame-open-up-123".repeat(MAX_LINE_BYTES);
    ring.push(long.as_bytes());
    assert!(ring.last_words(1)[0].chars().all(|char| char == '*'));
    assert_eq!(quote(b"a sesame-open-up-123 and more", 8), "a *** an");
}

// T27
#[test]
fn escape_sequences_are_written_out() {
    assert_eq!(printable("\u{1b}[31mred\u{202e}x\ty"), "\\u{1b}[31mred\\u{202e}x\ty");
}

#[test]
fn lines_have_times_and_keep_them_from_one_program_to_the_next() {
    let ring = LogRing::default();
    ring.recall(&["old".to_owned(), "older than times".to_owned()], &[1_500]);
    let before = LoggedLine::clock_ms();
    ring.push(b"new");
    let lines = ring.last(3);
    assert_eq!(lines[0].at_ms, 1_500);
    assert!(
        lines[2].at_ms >= before && lines[0].number < lines[1].number && lines[1].number < lines[2].number
    );
}
