//! Gathers the files that describe other programs' configs, so that one more needs no change of code.
#![allow(clippy::print_stdout, reason = "this is how cargo is told")]

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

const FOLDER: &str = "src/clients/data";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={FOLDER}");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(FOLDER)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    // In the order of their names on every machine: where two fit equally, the first is taken.
    files.sort_by(|one, other| one.file_stem().cmp(&other.file_stem()));
    let mut list = String::from("&[");
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        // Where the crate stands is asked when it is compiled: a target folder may be moved or shared by checkouts.
        let path = format!("/{}", file.display());
        let _ = write!(list, "({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?}))),");
    }
    list.push(']');
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&out).join("clients.rs"), list)
}
