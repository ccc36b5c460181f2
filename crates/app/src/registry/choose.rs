//! Which of the ways to have a server is taken.

use manifold_registry::{Choice, ServerJson, Source};

use super::refusal;
use crate::output::Failure;

/// A way, and what is to be said of it.
pub(super) struct Chosen<'s> {
    pub(super) choice: Choice<'s>,
    pub(super) remark: Option<String>,
}

/// Takes the first way that can be taken over and whose program is here; else the first that can be taken over.
pub(super) fn choose<'s>(
    server: &'s ServerJson,
    source: Option<&str>,
    is_there: impl Fn(&str) -> bool,
) -> Result<Chosen<'s>, Failure> {
    let name = &server.name;
    let choices = server.choices();
    let wanted: Vec<_> = choices
        .iter()
        .filter(|choice| source.is_none_or(|source| choice.source().name() == source))
        .collect();
    let mut reasons = Vec::new();
    let mut usable = Vec::new();
    for choice in wanted {
        match choice.check() {
            Ok(()) => usable.push(*choice),
            Err(refused) => reasons.push(refused.to_string()),
        }
    }
    let has_program = |choice: &&Choice<'s>| match choice.source() {
        Source::Oci => is_there("docker") || is_there("podman"),
        other => other.program().is_none_or(&is_there),
    };
    if let Some(choice) = usable.iter().find(has_program) {
        return Ok(Chosen { choice: *choice, remark: None });
    }
    match (usable.first(), reasons.is_empty()) {
        (Some(choice), _) => {
            let program = choice.source().program().unwrap_or_default();
            let remark =
                format!("it needs `{program}`, which is not here; install it before the server is used");
            Ok(Chosen { choice: *choice, remark: Some(remark) })
        }
        (None, false) => Err(refusal(name, &reasons.join("; "))),
        (None, true) => {
            let names: Vec<&str> = choices.iter().map(|choice| choice.source().name()).collect();
            let there = if names.is_empty() { "none at all".to_owned() } else { names.join(", ") };
            Err(refusal(name, &format!("there is no such way to have it; there is {there}")))
        }
    }
}
