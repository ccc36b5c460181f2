//! Which lists are out of date, and which of them the server itself has said are.

use manifold_engine::Lock as _;
use std::sync::Mutex;

use manifold_protocol::{Kind, notification};
use tokio::sync::Notify;

use super::Connection;

#[derive(Default)]
pub(crate) struct StaleLists {
    kinds: Mutex<Vec<Kind>>,
    /// The notifications of the server that were not passed on yet.
    said: Mutex<Vec<&'static str>>,
    pub(crate) marked: Notify,
}

impl StaleLists {
    pub(crate) fn mark(&self, kinds: &[Kind]) {
        add(&self.kinds, kinds);
        self.marked.notify_one();
    }

    /// Takes the server's own word that a list changed.
    pub(super) fn say(&self, method: &'static str, kinds: &[Kind]) {
        // Whoever finds the second finds the first: what was said is passed on after the list is read.
        add(&self.kinds, kinds);
        add(&self.said, &[method]);
        self.marked.notify_one();
    }

    /// Notes that nothing known of the server is certain any more.
    pub(crate) fn mark_all(&self) {
        self.mark(&Kind::ALL);
    }

    /// Returns whether any is out of date.
    pub(super) fn is_marked(&self) -> bool {
        !self.kinds.locked().is_empty() || !self.said.locked().is_empty()
    }

    pub(crate) fn take(&self) -> Vec<Kind> {
        take(&self.kinds)
    }

    /// Returns what is to be passed on once the lists that are taken after this are read.
    pub(crate) fn take_said(&self) -> Vec<&'static str> {
        take(&self.said)
    }
}

impl Connection {
    /// Takes a notification of changed lists. Returns whether it is one.
    pub(super) fn list_changed(&self, method: &str) -> bool {
        match method {
            notification::TOOLS_CHANGED => self.lists.stale.say(notification::TOOLS_CHANGED, &[Kind::Tools]),
            notification::PROMPTS_CHANGED => {
                self.lists.stale.say(notification::PROMPTS_CHANGED, &[Kind::Prompts])
            }
            notification::RESOURCES_CHANGED => {
                self.lists.stale.say(notification::RESOURCES_CHANGED, &[Kind::Resources, Kind::Templates]);
            }
            _ => return false,
        }
        true
    }

    /// Passes on what the server said of its lists, whether or not they turned out the same.
    pub(crate) fn pass_on(&self, said: Vec<&'static str>) {
        for method in said {
            self.host.notice(&self.server.key, method, None);
        }
    }
}

fn add<T: Copy + PartialEq>(list: &Mutex<Vec<T>>, more: &[T]) {
    let mut list = list.locked();
    for one in more {
        if !list.contains(one) {
            list.push(*one);
        }
    }
}

fn take<T>(list: &Mutex<Vec<T>>) -> Vec<T> {
    std::mem::take(&mut *list.locked())
}
