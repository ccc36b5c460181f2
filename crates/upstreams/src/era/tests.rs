use super::*;
use crate::fake::{raw, server};

#[test]
fn only_modern_words_make_a_server_modern() {
    let modern = |word: Word| matches!(word, Word::Modern(_));
    assert!(modern(read_result(&raw(r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#))));
    let both = raw(r#"{"supportedVersions":["2025-11-25","2026-07-28"],"capabilities":{}}"#);
    assert!(matches!(read_result(&both), Word::Dual(_)));
    assert_eq!(read_result(&raw(r#"{"supportedVersions":["2025-11-25"],"capabilities":{}}"#)), Word::Legacy);
    assert_eq!(read_result(&raw("{}")), Word::Legacy);
    for code in [-32601, -32602, -32000, -32603, -32700] {
        assert_eq!(read_error(&raw(&format!(r#"{{"code":{code},"message":"m"}}"#))), Word::Legacy);
    }
    for code in [-32020, -32021, -32022] {
        assert!(modern(read_error(&raw(&format!(r#"{{"code":{code},"message":"m"}}"#)))));
    }
    let only = |versions: &str| {
        raw(&format!(r#"{{"code":-32022,"message":"m","data":{{"supported":{versions}}}}}"#))
    };
    assert!(modern(read_error(&only(r#"["2026-07-28"]"#))));
    assert_eq!(read_error(&only(r#"["2025-06-18"]"#)), Word::Legacy);
    assert_eq!(
        read_error(&only(r#"["2027-01-01"]"#)),
        Word::Foreign("it speaks only 2027-01-01, which we do not".to_owned())
    );
}

#[test]
fn the_config_has_the_first_word_and_memory_the_second() {
    let home = tempfile::tempdir().unwrap();
    let cache = Cache::new(Some(home.path().to_owned()));
    let (auto, pinned) = (server(""), server(r#","era":"modern""#));
    assert_eq!(Plan::of(&auto, &cache), Plan::Probe);
    assert_eq!(Plan::of(&pinned, &cache), Plan::Only(Era::Modern));
    learn(&cache, &pinned, Plan::Only(Era::Modern), Found::Modern);
    assert_eq!(Plan::of(&auto, &cache), Plan::Probe, "what the config says was not found out");
    learn(&cache, &auto, Plan::Probe, Found::Dual);
    assert_eq!(Plan::of(&auto, &cache), Plan::Remembered(Era::Modern));
    assert!(cache.saved(&auto).is_some_and(|saved| saved.is_dual));
    learn(&cache, &auto, Plan::Probe, Found::Legacy);
    assert_eq!(Plan::of(&auto, &cache), Plan::Remembered(Era::Legacy));
    assert_eq!(Plan::of(&pinned, &cache), Plan::Only(Era::Modern));
}
