//! Where a program's files are on this machine, and whether the program is there.

use std::path::{Path, PathBuf};

use super::Scope;
use super::data::Data;
use super::table::Client;
use crate::environment::Environment;

/// Where a program's files are; the README beside this tells how places are written.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) user: Vec<String>,
    /// In place of `user` there.
    user_macos: Option<Vec<String>>,
    user_windows: Option<Vec<String>>,
    /// Where a variable says that they are.
    by_variable: Vec<String>,
    /// What an administrator has written.
    system: Vec<String>,
    pub(crate) project: Vec<String>,
    /// What shows that the program is there.
    present: Vec<String>,
    programs: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Platform {
    Linux,
    Macos,
    Windows,
}

impl Platform {
    /// The one we run on; all other Unixes are like Linux.
    pub(super) const THIS: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Macos
    } else {
        Self::Linux
    };
}

impl Places {
    pub(super) fn from_data(data: &mut Data) -> Result<Self, String> {
        Ok(Self {
            user: data.texts("user")?,
            user_macos: data.maybe_texts("user_macos")?,
            user_windows: data.maybe_texts("user_windows")?,
            by_variable: data.texts("by_variable")?,
            system: data.texts("system")?,
            project: data.texts("project")?,
            present: data.texts("present")?,
            programs: data.texts("programs")?,
        })
    }

    /// Returns every place of a user or an administrator, on whatever platform.
    pub(super) fn everywhere(&self) -> impl Iterator<Item = &String> {
        let others = self.user_macos.iter().chain(&self.user_windows).flatten();
        self.user.iter().chain(others).chain(&self.system)
    }

    pub(super) fn user_files(&self, platform: Platform, environment: &Environment) -> Vec<PathBuf> {
        let here = match platform {
            Platform::Macos => self.user_macos.as_ref(),
            Platform::Windows => self.user_windows.as_ref(),
            Platform::Linux => None,
        };
        let usual = here.unwrap_or(&self.user).iter();
        let mut usual: Vec<PathBuf> =
            usual.filter_map(|place| resolved(place, platform, environment)).collect();
        for place in &self.by_variable {
            let (variable, rest) = place.split_once('/').unwrap_or((place, ""));
            let named =
                environment.vars.get(variable.trim_start_matches('$')).filter(|value| !value.is_empty());
            let Some(named) = named.map(|value| environment.cwd.join(value)) else { continue };
            if rest.is_empty() {
                // One file more, which counts before the others.
                usual.insert(0, named);
            } else {
                return vec![named.join(rest)];
            }
        }
        usual
    }
}

/// Returns a place on this machine; `None` where it has none.
fn resolved(place: &str, platform: Platform, environment: &Environment) -> Option<PathBuf> {
    let (folder, rest) = place.split_once('/').unwrap_or((place, ""));
    let folder = match folder {
        "~" => environment.home.clone()?,
        "$XDG" => environment.config_home()?,
        "$CONFIG" => match platform {
            Platform::Linux => environment.config_home()?,
            Platform::Macos => environment.home.as_ref()?.join("Library/Application Support"),
            Platform::Windows => {
                let named = environment.vars.get("APPDATA").map(PathBuf::from);
                named.or_else(|| Some(environment.home.as_ref()?.join("AppData/Roaming")))?
            }
        },
        _ => return Some(PathBuf::from(place)).filter(|path| path.is_absolute()),
    };
    Some(folder.join(rest))
}

impl Client {
    /// Returns where its files are, whether there or not: of a user those that count first, of a project those in the
    /// folder of `environment`. The first is where a new one belongs; what a variable names comes before that.
    pub fn files(&self, scope: Scope, environment: &Environment) -> Vec<PathBuf> {
        match scope {
            Scope::User => self.places.user_files(Platform::THIS, environment),
            Scope::Project => self.places.project.iter().map(|file| environment.cwd.join(file)).collect(),
        }
    }

    /// Returns the file to write to: the first that is there, else the first whose folder is, else the first.
    pub fn file(&self, scope: Scope, environment: &Environment) -> Option<PathBuf> {
        let mut files = self.files(scope, environment);
        let is_there = |path: &PathBuf| path.symlink_metadata().is_ok();
        let has_folder = |path: &PathBuf| path.parent().is_some_and(Path::is_dir);
        let found = files.iter().position(is_there).or_else(|| files.iter().position(has_folder));
        (!files.is_empty()).then(|| files.swap_remove(found.unwrap_or(0)))
    }

    /// Returns the files of an administrator, which are read and never written.
    pub fn system_files(&self, environment: &Environment) -> Vec<PathBuf> {
        let places = self.places.system.iter();
        places.filter_map(|place| resolved(place, Platform::THIS, environment)).collect()
    }

    /// Returns whether this user has the program: a file or a folder of it, or it on the `PATH`.
    pub fn is_present(&self, environment: &Environment) -> bool {
        let files = self.files(Scope::User, environment);
        let shared = [environment.home.clone(), resolved("$CONFIG", Platform::THIS, environment)];
        let is_its_own = |folder: &&Path| shared.iter().flatten().all(|shared| shared != folder);
        let folders = files.iter().filter_map(|file| file.parent()).filter(is_its_own);
        let signs = self.places.present.iter();
        let signs = signs.filter_map(|place| resolved(place, Platform::THIS, environment));
        // Windows spells it `Path`.
        let path = environment.vars.get("PATH").or_else(|| environment.vars.get("Path"));
        let is_on_path = |name: &String| which::which_in(name, path, &environment.cwd).is_ok();
        files.iter().any(|file| file.exists())
            || folders.into_iter().any(Path::exists)
            || signs.into_iter().any(|sign| sign.exists())
            || self.places.programs.iter().any(is_on_path)
    }

    /// Returns whether a file at this path is this program's.
    pub(crate) fn keeps(&self, path: &Path) -> bool {
        let ends = self.places.everywhere().filter_map(|place| Some(place.split_once('/')?.1));
        ends.chain(self.places.project.iter().map(String::as_str)).any(|end| path.ends_with(end))
    }

    /// Returns the folder of the project whose file of this program lies at this path.
    pub(crate) fn project_of<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let end = self.places.project.iter().find(|end| path.ends_with(end))?;
        path.ancestors().nth(Path::new(end).components().count())
    }
}
