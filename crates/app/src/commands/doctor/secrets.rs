//! Are stored secrets sound, and is their key?

use manifold_credentials::{KeyError, KeyKind, Kind, Store, StoreError};

use super::context::{Context, Mended, close as close_file, word};
use super::{Outcome, Trouble};
use crate::secrets::{MENDING, store as of};

/// Closing one thing may show the next; a store has hardly more that can be open.
const MAX_ROUNDS: usize = 1000;

/// Returns everything that is wrong with the store.
fn errors(context: &Context<'_>) -> Vec<StoreError> {
    let Some(store) = of(context.environment()) else { return Vec::new() };
    match store.check() {
        Ok(listed) => listed.into_iter().filter_map(|listed| listed.entry.err()).collect(),
        Err(error) => vec![error],
    }
}

/// Returns what others can use, and the mode it should have.
fn open(error: &StoreError) -> Option<(&std::path::Path, u32)> {
    match error {
        StoreError::OpenToOthers { path, wanted, .. } => Some((path, *wanted)),
        StoreError::Key(KeyError::File(error)) => open(error),
        _ => None,
    }
}

fn is_of_key(error: &StoreError) -> bool {
    let is_of_key =
        matches!(error, StoreError::Key(_) | StoreError::OtherKey { .. } | StoreError::KeyNotGiven { .. });
    is_of_key && open(error).is_none()
}

pub(super) fn modes(context: &Context<'_>) -> Outcome {
    let errors = errors(context);
    let told = |error: &StoreError| {
        let (path, wanted) = open(error)?;
        Some(Trouble::fail(error.to_string(), format!("chmod {wanted:o} {}", word(path))))
    };
    errors.iter().filter_map(told).collect::<Vec<_>>().into()
}

pub(super) fn close(context: &Context<'_>) -> Vec<Mended> {
    let mut done = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let errors = errors(context);
        let Some((path, wanted)) = errors.iter().find_map(open) else { break };
        let said = close_file(path, wanted);
        if done.contains(&said) {
            break;
        }
        done.push(said);
    }
    done
}

pub(super) fn store(context: &Context<'_>) -> Outcome {
    let told = |error: StoreError| {
        let file = error
            .path()
            .and_then(|path| path.file_name()?.to_str()?.strip_prefix("secret.").map(str::to_owned));
        let fix = match (file, error.path()) {
            (Some(name), _) => format!("manifold secret rm {name}"),
            (None, Some(path)) => format!("ls -l {}", word(path)),
            (None, None) => "manifold secret list".to_owned(),
        };
        Trouble::fail(error.to_string(), fix)
    };
    let errors = errors(context).into_iter().filter(|error| open(error).is_none() && !is_of_key(error));
    errors.map(told).collect::<Vec<_>>().into()
}

pub(super) fn key(context: &Context<'_>) -> Outcome {
    if let Some(error) = errors(context).into_iter().find(is_of_key) {
        return Some(Trouble::fail(error.to_string(), "manifold secret list")).into();
    }
    let store = of(context.environment());
    let holds_any = |store: &Store| {
        [Kind::Secret, Kind::OAuth]
            .into_iter()
            .any(|kind| store.list(kind).is_ok_and(|listed| !listed.is_empty()))
    };
    let kind = store.filter(holds_any).and_then(|store| store.kind().ok().flatten());
    let weak = kind.and_then(|kind| match kind {
        KeyKind::Plain => Some("the store is plain: its values are in clear, in files that only you can read"),
        KeyKind::Beside => Some(
            "the key lies beside the sealed files, so it protects against little: whoever can read your files can \
             read both",
        ),
        _ => None,
    });
    weak.map(|message| Trouble::warn(message, MENDING)).into()
}
