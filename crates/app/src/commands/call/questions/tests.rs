use std::collections::VecDeque;

use super::*;

/// Types what it is told to.
struct Script {
    lines: VecDeque<Line>,
    /// All that was shown, secrets marked.
    seen: String,
}

impl Person for Script {
    fn say(&mut self, text: &str) {
        self.seen.push_str(text);
        self.seen.push('\n');
    }

    fn line(&mut self, prompt: &Prompt<'_>, _: &mut Inbox) -> Line {
        let line = self.lines.pop_front().unwrap_or(Line::Declined);
        self.seen.push_str(prompt.text);
        self.seen.push_str(match &line {
            Line::Typed(_) if prompt.is_secret => "<hidden>",
            Line::Typed(typed) => typed,
            Line::Declined => "<end>",
            Line::Gone => "<gone>",
        });
        self.seen.push('\n');
        line
    }
}

fn asked(params: &str, lines: &[&str]) -> (Option<String>, String) {
    let lines = lines.iter().map(|line| match *line {
        "<end>" => Line::Declined,
        "<gone>" => Line::Gone,
        typed => Line::Typed(typed.to_owned()),
    });
    let mut person = Script { lines: lines.collect(), seen: String::new() };
    let (mut inbox, _letterbox) = Inbox::new().unwrap();
    let question = Question {
        id: "q1".to_owned(),
        server: Some("fx".to_owned()),
        method: "elicitation/create".to_owned(),
        params: Some(RawValue::from_string(params.to_owned()).unwrap()),
    };
    let answer = match put(&question, &mut person, &mut inbox) {
        Said::Answer(answer) => answer.result.map(|result| result.get().to_owned()),
        Said::Nothing => None,
    };
    assert!(person.lines.is_empty(), "not all was asked for: {}", person.seen);
    (answer, person.seen)
}

const FORM: &str = r#"{"message":"Who are you?","requestedSchema":{"type":"object","properties":{
    "name":{"type":"string","minLength":2,"description":"your name"},
    "age":{"type":"integer","minimum":18,"maximum":99,"default":42},
    "mail":{"type":"string","format":"email"},
    "color":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},
    "size":{"type":"string","enum":["s","m"],"enumNames":["Small","Medium"]},
    "days":{"type":"array","items":{"type":"string","enum":["mon","tue","wed"]},"maxItems":2},
    "news":{"type":"boolean","default":false}},"required":["name"]}}"#;

#[test]
fn a_form_is_asked_field_by_field() {
    let (answer, seen) = asked(FORM, &["Ann", "", "", "Red", "m", "mon, wed", ""]);
    assert_eq!(
        answer.as_deref(),
        Some(
            r#"{"action":"accept","content":{"name":"Ann","age":42,"color":"r","size":"m","days":["mon","wed"],"news":false}}"#
        )
    );
    let expected = "\
fx asks: Who are you?
(Enter takes what stands in brackets, Ctrl-D declines)
  name: your name (a text, at least 2 characters, required) Ann
  age: (an integer, 18 to 99) [42] 
  mail: (an address like name@example.org) 
  color: (one of r (Red), g (Green)) Red
  size: (one of s (Small), m (Medium)) m
  days: (any of mon, tue, wed, at most 2 choices) mon, wed
  news: (true or false) [false] 
";
    assert_eq!(seen, expected);
}

#[test]
fn what_does_not_fit_is_asked_again() {
    let lines = [
        "",
        "A",
        "Ann",
        "x",
        "7",
        "18",
        "a@b.c",
        "blue",
        "g",
        "s",
        "mon,tue,wed",
        "sun",
        "tue",
        "perhaps",
        "yes",
    ];
    let (answer, seen) = asked(FORM, &lines);
    assert_eq!(
        answer.as_deref(),
        Some(
            r#"{"action":"accept","content":{"name":"Ann","age":18,"mail":"a@b.c","color":"g","size":"s","days":["tue"],"news":true}}"#
        )
    );
    for said in [
        "`name` is required; Ctrl-D declines",
        "`name` takes a text, at least 2 characters",
        "`age` takes an integer, 18 to 99",
        "`color` takes one of r (Red), g (Green)",
        "`days` takes any of mon, tue, wed, at most 2 choices",
        "`news` takes true or false",
    ] {
        assert!(seen.contains(said), "{said}: {seen}");
    }
}

#[test]
fn nobody_has_to_answer() {
    let declined = Some(r#"{"action":"decline"}"#.to_owned());
    assert_eq!(asked(FORM, &["Ann", "<end>"]).0, declined);
    assert_eq!(asked(FORM, &["Ann", "<gone>"]).0, None);
    assert_eq!(asked(r#"{"mode":"new","message":"?"}"#, &[]).0, declined);
}

#[test]
fn a_secret_is_neither_shown_nor_repeated() {
    let form = r#"{"message":"Key?","requestedSchema":{"properties":{"key":{"type":"string","format":"password","minLength":8}},"required":["key"]}}"#;
    let (answer, seen) = asked(form, &["hunter2", "hunter2hunter2"]);
    assert_eq!(answer.as_deref(), Some(r#"{"action":"accept","content":{"key":"hunter2hunter2"}}"#));
    assert!(!seen.contains("hunter2"), "{seen}");
}

#[test]
fn an_address_is_shown_and_waited_for() {
    let url = r#"{"mode":"url","message":"Sign in","url":"https://example.com/x","elicitationId":"1"}"#;
    let (answer, seen) = asked(url, &["what", ""]);
    assert_eq!(answer.as_deref(), Some(r#"{"action":"accept"}"#));
    assert!(seen.contains("\n  https://example.com/x\n"), "{seen}");
    assert_eq!(asked(url, &["n"]).0.as_deref(), Some(r#"{"action":"decline"}"#));
    assert_eq!(
        asked(r#"{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}"#, &["y"])
            .0
            .as_deref(),
        Some(r#"{"action":"accept","content":{}}"#)
    );
}

#[test]
fn a_text_must_have_the_form_that_is_asked_for() {
    let form = r#"{"message":"When?","requestedSchema":{"type":"object","properties":{
        "mail":{"type":"string","format":"email"},"site":{"type":"string","format":"uri"},
        "day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},
        "host":{"type":"string","format":"hostname"}}}}"#;
    let typed = [
        "nobody",
        "a@b.org",
        "example.org",
        "https://example.org",
        "31.1.2026",
        "2026-01-31",
        "noon",
        "2026-01-31T12:00:00Z",
        "any thing",
    ];
    let (answer, seen) = asked(form, &typed);
    let content =
        r#""mail":"a@b.org","site":"https://example.org","day":"2026-01-31","at":"2026-01-31T12:00:00Z","#;
    assert_eq!(
        answer.unwrap(),
        format!(r#"{{"action":"accept","content":{{{content}"host":"any thing"}}}}"#)
    );
    for said in [
        "`mail` takes an address like",
        "`site` takes",
        "`day` takes a date like",
        "`at` takes a date and time",
    ] {
        assert!(seen.contains(said), "{said}: {seen}");
    }
}
