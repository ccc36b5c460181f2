//! A name for a server that was given none, of what it is started with: the package without its scope, its version and
//! the words that all of them have.

/// Words that say nothing of what a server does.
const EMPTY_WORDS: [&str; 6] = ["mcp", "server", "mcpserver", "servers", "modelcontextprotocol", "stdio"];
/// Files and folders whose names say nothing of what is in them.
const EMPTY_PATHS: [&str; 16] = [
    "index", "main", "server", "cli", "app", "run", "start", "mcp", "build", "dist", "src", "lib", "bin",
    "out", "target", "__main__",
];
/// Labels of hosts that say nothing of whose they are.
const EMPTY_LABELS: [&str; 8] = ["mcp", "api", "www", "app", "remote", "server", "co", "com"];

const MAX_CHARACTERS: usize = 40;

/// Returns a name for a command; `None`: nothing in it is one.
pub(super) fn of_command(words: &[String]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let program = stem(program);
    let own = |skip: usize, with_value: &[&str]| first_word(arguments.get(skip..)?, with_value);
    let of_package = |package: &str| match package {
        // What it leads to has the name.
        "mcp-remote" => arguments.iter().find(|word| word.contains("://")).and_then(|url| of_url(url)),
        package => of_package(package),
    };
    let found = match (program.as_str(), arguments.first().copied()) {
        ("npx" | "bunx" | "pnpx", _) => own(0, NPX).and_then(of_package),
        ("pnpm" | "yarn", Some("dlx")) | ("bun", Some("x")) | ("npm", Some("exec" | "x")) => {
            own(1, NPX).and_then(of_package)
        }
        ("uvx", _) => own(0, UV).and_then(of_package),
        ("uv", Some("tool")) => own(2, UV).and_then(of_package),
        ("pipx", Some("run")) => own(1, UV).and_then(of_package),
        ("uv", _) => of_uv(&arguments),
        ("docker" | "podman", Some("run")) => image(arguments.get(1..)?).and_then(of_image),
        ("python" | "python3" | "py", _) => match arguments.iter().position(|word| *word == "-m") {
            Some(at) => arguments.get(at + 1).and_then(|module| of_package(module)),
            None => own(0, &[]).and_then(of_path),
        },
        ("node" | "deno" | "bun" | "tsx" | "ts-node" | "java" | "dotnet" | "sh" | "bash", _) => arguments
            .iter()
            .filter(|word| !word.starts_with('-') && !["run", "exec"].contains(word))
            .find_map(|word| of_path(word)),
        _ => of_path(words.first()?),
    };
    found.or_else(|| of_path(words.first()?))
}

/// Returns a name for what `uv run` runs: a script, or a program of the project in a folder.
fn of_uv(arguments: &[&str]) -> Option<String> {
    let at = arguments.iter().position(|word| *word == "run")?;
    let run = first_word(arguments.get(at + 1..)?, UV)?;
    let folder = arguments.iter().position(|word| ["--directory", "--project"].contains(word));
    let folder = folder.and_then(|at| arguments.get(at + 1));
    let of_run = if run.ends_with(".py") { of_path(run) } else { of_package(run) };
    let says_nothing = |name: &String| EMPTY_PATHS.contains(&name.as_str());
    of_run.filter(|name| !says_nothing(name)).or_else(|| of_path(folder?)).or_else(|| of_path(run))
}

const NPX: &[&str] = &["-p", "--package", "-c", "--call", "-w", "--workspace", "--registry"];
const UV: &[&str] = &[
    "--from",
    "--with",
    "-p",
    "--python",
    "--directory",
    "--project",
    "--index-url",
    "--extra-index-url",
    "--index",
    "--default-index",
    "--with-requirements",
    "--with-editable",
    "--spec",
    "--env-file",
];
/// Options of `docker run` that are followed by their value.
const DOCKER: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "--mount",
    "-p",
    "--publish",
    "--network",
    "--net",
    "--name",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--entrypoint",
    "--platform",
    "-l",
    "--label",
    "--add-host",
    "--cpus",
    "-m",
    "--memory",
    "--gpus",
    "--pull",
    "--tmpfs",
    "--ulimit",
    "--device",
    "-h",
    "--hostname",
    "--restart",
    "--security-opt",
    "--cap-add",
    "--cap-drop",
    "--dns",
    "--expose",
    "--ipc",
    "--pid",
    "--shm-size",
    "--runtime",
];

/// Returns the image that a `docker run` starts.
pub(super) fn image<'a>(arguments: &[&'a str]) -> Option<&'a str> {
    first_word(arguments, DOCKER)
}

/// Returns the variables that a `docker run` passes on from its own surroundings.
pub(super) fn passed_on<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let end = image(arguments).and_then(|image| arguments.iter().position(|word| *word == image));
    let options = arguments.get(..end.unwrap_or(arguments.len())).unwrap_or_default();
    let after = options.iter().zip(options.iter().skip(1));
    let named = after.filter(|(option, _)| ["-e", "--env"].contains(option)).map(|(_, name)| *name);
    let joined = options.iter().filter_map(|word| word.strip_prefix("--env="));
    named.chain(joined).filter(|name| !name.contains('=') && !name.is_empty()).collect()
}

/// Returns the first word that is neither an option nor the value of one.
fn first_word<'a>(arguments: &[&'a str], with_value: &[&str]) -> Option<&'a str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if with_value.contains(word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}

/// Returns a name for an address: its host, without what says nothing of whose it is.
pub(super) fn of_url(url: &str) -> Option<String> {
    let rest = url.split_once("://")?.1;
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let host = if host.starts_with('[') { "" } else { host.split(':').next().unwrap_or_default() };
    let labels: Vec<&str> = host.split('.').filter(|label| !label.is_empty()).collect();
    let is_number = labels.iter().all(|label| label.bytes().all(|byte| byte.is_ascii_digit()));
    if labels.len() < 2 || is_number {
        // On this machine or in this net the path tells more than the host.
        let mut parts = path.split(['/', '?', '#']).filter(|part| !part.is_empty());
        let of_path = parts.find(|part| !["mcp", "sse", "api", "v1"].contains(part));
        let host = if is_number || labels.is_empty() { "local" } else { host };
        return of_path.or(Some(host)).and_then(cleaned);
    }
    let named = labels.iter().rev().skip(1).find(|label| !EMPTY_LABELS.contains(label));
    named.and_then(|label| cleaned(label))
}

/// Returns a name for a package, such as `@scope/server-files@1.2` or `git+https://…/mcp-git.git`.
pub(super) fn of_package(package: &str) -> Option<String> {
    let package = package.trim_start_matches("npm:").trim_start_matches("jsr:");
    if package.starts_with('.') || package.starts_with('/') || package.starts_with('~') {
        return of_path(package);
    }
    if let Some((_, address)) = package.split_once("://") {
        let address = address.split(['#', '?']).next().unwrap_or_default();
        let address = address.rsplit_once('@').map_or(address, |(address, _)| address);
        return of_path(address.trim_end_matches('/').trim_end_matches(".git"));
    }
    let (scope, name) = match package.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((scope, name)) => (Some(scope), name),
        None => (None, package.rsplit('/').next().unwrap_or(package)),
    };
    let name = name.split(['@', '[', '=', '<', '>', '~']).next().unwrap_or_default();
    meaning(name).or_else(|| meaning(scope?)).or_else(|| cleaned(name))
}

fn of_image(image: &str) -> Option<String> {
    let image = image.split('@').next().unwrap_or_default();
    let mut parts = image.rsplit('/').map(|part| part.split(':').next().unwrap_or_default());
    let last = parts.next()?;
    meaning(last).or_else(|| parts.find_map(meaning)).or_else(|| cleaned(last))
}

/// Returns a name for a program or a script: its own, or that of the nearest folder that has one.
fn of_path(path: &str) -> Option<String> {
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty() && !part.starts_with(['.', '~', '$']));
    let file = parts.next()?;
    let file = stem(file);
    let is_empty = |part: &str| EMPTY_PATHS.contains(&part.to_ascii_lowercase().as_str());
    let named = if is_empty(&file) { None } else { meaning(&file) };
    named
        .or_else(|| {
            parts.find(|part| !is_empty(part)).and_then(|part| meaning(part).or_else(|| cleaned(part)))
        })
        .or_else(|| cleaned(&file))
}

/// Returns the name of a file without its folder and its kind.
fn stem(path: &str) -> String {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let kinds = [".js", ".mjs", ".cjs", ".ts", ".py", ".jar", ".dll", ".exe", ".cmd", ".sh", ".rb", ".php"];
    kinds.iter().find_map(|kind| file.strip_suffix(kind)).unwrap_or(file).to_owned()
}

/// Returns a name without the words that say nothing; `None` where no other is left.
fn meaning(name: &str) -> Option<String> {
    let words: Vec<&str> = name.split(['-', '_', '.']).filter(|word| !word.is_empty()).collect();
    let is_empty = |word: &&str| EMPTY_WORDS.contains(&word.to_ascii_lowercase().as_str());
    let from = words.iter().position(|word| !is_empty(word))?;
    let to = words.iter().rposition(|word| !is_empty(word))?;
    cleaned(&words.get(from..=to)?.join("-"))
}

/// Returns a name of letters, digits and dashes.
fn cleaned(name: &str) -> Option<String> {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let plain: String = plain.trim_matches('-').to_ascii_lowercase().chars().take(MAX_CHARACTERS).collect();
    (!plain.is_empty()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_the_name_of_what_it_starts() {
        for (line, name) in [
            ("npx -y @modelcontextprotocol/server-filesystem ~/notes", "filesystem"),
            ("npx -y @playwright/mcp@latest", "playwright"),
            ("npx @upstash/context7-mcp --api-key x", "context7"),
            ("npx -y -p @sentry/mcp-server sentry-mcp", "sentry"),
            ("npx -y mcp-remote https://mcp.linear.app/sse", "linear"),
            ("uvx mcp-server-git", "git"),
            ("uvx --from git+https://github.com/oraios/serena serena start-mcp-server", "serena"),
            ("uvx mcp-server-time==1.2 --local-timezone=UTC", "time"),
            ("uv --directory /srv/weather run server.py", "weather"),
            ("uv run --directory /srv/weather weather.py", "weather"),
            ("uv tool run mcp-server-fetch", "fetch"),
            ("pnpm dlx @supabase/mcp-server-supabase@1", "supabase"),
            ("docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server", "github"),
            ("docker run -i --rm --mount type=bind,src=/a,dst=/b mcp/fetch:latest", "fetch"),
            ("docker run -i --rm registry.example/acme/mcp-server", "acme"),
            ("node /home/me/weather/build/index.js", "weather"),
            ("python -m mcp_server_sqlite --db x", "sqlite"),
            ("python3 servers/notes.py", "notes"),
            ("deno run --allow-net npm:@acme/mcp-tickets", "tickets"),
            ("github-mcp-server stdio", "github"),
            ("/usr/local/bin/ticket-server", "ticket"),
            ("mcp-server", "mcp-server"),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(of_command(&words).as_deref(), Some(name), "{line}");
        }
    }

    #[test]
    fn an_address_has_the_name_of_whose_it_is() {
        for (url, name) in [
            ("https://mcp.sentry.dev/mcp", "sentry"),
            ("https://api.githubcopilot.com/mcp/", "githubcopilot"),
            ("https://docs.example/mcp", "docs"),
            ("https://me:pw@mcp.linear.app:443/sse?x=1", "linear"),
            ("http://localhost:3000/mcp", "localhost"),
            ("http://127.0.0.1:3000/tickets/mcp", "tickets"),
            ("http://[::1]:3000/mcp", "local"),
        ] {
            assert_eq!(of_url(url).as_deref(), Some(name), "{url}");
        }
    }

    #[test]
    fn docker_passes_on_what_it_is_told_by_name() {
        let words = ["-i", "-e", "A", "--env=B", "-e", "C=1", "image", "-e", "D"];
        assert_eq!(passed_on(&words), ["A", "B"]);
    }
}
