//! Runs a check over every committed input of its target, as a plain test.

use std::fs;
use std::path::Path;

pub(crate) fn replay(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut replayed = 0;
    for file in files {
        let path = file.expect("the folder can be read").path();
        println!("{}", path.display());
        check(&fs::read(path).expect("a seed can be read"));
        replayed += 1;
    }
    assert!(replayed > 0, "{target} has seeds");
}
