//! What a server can find out about other processes of its user by way of `/proc` (M10).

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use serde_json::{Value, json};

/// Looks through everything that the kernel shows of these processes. Returns what could be opened, as `PID/file`, and
/// where one of the texts was found, as `PID/file: text`.
pub(super) fn spy(pids: &[u64], texts: &[String]) -> Value {
    let (mut opened, mut found) = (Vec::new(), Vec::new());
    for pid in pids {
        let mut look = |file: &str, bytes: &[u8]| {
            let holds = |text: &&String| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            found.extend(texts.iter().filter(holds).map(|text| format!("{pid}/{file}: {text}")));
        };
        for file in ["cmdline", "environ", "auxv", "maps"] {
            let Ok(bytes) = fs::read(format!("/proc/{pid}/{file}")) else { continue };
            look(file, &bytes);
            // What was run is there for everybody to see.
            if file != "cmdline" && !bytes.is_empty() {
                opened.push(format!("{pid}/{file}"));
            }
        }
        if let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) {
            let readable = entries.flatten().filter(|entry| fs::read_link(entry.path()).is_ok());
            opened.extend(readable.map(|entry| format!("{pid}/fd/{}", entry.file_name().to_string_lossy())));
        }
        if let Ok(memory) = File::open(format!("/proc/{pid}/mem")) {
            opened.push(format!("{pid}/mem"));
            let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
            for (start, end) in maps.lines().filter_map(private_range) {
                let mut bytes = vec![0; (end - start) as usize];
                let read = memory.read_at(&mut bytes, start).unwrap_or_default();
                look("mem", &bytes[..read]);
            }
        }
    }
    json!({"opened": opened, "found": found})
}

/// Returns where a mapping is that the process has written to: a line says `start-end rights …`.
fn private_range(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_written = words.next()?.starts_with("rw");
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (start, end) = (number(start)?, number(end)?);
    (is_written && end - start < 1 << 30).then_some((start, end))
}
