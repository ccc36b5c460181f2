//! What a command line really runs: the package behind `npx`, `uvx`, `docker run` and their like.

use std::path::Path;

/// A command line without the differences that make none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    /// What is run, without its version, if it can be told.
    pub(super) package: Option<String>,
}

/// Programs that are the same wherever they are found.
const RUNNERS: [&str; 17] = [
    "npx", "npm", "bunx", "bun", "pnpm", "pnpx", "yarn", "deno", "uvx", "uv", "pipx", "docker", "podman",
    "node", "python", "python3", "nerdctl",
];
/// Flags of package runners that take a value, and those of containers.
const RUNNER_VALUES: [&str; 14] = [
    "-p",
    "--package",
    "--from",
    "--with",
    "--python",
    "-c",
    "--call",
    "--index-url",
    "--registry",
    "--cache",
    "--spec",
    "--directory",
    "--project",
    "--extra-index-url",
];
const CONTAINER_VALUES: [&str; 22] = [
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "--mount",
    "--name",
    "-p",
    "--publish",
    "--network",
    "--net",
    "-u",
    "--user",
    "-w",
    "--workdir",
    "--entrypoint",
    "--platform",
    "-l",
    "--label",
    "--add-host",
    "--pull",
    "-m",
];
/// Flags of package runners that make no other server.
const HARMLESS: [&str; 8] = ["-y", "--yes", "-q", "--quiet", "--silent", "--bun", "--prefer-offline", "--"];

/// Reads a command line.
pub(super) fn launch(command: &str, args: &[String]) -> Launch {
    let name = program_name(command);
    // `cmd /c npx …` is how Windows starts scripts.
    if name == "cmd"
        && let [flag, program, rest @ ..] = args
        && flag.eq_ignore_ascii_case("/c")
    {
        return launch(program, rest);
    }
    let program = if RUNNERS.contains(&name) { name } else { command };
    let Some((from, at)) = package_at(name, args) else {
        let own = || (!RUNNERS.contains(&name)).then(|| name.to_owned());
        let package = script_package(name, args).or_else(own);
        return Launch { program: program.to_owned(), args: args.to_vec(), package };
    };
    let is_image = is_container(name);
    let package = Some(without_version(&args[at], is_image));
    if is_image {
        return Launch { program: program.to_owned(), args: args.to_vec(), package };
    }
    let flags = args[from..at].iter().filter(|flag| !HARMLESS.contains(&flag.as_str()));
    let named = args[at].strip_suffix("@latest").unwrap_or(&args[at]).to_owned();
    let args = flags.cloned().chain([named]).chain(args[at + 1..].iter().cloned()).collect();
    Launch { program: source(name).to_owned(), args, package }
}

/// Returns one name for the runners that take packages from the same place.
fn source(runner: &str) -> &str {
    match runner {
        "npm" | "bunx" | "bun" | "pnpm" | "pnpx" | "yarn" => "npx",
        "uv" | "pipx" => "uvx",
        runner => runner,
    }
}

/// Returns the name of a program without its folder and the endings Windows has.
pub(super) fn program_name(command: &str) -> &str {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let ending = [".exe", ".cmd", ".bat"].into_iter().find(|ending| {
        name.len()
            .checked_sub(ending.len())
            .and_then(|at| name.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(ending))
    });
    ending.map_or(name, |ending| &name[..name.len() - ending.len()])
}

fn is_container(runner: &str) -> bool {
    ["docker", "podman", "nerdctl"].contains(&runner)
}

/// Returns where the runner's own words end, and which argument names the package.
fn package_at(runner: &str, args: &[String]) -> Option<(usize, usize)> {
    let word = |at: usize| args.get(at).map(String::as_str);
    let from = match (runner, word(0), word(1)) {
        ("npx" | "bunx" | "pnpx" | "uvx", ..) => 0,
        ("npm", Some("exec" | "x"), _) | ("bun", Some("x"), _) => 1,
        ("pnpm" | "yarn", Some("dlx"), _) | ("pipx", Some("run"), _) => 1,
        ("uv", Some("tool"), Some("run")) => 2,
        ("deno", Some("run"), _) => 1,
        ("docker" | "podman" | "nerdctl", Some("run"), _) => 1,
        ("docker" | "podman" | "nerdctl", Some("container"), Some("run")) => 2,
        _ => return None,
    };
    let values: &[&str] = if is_container(runner) { &CONTAINER_VALUES } else { &RUNNER_VALUES };
    let mut at = from;
    while let Some(arg) = word(at) {
        let names_it = match arg {
            "--from" | "--package" | "--spec" => !is_container(runner),
            "-p" => ["npx", "npm", "bunx"].contains(&runner),
            _ => false,
        };
        match arg {
            // What is named so is what is installed; behind it stands only which of its programs.
            _ if names_it => return word(at + 1).map(|_| (from, at + 1)),
            flag if values.contains(&flag) => at += 2,
            flag if flag.starts_with('-') => at += 1,
            _ => return Some((from, at)),
        }
    }
    None
}

/// Returns the package without version, tag or extras.
fn without_version(arg: &str, is_image: bool) -> String {
    if is_image {
        let image = arg.split('@').next().unwrap_or(arg);
        let tag = image.rfind(':').filter(|colon| !image[*colon..].contains('/'));
        let image = tag.map_or(image, |colon| &image[..colon]);
        return image.trim_start_matches("docker.io/").to_owned();
    }
    let arg = arg.strip_prefix("npm:").or_else(|| arg.strip_prefix("jsr:")).unwrap_or(arg);
    // The first `@` of `@scope/name@1` belongs to the name.
    let version =
        arg.char_indices().skip(1).find(|(_, char)| matches!(char, '@' | '=' | '[' | '<' | '>' | '~'));
    version.map_or(arg, |(at, _)| &arg[..at]).to_owned()
}

/// Returns the package of a script in `node_modules`, or of a Python module.
fn script_package(runner: &str, args: &[String]) -> Option<String> {
    match runner {
        "node" => {
            let script = args.iter().find(|arg| !arg.starts_with('-'))?;
            let (_, below) = script
                .replace('\\', "/")
                .rsplit_once("node_modules/")
                .map(|(a, b)| (a.to_owned(), b.to_owned()))?;
            let parts = below.split('/').take(if below.starts_with('@') { 2 } else { 1 });
            Some(parts.collect::<Vec<_>>().join("/"))
        }
        "python" | "python3" => {
            let module = args.iter().position(|arg| arg == "-m")?;
            Some(args.get(module + 1)?.replace('_', "-"))
        }
        _ => None,
    }
}

/// Returns whether an argument looks like a place below the folder a program is started in.
pub(super) fn is_relative_path(arg: &str) -> bool {
    const SCRIPTS: [&str; 9] = ["js", "mjs", "cjs", "ts", "py", "sh", "rb", "json", "jar"];
    let dotted = matches!(arg, "." | "..") || arg.starts_with("./") || arg.starts_with("../");
    let absolute =
        arg.starts_with(['/', '\\', '~', '$', '-', '@']) || arg.contains("://") || arg.contains(":\\");
    let ending = Path::new(arg).extension().and_then(|ending| ending.to_str());
    dotted || (!absolute && ending.is_some_and(|ending| SCRIPTS.contains(&ending)))
}
