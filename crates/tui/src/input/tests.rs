use crossterm::event::{KeyCode, KeyModifiers};

use super::*;

fn press(text: &str) -> KeyEvent {
    let (code, modifiers) = match text {
        "ctrl-c" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
        "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
        text => (KeyCode::Char(text.chars().next().unwrap()), KeyModifiers::NONE),
    };
    KeyEvent::new(code, modifiers)
}

fn keys(changes: &[(&str, &str)]) -> Result<Keys, KeyError> {
    Keys::new(&changes.iter().map(|(name, key)| ((*name).to_owned(), (*key).to_owned())).collect())
}

#[test]
fn every_default_is_a_key_and_none_means_two_things() {
    let keys = keys(&[]).unwrap();
    assert_eq!(keys.action(press("x"), &[Place::Looking]), Some(Action::Stop));
    assert_eq!(keys.action(press("x"), &[Place::Form]), None);
    assert_eq!(keys.action(press("ctrl-c"), &[Place::Anywhere]), Some(Action::Quit));
    assert_eq!(keys.shown(Action::PageDown), "Ctrl-D");
    assert_eq!(keys.all_shown(Action::Down), "j Down");
}

#[test]
fn escape_never_quits_and_both_quit_keys_do() {
    let keys = keys(&[]).unwrap();
    assert_eq!(keys.action(press("Esc"), &[Place::Anywhere, Place::Looking]), Some(Action::Back));
    assert_eq!(keys.action(press("q"), &[Place::Looking]), Some(Action::Quit));
}

#[test]
fn the_config_gives_other_keys() {
    let keys = keys(&[("stop", "X ctrl-x"), ("next-screen", "f5")]).unwrap();
    assert_eq!(keys.action(press("X"), &[Place::Looking]), Some(Action::Stop));
    assert_eq!(keys.action(press("x"), &[Place::Looking]), None);
    assert_eq!(keys.all_shown(Action::Stop), "X Ctrl-X");
    assert_eq!(keys.shown(Action::NextScreen), "F5");
}

#[test]
fn what_is_wrong_with_keys_is_named() {
    let wrong = |changes: &[(&str, &str)]| keys(changes).unwrap_err().to_string();
    assert!(wrong(&[("fly", "x")]).starts_with("tui.keys.fly: there is no such action"));
    assert!(wrong(&[("stop", "hyper-x")]).contains("`hyper-x` is no key"));
    assert_eq!(wrong(&[("stop", "s")]), "tui.keys: `s` is the key of both start and stop; give one another");
    assert!(keys(&[("toggle", "x")]).is_ok(), "a form is another place");
}
