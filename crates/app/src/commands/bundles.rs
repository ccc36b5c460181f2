//! Bundles that were unpacked and that nobody needs any more: no config of ours, no client's file, and nothing that an undo
//! could bring back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use manifold_config::{config_path, files_to_import};
use manifold_setup::Journal;

use super::verb::Verb;
use crate::registry::bundles_folder;

/// No config is larger.
const MAX_BYTES: u64 = 16 << 20;
/// Whoever unpacks one names it in the config by then.
const UNDER_WAY: Duration = Duration::from_secs(3600);

/// Removes them and says so. In doubt one stays.
pub(super) fn collect(journal: &Journal, verb: &Verb) {
    let environment = &verb.options.environment;
    let folders = bundles_folder(environment).map(|folder| below(&folder)).unwrap_or_default();
    if folders.is_empty() {
        return;
    }
    let (Ok(mut texts), Ok(mut files)) = (journal.kept_configs(), journal.config_files()) else { return };
    files.extend(config_path(verb.options).map(|path| environment.cwd.join(path)));
    files.extend(files_to_import(environment, &environment.cwd).into_iter().map(|(_, _, path)| path));
    for file in files {
        match text(&file) {
            Ok(text) => texts.extend(text),
            Err(()) => return,
        }
    }
    for folder in folders.iter().filter(|folder| !is_under_way(folder, &texts, journal)) {
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        if texts.iter().any(|text| text.contains(name)) {
            continue;
        }
        match fs::remove_dir_all(folder) {
            Ok(()) => verb.output.remark(&format!("removed {}: no server needs it", folder.display())),
            Err(error) => {
                verb.output.remark(&format!("{} cannot be removed: {error}", folder.display()));
            }
        }
    }
}

/// Returns whether somebody may just be about to name it in a config. One that a command has named once is not.
fn is_under_way(folder: &Path, texts: &[String], journal: &Journal) -> bool {
    let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { return true };
    let changed = folder.metadata().and_then(|about| about.modified());
    let is_new = changed.ok().and_then(|at| at.elapsed().ok()).is_none_or(|age| age < UNDER_WAY);
    let was_named = texts.iter().any(|text| text.contains(name)) || journal.has_written(name);
    is_new && !was_named
}

/// Returns what stands in a file; `None` where there is none. One that cannot be read may say anything.
fn text(path: &Path) -> Result<Option<String>, ()> {
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Ok(about) if about.is_file() && about.len() <= MAX_BYTES => {
            let bytes = fs::read(path).map_err(drop)?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        _ => Err(()),
    }
}

/// Returns the folders of bundles, but not what is being unpacked.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_bundle = |path: &PathBuf| {
        let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        !is_hidden && path.join("manifest.json").is_file() && !path.is_symlink()
    };
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_bundle).collect();
    folders.sort();
    folders
}
