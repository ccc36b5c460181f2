use std::os::unix::fs::symlink;

use nix::sys::stat::Mode;
use nix::unistd::{chown, geteuid, mkfifo};
use tempfile::TempDir;

use super::*;

/// A home folder with something outside of it.
struct Home {
    folder: TempDir,
    rules: Rules,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        Self { rules: Rules::Client { home }, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn find(&self, name: &str) -> Result<TargetFile, WriteError> {
        TargetFile::find(&self.path(name), &self.rules)
    }

    /// Returns why a client's file is refused, and sees to it that nothing was written.
    fn refusal(&self, name: &str) -> Refusal {
        let error = self.find(name).map(|_| ()).unwrap_err();
        assert!(error.hint().is_some());
        let WriteError::Refused { why, .. } = error else { panic!("{name}: {error}") };
        why
    }
}

#[test]
fn links_within_the_home_are_followed_and_stay() {
    let home = Home::new();
    let real = home.write("home/dotfiles/mcp.json", "old");
    fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(home.path("home/.cursor")).unwrap();
    symlink("../dotfiles/mcp.json", home.path("home/.cursor/mcp.json")).unwrap();
    let file = home.find("home/.cursor/mcp.json").unwrap();
    assert_eq!(file.path(), real);
    file.replace(Some(b"old"), b"new").unwrap();
    assert!(fs::symlink_metadata(home.path("home/.cursor/mcp.json")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "new");
    assert_eq!(fs::metadata(&real).unwrap().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(home.path("home/dotfiles")).unwrap().count(), 1);
}

#[test]
fn a_link_out_of_the_home_is_refused_for_clients_only() {
    let home = Home::new();
    let target = home.write("outside/mcp.json", "theirs");
    symlink(&target, home.path("home/mcp.json")).unwrap();
    symlink(home.path("outside"), home.path("home/.cursor")).unwrap();
    symlink(home.path("outside/new.json"), home.path("home/new.json")).unwrap();
    for name in ["home/mcp.json", "home/.cursor/mcp.json", "home/.cursor/deep/mcp.json", "home/new.json"] {
        assert!(matches!(home.refusal(name), Refusal::LinkOutside(_)), "{name}");
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "theirs");
    assert!(!home.path("outside/deep").exists());
    // What the user named himself, and a project that lies elsewhere.
    let anywhere = Rules::Own { home: None };
    assert!(TargetFile::find(&home.path("home/mcp.json"), &anywhere).is_ok());
    let own = Rules::Own { home: Some(home.path("home")) };
    let refused = TargetFile::find(&home.path("home/mcp.json"), &own).map(drop);
    assert!(matches!(refused, Err(WriteError::Refused { why: Refusal::LinkOutside(_), .. })), "{refused:?}");
    assert!(home.find("outside/mcp.json").is_ok());
    symlink("mcp.json", home.path("outside/link.json")).unwrap();
    assert!(matches!(home.refusal("outside/link.json"), Refusal::LinkOutside(_)));
}

#[test]
fn what_belongs_to_the_system_is_refused() {
    let home = Home::new();
    symlink("/etc/passwd", home.path("home/mcp.json")).unwrap();
    symlink("/etc", home.path("home/.cursor")).unwrap();
    for name in ["home/mcp.json", "home/.cursor/passwd", "home/.cursor/manifold.json"] {
        assert!(matches!(home.refusal(name), Refusal::OfTheSystem(_)), "{name}");
    }
    let direct = TargetFile::find(Path::new("/etc/claude-code/managed-mcp.json"), &home.rules);
    assert!(matches!(direct, Err(WriteError::Refused { .. })));
}

#[test]
fn a_link_to_another_users_file_is_refused() {
    if !geteuid().is_root() {
        return;
    }
    let home = Home::new();
    let target = home.write("home/theirs.json", "theirs");
    chown(&target, Some(65_534.into()), None).unwrap();
    symlink("theirs.json", home.path("home/mcp.json")).unwrap();
    assert!(matches!(home.refusal("home/mcp.json"), Refusal::LinkNotOurs(_)));
}

#[test]
fn without_our_write_bit_it_is_refused_though_the_folder_would_let_us() {
    let home = Home::new();
    let path = home.write("home/mcp.json", "{}");
    for mode in [0o444, 0o400, 0o464] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(home.refusal("home/mcp.json"), Refusal::ReadOnly, "{mode:o}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let file = home.find("home/mcp.json").unwrap();
    // Between the look and the write.
    fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    assert!(matches!(file.replace(Some(b"{}"), b"x"), Err(WriteError::Refused { .. })));
    assert_eq!(fs::read_dir(home.path("home")).unwrap().count(), 1);
}

#[test]
fn what_is_no_file_or_too_large_is_refused() {
    let home = Home::new();
    fs::create_dir(home.path("home/folder")).unwrap();
    mkfifo(&home.path("home/pipe"), Mode::S_IRWXU).unwrap();
    for name in ["home/folder", "home/pipe"] {
        assert_eq!(home.refusal(name), Refusal::NotAFile, "{name}");
    }
    let large = home.write("home/large", "");
    File::options().write(true).open(&large).unwrap().set_len(MAX_BYTES + 1).unwrap();
    assert_eq!(home.refusal("home/large"), Refusal::TooLarge);
    symlink("loop", home.path("home/loop")).unwrap();
    assert_eq!(home.refusal("home/loop"), Refusal::LinksLeadNowhere);
    symlink("nowhere", home.path("home/gone")).unwrap();
    assert!(home.find("home/gone/mcp.json").is_err());
    // A link to what is to be made.
    assert!(home.find("home/gone").is_ok());
}

#[test]
fn folders_are_made_when_it_is_written_and_not_before() {
    let home = Home::new();
    let file = home.find("home/.a/b/mcp.json").unwrap();
    assert_eq!(file.missing_folders(), [home.path("home/.a"), home.path("home/.a/b")]);
    assert!(!home.path("home/.a").exists() && file.read().unwrap().is_none());
    file.replace(None, b"new").unwrap();
    assert_eq!(file.read().unwrap().as_deref(), Some(b"new".as_slice()));
    assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o777, 0o600);
}

// Somebody whose editor knows nothing of our lock.
#[test]
fn what_another_wrote_meanwhile_is_not_overwritten() {
    let home = Home::new();
    let path = home.write("home/mcp.json", "theirs");
    let file = home.find("home/mcp.json").unwrap();
    for old in [Some(b"read".as_slice()), None] {
        assert!(matches!(file.replace(old, b"ours"), Err(WriteError::Changed(_))));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(fs::read_dir(home.path("home")).unwrap().count(), 1);
    file.replace(Some(b"theirs"), b"ours").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
}
