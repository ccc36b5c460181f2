//! What `known.toml` tells of servers and secrets.

use std::sync::LazyLock;

use crate::file::Node;
use crate::problem::Problems;
use crate::syntax::Syntax;

/// The lists of the file, each in order.
pub(super) struct Known {
    pub(super) shared: Vec<String>,
    pub(super) token_prefixes: Vec<String>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    // Our own file: a test reads all of it.
    let read = Syntax::Toml.read(include_str!("known.toml"), &mut Problems::default());
    let node = read.ok().flatten();
    let list = |name: &str| {
        let list = node.as_ref().and_then(Node::object).and_then(|data| data.members.get(name)?.list());
        let mut texts: Vec<String> =
            list.unwrap_or_default().iter().filter_map(|item| item.written().map(str::to_owned)).collect();
        texts.sort();
        texts
    };
    Known { shared: list("shared"), token_prefixes: list("token_prefixes") }
});

pub(super) fn known() -> &'static Known {
    &KNOWN
}

/// Returns whether servers of this package do not use the folder they are started in.
pub(super) fn is_shared(package: &str) -> bool {
    let package = package.to_ascii_lowercase();
    known().shared.binary_search(&package).is_ok()
}
