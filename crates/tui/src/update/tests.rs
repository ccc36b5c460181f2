//! Keys and news, and what comes of them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use manifold_admin::{
    AskEvent, CommandError, Error, ErrorCode, Happening, Problem, Reason, Recording, RecordingChange,
    Severity, State as ServerState,
};
use serde_json::value::RawValue;

use crate::effect::{ConfigDraft, Effect, Fetch, Frames, News};
use crate::model::traffic::Stream;
use crate::state::{Focus, Link, Modal, Screen, State};
use crate::tests::screens::press;
use crate::tests::world::{connected, happened, server, state};

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

/// Presses one key and returns what is to be done.
fn key(state: &mut State, c: char) -> Vec<Effect> {
    state.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE))
}

fn ctrl(state: &mut State, c: char) -> Vec<Effect> {
    state.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL))
}

#[test]
fn every_key_of_the_servers_does_what_it_says() {
    let cases = [('s', "start"), ('u', "refresh")];
    for (pressed, verb) in cases {
        let effects = key(&mut state((80, 24)), pressed);
        let [Effect::Order { path, .. }] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!(*path, format!("/v1/servers/github/{verb}"));
    }
    // What ends a server that is used asks first.
    for (pressed, verb) in [('x', "stop"), ('r', "restart"), ('e', "disable")] {
        let mut state = state((80, 24));
        assert!(key(&mut state, pressed).is_empty());
        let Some(Modal::Confirm(confirm)) = state.modals.last() else { panic!("nobody is asked") };
        assert_eq!(confirm.title, format!("{verb} github?"));
        assert!(confirm.lines[0].contains("claude-code, cursor, zed"), "{:?}", confirm.lines);
        let effects = key(&mut state, 'y');
        let [Effect::Order { path, .. }] = effects.as_slice() else { panic!("{effects:?}") };
        assert_eq!(*path, format!("/v1/servers/github/{verb}"));
    }
    let mut state = state((80, 24));
    press(&mut state, "x n");
    assert!(state.modals.is_empty());
    press(&mut state, "G");
    let effects = key(&mut state, 'e');
    assert!(matches!(effects.as_slice(), [Effect::Order { path, .. }] if path == "/v1/servers/old/enable"));
}

#[test]
fn escape_never_quits_and_q_does() {
    let mut state = state((80, 24));
    press(&mut state, "Enter");
    assert_eq!(state.focus, Focus::Detail);
    for _ in 0..5 {
        assert!(state.key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)).is_empty());
    }
    assert_eq!(state.focus, Focus::List);
    assert!(matches!(key(&mut state, 'q').as_slice(), [Effect::Quit]));
    press(&mut state, "/");
    assert!(key(&mut state, 'q').is_empty(), "it is typed");
    assert!(matches!(ctrl(&mut state, 'c').as_slice(), [Effect::Quit]));
}

#[test]
fn a_recording_that_ended_by_itself_is_a_problem_until_it_is_begun_anew() {
    let mut state = state((80, 24));
    let before = state.model.problems(0).len();
    let told = |change, is_running, problem: Option<&str>| {
        let problem = problem.map(str::to_owned);
        let recording = Recording { name: "bug".to_owned(), is_running, problem, ..Recording::default() };
        happened(Happening::Recording { change, recording: Box::new(recording) })
    };
    state.news(told(RecordingChange::Started, true, None));
    assert!(state.model.recordings.iter().any(|one| one.name == "bug" && one.is_running));
    assert_eq!((state.model.problems(0).len(), state.note.is_none()), (before, true));
    state.news(told(RecordingChange::Stopped, false, Some("the disk is full")));
    assert!(state.model.recordings.iter().all(|one| !one.is_running));
    assert!(state.note.as_ref().is_some_and(|note| note.is_bad && note.text.contains("the disk is full")));
    let problems = state.model.problems(0);
    assert!(problems.iter().any(|wrong| wrong.whose == "recording" && wrong.what.contains("'bug'")));
    state.news(told(RecordingChange::Started, true, None));
    assert_eq!(state.model.problems(0).len(), before);
    // One that somebody has ended is none.
    state.news(told(RecordingChange::Stopped, false, None));
    assert_eq!(state.model.problems(0).len(), before);
}

#[test]
fn who_may_only_look_orders_nothing() {
    let mut state = state((80, 24));
    state.is_read_only = true;
    for pressed in ['s', 'x', 'r', 'e'] {
        assert!(key(&mut state, pressed).is_empty() && state.modals.is_empty(), "{pressed}");
    }
    press(&mut state, "2");
    assert!(key(&mut state, 'c').is_empty() && state.modals.is_empty());
    assert!(state.note.as_ref().is_some_and(|note| note.is_bad));
}

#[test]
fn a_tool_is_called_with_what_the_form_says() {
    let mut state = state((80, 24));
    press(&mut state, "2 c a Tab 5");
    let effects = ctrl(&mut state, 's');
    let [Effect::Ask { number, path, body }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(*path, "/v1/call");
    assert_eq!(
        body.get(),
        r#"{"name":"github__create_issue","arguments":{"path":"a","lines":5},"answersQuestions":true}"#
    );
    let params =
        Some(raw(r#"{"message":"Sure?","requestedSchema":{"properties":{"ok":{"type":"boolean"}}}}"#));
    let question = AskEvent::Question {
        id: "q1".to_owned(),
        server: Some("github".to_owned()),
        method: "elicitation/create".to_owned(),
        params,
    };
    state.news(News::Asked { number: *number, event: question });
    press(&mut state, "Space");
    let effects = ctrl(&mut state, 's');
    let [Effect::Answer { id, answer: Some(answer) }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(id, "q1");
    assert_eq!(answer.result.as_ref().unwrap().get(), r#"{"action":"accept","content":{"ok":true}}"#);
    let result = raw(r#"{"content":[{"type":"text","text":"done"}]}"#);
    state.news(News::Asked { number: *number, event: AskEvent::Result { result } });
    let Some(Modal::Text(text)) = state.modals.last() else { panic!("no result") };
    assert_eq!(text.view.rows(80, 3), ["done"]);
}

#[test]
fn a_question_that_is_left_is_declined() {
    let mut state = state((80, 24));
    press(&mut state, "2 c a");
    ctrl(&mut state, 's');
    let question = AskEvent::Question {
        id: "q1".to_owned(),
        server: None,
        method: "elicitation/create".to_owned(),
        params: None,
    };
    state.news(News::Asked { number: 1, event: question });
    let effects = state.key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
    let [Effect::Answer { answer: Some(answer), .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(answer.result.as_ref().unwrap().get(), r#"{"action":"decline"}"#);
}

#[test]
fn a_connection_that_is_back_finds_the_selection_where_it_was() {
    let mut state = state((80, 24));
    press(&mut state, "j j");
    state.news(News::Lost { why: "gone".to_owned(), retry_ms: 500 });
    assert!(matches!(state.link, Link::Lost { .. }));
    let effects = state.news(connected());
    assert_eq!(state.link, Link::Live);
    assert_eq!(state.selected_server().unwrap().it.key.id, "db");
    assert!(matches!(effects.as_slice(), [Effect::Fetch(Fetch::Logs(names))] if names.len() == 6));
}

#[test]
fn frames_are_asked_for_while_they_are_looked_at() {
    let mut state = state((80, 24));
    let effects = key(&mut state, '3');
    assert!(
        matches!(&effects[..], [Effect::Traffic { filter, .. }, Effect::Fetch(Fetch::Recordings)] if filter.is_empty())
    );
    let run = state.traffic_run;
    state.news(News::Traffic { run, item: Frames::Missing });
    assert_eq!(state.model.traffic.stream, Stream::Missing);
    press(&mut state, "/ t o o l : x");
    let effects = state.key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
    assert!(matches!(&effects[..], [Effect::Traffic { filter, .. }] if filter == "tool:x"), "{effects:?}");
    state.news(News::Traffic { run, item: Frames::Missing });
    assert_eq!(state.model.traffic.stream, Stream::Asked, "what an earlier stream says is nobody's");
    assert!(matches!(key(&mut state, '1').as_slice(), [Effect::CloseTraffic]));
}

#[test]
fn a_call_is_made_again_once_somebody_says_so() {
    let mut state = state((80, 24));
    press(&mut state, "3");
    for frame in crate::tests::world::frames() {
        let run = state.traffic_run;
        let item = manifold_admin::TrafficItem::Frame(Box::new(frame));
        state.news(News::Traffic { run, item: Frames::Item(item) });
    }
    assert!(key(&mut state, 'R').is_empty());
    let effects = key(&mut state, 'y');
    let [Effect::Ask { body, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    assert!(body.get().contains(r#""arguments":{"query":"fn main"}"#), "{body}");
}

#[test]
fn tools_are_asked_for_only_where_they_are_looked_at() {
    let mut state = state((80, 24));
    state.model.tools.is_stale = true;
    assert!(state.tick(60_000).iter().all(|effect| !matches!(effect, Effect::Fetch(Fetch::Tools))));
    assert!(matches!(key(&mut state, '2').as_slice(), [Effect::Fetch(Fetch::Tools)]));
    assert!(state.tick(120_000).is_empty(), "once at a time");
}

#[test]
fn nothing_is_drawn_anew_while_nothing_moves() {
    let mut state = state((80, 24));
    press(&mut state, "5");
    state.note = None;
    state.tick(600_000);
    state.news(News::Servers(vec![server("a", ServerState::Ready, 1)]));
    assert_eq!(state.next_change(), None, "a screen without ages rests");
    press(&mut state, "1");
    assert_eq!(state.next_change(), Some(30_000), "ages of hours move seldom");
    let young = manifold_admin::Server { since_ms: Some(0), ..server("b", ServerState::Ready, 1) };
    state.news(happened(Happening::Server { server: Box::new(young) }));
    assert_eq!(state.next_change(), Some(1000));
}

#[test]
fn what_is_pasted_is_typed_and_never_a_command() {
    let mut state = state((80, 24));
    assert!(state.paste("q").is_empty());
    press(&mut state, "/");
    state.paste("fi\u{1b}le\n");
    assert_eq!(state.list().filter, "file");
    assert_eq!(state.screen, Screen::Servers);
}

/// A bad entry is told by the server, by its problems and by the config; it is one thing that is wrong, with one key.
#[test]
fn one_fault_is_one_row_with_the_key_that_mends_it() {
    let what = "has both `command` and `url`".to_owned();
    let problem = Problem {
        severity: Severity::Error,
        what: what.clone(),
        place: "mcpServers.bad".to_owned(),
        ..Problem::default()
    };
    let mut bad = server("bad", ServerState::Failed, 0);
    bad.fault = Some(Error { reason: Reason::BadEntry, text: what.clone(), ..Error::default() });
    bad.error = bad.fault.clone();
    bad.problems = vec![problem.clone()];
    let mut state = state((80, 24));
    let mut snapshot = crate::tests::world::snapshot();
    snapshot.servers = vec![bad];
    snapshot.config.problems = vec![problem];
    state.news(News::Connected { about: Box::default(), snapshot: Box::new(snapshot) });
    let wrong = state.model.problems(state.now);
    let [one] = wrong.as_slice() else { panic!("{wrong:?}") };
    assert_eq!((one.whose.as_str(), one.what.as_str()), ("bad", what.as_str()));
    assert_eq!(one.mend.map(|(action, _)| state.keys.shown(action)).as_deref(), Some("E"));
}

#[test]
fn the_config_is_edited_and_what_was_refused_is_kept() {
    let mut state = state((80, 24));
    let effects = key(&mut state, 'E');
    assert!(matches!(effects.as_slice(), [Effect::Fetch(Fetch::Config)]), "{effects:?}");
    let draft = ConfigDraft { text: "{}".to_owned(), revision: "r1".to_owned(), kind: "toml".to_owned() };
    let effects = state.news(News::Config(draft.clone()));
    assert!(matches!(effects.as_slice(), [Effect::Edit { text, kind }] if text == "{}" && kind == "toml"));
    let edited = ConfigDraft { text: "{".to_owned(), ..draft };
    let effects = state.news(News::Edited(Ok(edited.text.clone())));
    assert!(matches!(effects.as_slice(), [Effect::PutConfig { draft }] if *draft == edited), "{effects:?}");
    let refused = CommandError::new(ErrorCode::ConfigRefused, "it is no JSON");
    state.news(News::ConfigPut(Err(Box::new(refused))));
    assert!(state.note.as_ref().is_some_and(|note| note.text.contains("it is no JSON")));
    let effects = key(&mut state, 'E');
    assert!(matches!(effects.as_slice(), [Effect::Edit { text, .. }] if text == "{"), "{effects:?}");
    assert!(state.news(News::Edited(Ok("{".to_owned()))).is_empty(), "as it was: it is given up");
    assert!(matches!(key(&mut state, 'E').as_slice(), [Effect::Fetch(Fetch::Config)]));
}

#[test]
fn who_may_only_look_is_shown_no_form() {
    let mut state = state((80, 24));
    state.is_read_only = true;
    for pressed in ["w", "x", "r", "e", "4 D", "2 c", "E"] {
        press(&mut state, pressed);
        assert!(state.modals.is_empty(), "{pressed}: {:?}", state.modals);
        assert!(state.note.as_ref().is_some_and(|note| note.text.contains("read-only")), "{pressed}");
        press(&mut state, "1");
    }
}

#[test]
fn what_was_said_is_gone_with_the_next_key() {
    let mut state = state((80, 24));
    press(&mut state, "f");
    assert!(state.note.is_some());
    press(&mut state, "j");
    assert!(state.note.is_none());
}
