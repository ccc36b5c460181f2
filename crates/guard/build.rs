//! Builds the guard a second time, as a program of its own, to be carried inside the gateway.
//!
//! The compiler is called directly: the crate has no dependencies, and whatever cargo was told about the gateway
//! (profiles, wrappers, sanitizers, coverage) is not meant for this program.
#![allow(clippy::print_stdout, reason = "this is how cargo is told")]

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the linker for this program alone, where the gateway's does not know the options used here.
const LINKER: &str = "MANIFOLD_GUARD_LINKER";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={LINKER}");
    println!("cargo::rustc-check-cfg=cfg(alone)");
    let program = PathBuf::from(variable("OUT_DIR")).join("mcp-guard");
    if let Err(why) = build(&program) {
        println!("cargo::warning=no small guard, the gateway will be its own: {why}");
        std::fs::write(&program, "")?;
    }
    Ok(())
}

fn build(program: &Path) -> Result<(), String> {
    let target = variable("TARGET");
    // The largest page such a machine may have: parts of a program with different rights cannot share one.
    let page_bytes = match variable("CARGO_CFG_TARGET_ARCH").to_str() {
        Some("x86_64") => "4096",
        Some("aarch64") => "65536",
        _ => return Err(format!("it was never tried on {}", target.display())),
    };
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg("src/lib.rs").arg("--target").arg(&target).arg("-o").arg(program);
    rustc.args([
        "--crate-name",
        "manifold_guard",
        "--crate-type",
        "bin",
        "--edition",
        "2024",
        "--cfg",
        "alone",
    ]);
    rustc.args(["--cap-lints", "allow"]);
    let codegen = ["opt-level=s", "panic=abort", "lto=fat", "codegen-units=1", "strip=symbols"];
    let codegen = codegen.into_iter().chain([
        "relocation-model=static",
        "target-feature=+crt-static",
        "force-unwind-tables=no",
    ]);
    rustc.args(codegen.flat_map(|option| ["-C", option]));
    let link = ["-nostartfiles", "-nostdlib", "-static", "-Wl,--gc-sections", "-Wl,--build-id=none"];
    let link = link.into_iter().chain(["-Wl,-z,norelro", "-Wl,-z,noseparate-code", "-Wl,--no-eh-frame-hdr"]);
    let pages = format!("-Wl,-z,max-page-size={page_bytes}");
    rustc.args(link.chain([pages.as_str()]).map(|option| format!("-Clink-arg={option}")));
    if variable("CARGO_CFG_TARGET_ENV") == "musl" {
        // No start files of the compiler's own: there is nothing to start.
        rustc.arg("-Clink-self-contained=no");
    }
    if let Some(linker) = env::var_os(LINKER).or_else(|| env::var_os("RUSTC_LINKER")) {
        let mut option = OsString::from("-Clinker=");
        option.push(linker);
        rustc.arg(option);
    }
    let output = rustc.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(errors.lines().find(|line| line.starts_with("error")).unwrap_or("the compiler failed").to_owned())
}

fn variable(name: &str) -> OsString {
    env::var_os(name).unwrap_or_default()
}
