//! Which versions of what passes from program to program this one understands. They stand in one place of the program's
//! file, behind a mark, so that a release before or after this one can be made of a copy of it.

/// What stands before the versions in the program's file.
pub const MARK: [u8; 24] = *b"manifold understands v1\n";

/// Versions from the oldest to the newest; the newest is what we say and write.
pub type Range = [u32; 2];

/// Their order and their size are for ever.
#[repr(C)]
struct Versions {
    mark: [u8; 24],
    words: Range,
    states: Range,
}

static VERSIONS: Versions = Versions { mark: MARK, words: [1, 1], states: [1, 1] };

/// Returns the versions of the words between shim and daemon.
pub fn words() -> Range {
    understood().words
}

/// Returns the versions of the state that a daemon leaves to the program that takes its place.
pub fn states() -> Range {
    understood().states
}

/// Returns what the file says, which the compiler must not take for what stands above.
fn understood() -> &'static Versions {
    std::hint::black_box(&VERSIONS)
}
