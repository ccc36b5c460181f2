//! How a bundle's server is started, from its manifest.

use std::path::{Path, PathBuf};

use super::manifest::{McpConfig, ServerType, Setting, SettingType};
use super::{Bundle, BundleError};
use crate::answer::{Kind, Question};
use crate::flaw::{Flaw, Refused, Shown};
use crate::name::{is_variable_name, suggested_id};
use crate::package::{arguments, environment};
use crate::plan::{Arg, Plan, Start};
use crate::template::{Lacking, Piece, Questions, Template};
use crate::text::{check_plain, check_value};

const MAX_ARGS: usize = 256;
/// What may run a bundle's server beside a program of its own. A shell is not among them: what it is told to do is in no
/// file of the bundle.
const RUNTIMES: [&str; 15] = [
    "node", "npx", "npm", "pnpm", "yarn", "bun", "bunx", "deno", "python", "python3", "uv", "uvx", "java",
    "dotnet", "ruby",
];

/// The user's folders, which a manifest may name.
#[derive(Debug, Clone)]
pub struct Places {
    pub home: PathBuf,
    pub desktop: PathBuf,
    pub documents: PathBuf,
    pub downloads: PathBuf,
}

impl Places {
    /// Returns them where they mostly are.
    pub fn below(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            desktop: home.join("Desktop"),
            documents: home.join("Documents"),
            downloads: home.join("Downloads"),
        }
    }
}

/// What the texts of a manifest are filled in with.
struct Filling<'b> {
    bundle: &'b Bundle,
    folder: &'b str,
    places: &'b Places,
    questions: Questions,
}

impl Bundle {
    /// Returns how it would be started once it is unpacked below the folder of all bundles.
    pub fn plan(&self, bundles: &Path, places: &Places) -> Result<Plan, BundleError> {
        let folder = self.folder(bundles);
        let folder = text_of(&folder).map_err(|flaw| flaw.at("folder"))?;
        let mut filling = Filling { bundle: self, folder, places, questions: Questions::default() };
        let config = self.config()?;
        if config.args.len() > MAX_ARGS || config.env.len() > MAX_ARGS {
            return Err(BundleError::Manifest(Flaw::TooMany(MAX_ARGS).at("server.mcp_config")));
        }
        let command = filling.command(&config.command).map_err(BundleError::Manifest)?;
        let mut args = Vec::new();
        for (at, arg) in config.args.iter().enumerate() {
            let place = format!("server.mcp_config.args[{at}]");
            args.push(filling.arg(arg).map_err(|flaw| BundleError::Manifest(flaw.at(place)))?);
        }
        let mut env = Vec::new();
        for (name, value) in &config.env {
            let place = format!("server.mcp_config.env.{}", Shown::new(name));
            let template = filling.variable(name, value);
            env.push((name.clone(), template.map_err(|flaw| BundleError::Manifest(flaw.at(place)))?));
        }
        let mut questions = filling.questions;
        args.extend(arguments(&self.extra.arguments, "packageArguments", &mut questions)?);
        for (name, value) in environment(&self.extra.environment, &mut questions)? {
            env.retain(|(known, _)| *known != name);
            env.push((name, value));
        }
        let start = Start::Command { command, args, env, cwd: Some(folder.to_owned()) };
        let id = suggested_id(&self.manifest.name);
        Ok(Plan { id, questions: questions.0, remarks: Vec::new(), start })
    }

    /// Returns the file inside that is the program to run, if it is one inside.
    pub(super) fn program_inside(&self) -> Option<String> {
        let config = self.config().ok()?;
        let inside = inside(&config.command);
        self.archive.names().has_file(inside).then(|| inside.to_owned())
    }

    /// Returns how the manifest starts it, or how its kind is started where it does not say.
    fn config(&self) -> Result<McpConfig, BundleError> {
        let server = &self.manifest.server;
        let entry_point = inside(&server.entry_point);
        if !self.archive.names().has_file(entry_point) {
            return Err(BundleError::Lacks(Shown::new(&server.entry_point)));
        }
        if let Some(config) = &server.mcp_config {
            return Ok(config.here());
        }
        let path = format!("${{__dirname}}/{entry_point}");
        let (command, args) = match server.kind {
            ServerType::Node => ("node", vec![path]),
            ServerType::Python => ("python3", vec![path]),
            ServerType::Uv => {
                let args = ["run", "--directory", "${__dirname}", entry_point].map(ToOwned::to_owned);
                ("uv", args.into())
            }
            ServerType::Binary => (path.as_str(), Vec::new()),
        };
        let command = command.to_owned();
        Ok(McpConfig { command, args, env: Default::default(), platform_overrides: Default::default() })
    }
}

impl Filling<'_> {
    /// Returns the program: one of the bundle's own by its whole path.
    fn command(&mut self, text: &str) -> Result<String, Refused> {
        let at = |flaw: Flaw| flaw.at("server.mcp_config.command");
        let template = self.template(text).map_err(at)?;
        let command = template.shown(&self.questions.0);
        if template.has_answers() || command.is_empty() {
            return Err(at(Flaw::Missing));
        }
        let inside = command.trim_start_matches("./");
        if self.bundle.archive.names().has_file(inside) {
            return Ok(format!("{}/{inside}", self.folder));
        }
        match command.strip_prefix(self.folder).and_then(|below| below.strip_prefix('/')) {
            Some(below) if self.bundle.archive.names().has_file(below) => Ok(command),
            Some(_) => Err(at(Flaw::Missing)),
            None if RUNTIMES.contains(&command.as_str()) => Ok(command),
            None => Err(at(Flaw::Program(Shown::new(text)))),
        }
    }

    fn arg(&mut self, text: &str) -> Result<Arg, Flaw> {
        // It is started in the bundle's folder, so that is where a path begins that does not say.
        let is_relative = |path: &str| !path.starts_with('/') && leads_out(path);
        if paths_of(text).any(|path| below_folder(&path).map_or_else(|| is_relative(&path), leads_out)) {
            return Err(Flaw::LeadsOut(Shown::new(text)));
        }
        let template = self.template(text)?;
        let is_several = template.0.iter().any(|piece| match piece {
            Piece::Answer(question) => self.questions.0[*question].repeated,
            Piece::Text(_) => false,
        });
        // No folders are no arguments; one value that is not given holds its place, for a flag may stand before it.
        let lacking = if is_several { Lacking::LeavesItOut } else { Lacking::IsEmpty };
        Ok(Arg::Value(template, lacking))
    }

    fn variable(&mut self, name: &str, value: &str) -> Result<Template, Flaw> {
        if !is_variable_name(name) || name.to_ascii_uppercase().starts_with("MANIFOLD_") {
            return Err(Flaw::VariableName(Shown::new(name)));
        }
        if paths_of(value).any(|path| below_folder(&path).is_some_and(leads_out)) {
            return Err(Flaw::LeadsOut(Shown::new(value)));
        }
        self.template(value)
    }

    /// Cuts a text at its `${…}`. Those we do not know would be taken for the user's variables, so they are refused.
    fn template(&mut self, text: &str) -> Result<Template, Flaw> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let name = rest[start + 2..].split('}').next().unwrap_or_default();
            let end = start + 2 + name.len() + 1;
            if end > rest.len() {
                return Err(Flaw::OwnVariables);
            }
            pieces.push(Piece::Text(rest[..start].to_owned()));
            pieces.push(match name.strip_prefix("user_config.") {
                Some(key) => Piece::Answer(self.ask(key)?),
                None => Piece::Text(self.place(name)?),
            });
            rest = &rest[end..];
        }
        pieces.push(Piece::Text(rest.to_owned()));
        let pieces = joined(pieces);
        for piece in &pieces {
            if let Piece::Text(text) = piece {
                check_value(text)?;
            }
        }
        Ok(Template(pieces))
    }

    /// Returns what a name of the manifest's own stands for.
    fn place(&self, name: &str) -> Result<String, Flaw> {
        let path = match name {
            "__dirname" => return Ok(self.folder.to_owned()),
            "/" | "pathSeparator" => return Ok(std::path::MAIN_SEPARATOR.to_string()),
            "HOME" => &self.places.home,
            "DESKTOP" => &self.places.desktop,
            "DOCUMENTS" => &self.places.documents,
            "DOWNLOADS" => &self.places.downloads,
            _ => return Err(Flaw::OwnVariables),
        };
        text_of(path).map(ToOwned::to_owned)
    }

    fn ask(&mut self, key: &str) -> Result<usize, Flaw> {
        let manifest = &self.bundle.manifest;
        let setting = manifest.user_config.get(key).ok_or_else(|| Flaw::UnknownVariable(key.to_owned()))?;
        let question = self.question(key, setting)?;
        Ok(self.questions.ask(question))
    }

    fn question(&self, key: &str, setting: &Setting) -> Result<Question, Flaw> {
        check_plain(key, 128)?;
        let kind = match setting.kind {
            SettingType::String => Kind::Text,
            SettingType::Number => Kind::Number { min: setting.min, max: setting.max },
            SettingType::Boolean => Kind::Boolean,
            SettingType::Directory => Kind::Folder,
            SettingType::File => Kind::File,
        };
        let mut default = Vec::new();
        for text in setting.default.iter().flat_map(|values| values.texts()).filter(|_| !setting.sensitive) {
            default.push(self.default(&text)?);
        }
        default.truncate(if setting.multiple { MAX_ARGS } else { 1 });
        let words = [setting.title.as_str(), setting.description.as_str()];
        let words: Vec<&str> = words.into_iter().filter(|words| !words.is_empty()).collect();
        Ok(Question {
            required: setting.required,
            secret: setting.sensitive,
            default,
            repeated: setting.multiple,
            kind,
            ..Question::new(key, &words.join(": "))
        })
    }

    /// Fills in the folders a default may name.
    fn default(&self, text: &str) -> Result<String, Flaw> {
        let mut filled = text.to_owned();
        for name in ["HOME", "DESKTOP", "DOCUMENTS", "DOWNLOADS", "/", "pathSeparator", "__dirname"] {
            let written = format!("${{{name}}}");
            if filled.contains(&written) {
                filled = filled.replace(&written, &self.place(name)?);
            }
        }
        check_value(&filled)?;
        Ok(filled)
    }
}

/// How the bundle's folder is written in a manifest.
const FOLDER: &str = "${__dirname}";

/// Returns a path of a manifest as the zip would name the file.
fn inside(path: &str) -> &str {
    path.strip_prefix(FOLDER)
        .and_then(|below| below.strip_prefix('/'))
        .unwrap_or(path)
        .trim_start_matches("./")
}

/// Returns what of a text may be paths, its separators as slashes.
fn paths_of(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("${/}", "/").replace("${pathSeparator}", "/").replace('\\', "/");
    let paths: Vec<String> =
        text.split(['=', ':', ';', ',', ' ', '"', '\'']).map(ToOwned::to_owned).collect();
    paths.into_iter()
}

/// Returns what follows the bundle's folder in a path that names it.
fn below_folder(path: &str) -> Option<&str> {
    path.rsplit_once(FOLDER).map(|(_, below)| below)
}

/// Returns whether a path goes up further than it has gone down.
fn leads_out(path: &str) -> bool {
    let mut depth = 0_i32;
    path.split('/').any(|part| {
        depth += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    })
}

/// Puts texts that stand beside each other together, so that a lone answer is seen to be one.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
            (_, Piece::Text(text)) if text.is_empty() => {}
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

/// Returns a path as it can stand in our config.
fn text_of(path: &Path) -> Result<&str, Flaw> {
    let text = path.to_str().ok_or(Flaw::ControlCharacters)?;
    check_value(text)?;
    Ok(text)
}
