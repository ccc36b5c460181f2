//! The units by which systemd starts the user's daemon with its first client, and keeps it apart from them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use manifold_config::{Environment, LoadOptions, Profile, config_path, default_config_path};
use manifold_rendezvous::Place;

use super::{fail, print};

/// The two files, by their names.
struct Units {
    folder: PathBuf,
    name: String,
    socket: String,
    service: String,
}

/// Writes the units, or shows what would be written.
pub(super) fn install(place: &Place, options: &LoadOptions, print_only: bool) -> ExitCode {
    let units = match Units::of(place, options) {
        Ok(units) => units,
        Err(why) => return fail(&why, 1),
    };
    let (socket, service) = (units.path("socket"), units.path("service"));
    if print_only {
        return print(&format!(
            "# {}\n{}\n# {}\n{}",
            socket.display(),
            units.socket,
            service.display(),
            units.service
        ));
    }
    let written = fs::create_dir_all(&units.folder)
        .and_then(|()| fs::write(&socket, &units.socket))
        .and_then(|()| fs::write(&service, &units.service));
    if let Err(error) = written {
        return fail(&format!("{}: {error}", units.folder.display()), 1);
    }
    let mut said = format!("wrote {}\nwrote {}", socket.display(), service.display());
    let name = &units.name;
    let enabled = systemctl(options, &["daemon-reload"])
        && systemctl(options, &["enable", "--now", &format!("{name}.socket")]);
    said.push_str(&match enabled {
        true => format!("\n{name}.socket is enabled: the first client starts the daemon"),
        false => format!(
            "\nenable it with: systemctl --user daemon-reload && systemctl --user enable --now {name}.socket"
        ),
    });
    said.push_str("\nto keep it after you log out: loginctl enable-linger");
    print(&said)
}

/// Removes the units.
pub(super) fn uninstall(place: &Place, options: &LoadOptions) -> ExitCode {
    let units = match Units::of(place, options) {
        Ok(units) => units,
        Err(why) => return fail(&why, 1),
    };
    let name = &units.name;
    let _ = systemctl(options, &["disable", "--now", &format!("{name}.socket"), &format!("{name}.service")]);
    let mut said = Vec::new();
    for path in [units.path("socket"), units.path("service")] {
        match fs::remove_file(&path) {
            Ok(()) => said.push(format!("removed {}", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return fail(&format!("{}: {error}", path.display()), 1),
        }
    }
    let _ = systemctl(options, &["daemon-reload"]);
    print(if said.is_empty() { "no units are installed".to_owned() } else { said.join("\n") }.as_str())
}

impl Units {
    fn of(place: &Place, options: &LoadOptions) -> Result<Self, String> {
        let program = options.environment.program.as_deref().ok_or("our own program is not found")?;
        let folder = options.environment.config_home().ok_or("no home folder is known")?.join("systemd/user");
        let default = default_config_path(Profile::Manifold, &options.environment);
        let config = config_path(options);
        let is_default = config == default;
        let name = if is_default { "manifold".to_owned() } else { format!("manifold-{}", place.name()) };
        let config = config.filter(|_| !is_default).map(|path| options.environment.cwd.join(path));
        let arguments = config.map_or_else(String::new, |path| format!(" --config {}", argument_word(&path)));
        let paths = [program, &place.client_socket()];
        if paths.iter().any(|path| path.to_string_lossy().contains('\n')) || arguments.contains('\n') {
            return Err("a unit cannot name a path with a line break in it".to_owned());
        }
        let program = program_word(program);
        let (clients, orders) = (listened_at(&place.client_socket()), listened_at(&place.control_socket()));
        let socket = format!(
            "[Unit]\nDescription=Manifold: where clients find the daemon\n\n[Socket]\nListenStream={clients}\nListenStream={orders}\n\
             SocketMode=0600\nDirectoryMode=0700\nRemoveOnStop=yes\n\n[Install]\nWantedBy=sockets.target\n"
        );
        let service = format!(
            "[Unit]\nDescription=Manifold: every MCP server behind one plug\nDocumentation=man:systemd.service(5)\n\
             Requires={name}.socket\n\n[Service]\nType=notify\nNotifyAccess=main\nExecStart={program} daemon run{arguments}\n\
             ExecReload={program} daemon upgrade{arguments}\nKillMode=control-group\nRestart=on-failure\nTimeoutStopSec=15\n"
        );
        Ok(Self { folder, name, socket, service })
    }

    fn path(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.name))
    }
}

/// Returns where a socket listens as `ListenStream=` takes it: as it is, but for specifiers. Quotes would be part of it.
fn listened_at(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%%")
}

/// Returns a path as a word behind the program of a command line.
fn argument_word(path: &Path) -> String {
    word(&path.to_string_lossy().replace('$', "$$"))
}

/// Returns the program of a command line: no variable is looked for in it.
fn program_word(path: &Path) -> String {
    word(&path.to_string_lossy())
}

fn word(text: &str) -> String {
    let text = text.replace('%', "%%").replace('\\', "\\\\");
    if text.contains([' ', '"', '\'']) { format!("\"{}\"", text.replace('"', "\\\"")) } else { text }
}

/// Returns whether systemd runs a manager for this user.
pub(super) fn has_user_manager(environment: &Environment) -> bool {
    let runtime = environment.vars.get("XDG_RUNTIME_DIR");
    runtime.is_some_and(|folder| Path::new(folder).join("systemd/private").exists())
}

/// Has the user's manager do something. Returns whether it did: there may be none.
fn systemctl(options: &LoadOptions, arguments: &[&str]) -> bool {
    if !has_user_manager(&options.environment) {
        return false;
    }
    let mut command = Command::new("systemctl");
    command.arg("--user").args(arguments).envs(&options.environment.vars);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_each_setting_reads_it() {
        let path = Path::new("/a b/50%/$x/\"q\"/m");
        assert_eq!(listened_at(path), "/a b/50%%/$x/\"q\"/m");
        assert_eq!(program_word(path), "\"/a b/50%%/$x/\\\"q\\\"/m\"");
        assert_eq!(argument_word(path), "\"/a b/50%%/$$x/\\\"q\\\"/m\"");
        assert_eq!(program_word(Path::new("/usr/bin/manifold")), "/usr/bin/manifold");
    }
}
