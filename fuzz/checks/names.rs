//! Whatever servers and tools are called, exposed names fit and plain ones can be read back.

use manifold_engine::names::{Naming, may_be_hashed, readings};

const SEPARATORS: [&str; 6] = ["__", "-", ".", "", "_", "a.-"];

/// Takes a separator, a length, and lines that are a server and a tool by turns.
pub(crate) fn check(data: &[u8]) {
    let [separator, max_length, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let naming = Naming {
        separator: SEPARATORS[usize::from(*separator) % SEPARATORS.len()].to_owned(),
        // The config accepts none under 12.
        max_length: 12 + usize::from(*max_length),
        keeps_names: false,
    };
    let mut lines = text.split('\n');
    let mut offers = Vec::new();
    while let (Some(server), Some(tool)) = (lines.next(), lines.next()) {
        offers.push((server, tool));
    }
    for (at, (server, tool)) in offers.iter().enumerate() {
        let name = naming.expose(server, server, tool);
        check_fits(&naming, &name);
        assert_eq!(name, naming.expose(server, server, tool), "names are stable");
        let hashed = naming.hashed(&name, server, tool);
        check_fits(&naming, &hashed);
        assert!(may_be_hashed(&hashed), "{hashed:?}");
        let ids = offers.iter().enumerate().map(|(index, (id, _))| (index, (*id).to_owned()));
        let found = readings(&name, &naming.separator, ids);
        for (index, rest) in &found {
            assert!(!rest.is_empty() && name.starts_with(offers[*index].0) && name.ends_with(rest));
        }
        let longest_first = |pair: &[(usize, &str)]| offers[pair[0].0].0.len() >= offers[pair[1].0].0.len();
        assert!(found.windows(2).all(longest_first));
        let is_plain = name == format!("{server}{}{tool}", naming.separator);
        if is_plain && !naming.separator.is_empty() && !tool.is_empty() {
            assert!(found.contains(&(at, tool)), "{name:?} does not lead back");
        }
    }
}

fn check_fits(naming: &Naming, name: &str) {
    assert!(!name.is_empty() && name.len() <= naming.max_length, "{name:?}");
    let fits =
        |c: char| c.is_ascii_alphanumeric() || "_-".contains(c) || (c == '.' && naming.separator == ".");
    assert!(name.chars().all(fits), "{name:?}");
}
