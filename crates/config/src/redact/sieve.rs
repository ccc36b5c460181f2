//! Tells at little cost where no secret can begin, so that the rest of a text need not be compared with all of them.

use super::escapes::is_mark;

/// What is looked at together: every fourth place of a text is, and whatever begins in between reaches over one of them.
pub(super) const STRIDE: usize = 4;

const BITS: usize = 1 << 16;

/// What is known of the beginnings of all secrets. Empty until there is one.
#[derive(Default)]
pub(super) struct Sieve {
    /// Whether one of them has these four bytes among its first seven, by their hash.
    windows: Vec<u64>,
    /// Whether one that may be escaped begins with these two bytes.
    pairs: Vec<u64>,
    /// Whether one that may be escaped begins with this byte.
    firsts: [u64; 4],
}

impl Sieve {
    pub(super) const fn new() -> Self {
        Self { windows: Vec::new(), pairs: Vec::new(), firsts: [0; 4] }
    }

    /// Lets a form through from now on. None is shorter than eight bytes.
    pub(super) fn add(&mut self, form: &[u8]) {
        self.windows.resize(BITS / 64, 0);
        for window in form.windows(STRIDE).take(STRIDE) {
            set(&mut self.windows, hash(window));
        }
    }

    /// Lets a value through from now on whose characters may be escaped.
    pub(super) fn add_escaped(&mut self, value: &[u8]) {
        let [first, second, ..] = value else { return };
        self.pairs.resize(BITS / 64, 0);
        set(&mut self.pairs, pair(*first, *second));
        set(&mut self.firsts, usize::from(*first));
    }

    /// Returns the first place of a text, counted from here in strides, that something may reach over. It may begin at any
    /// of the three places before.
    pub(super) fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        if self.windows.is_empty() {
            return None;
        }
        let windows = text.get(from..)?.chunks_exact(STRIDE);
        windows
            .enumerate()
            .find(|(_, window)| is_set(&self.windows, hash(window)))
            .map(|(at, _)| from + at * STRIDE)
    }

    /// Returns the first place from here on where something may begin of which some is escaped.
    pub(super) fn next_escaped(&self, text: &[u8], from: usize) -> Option<usize> {
        if self.pairs.is_empty() {
            return None;
        }
        let places = text.get(from..)?.windows(2).position(|two| {
            let (first, second) = (two[0], two[1]);
            match is_mark(second) || second == b'+' {
                _ if is_mark(first) => true,
                true => is_set(&self.firsts, usize::from(first)),
                false => is_set(&self.pairs, pair(first, second)),
            }
        });
        places.map(|at| from + at)
    }
}

fn hash(window: &[u8]) -> usize {
    let bytes = window.first_chunk::<STRIDE>().copied().unwrap_or_default();
    (u32::from_le_bytes(bytes).wrapping_mul(0x9e37_79b1) >> 16) as usize
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

fn set(bits: &mut [u64], bit: usize) {
    bits[bit / 64] |= 1 << (bit % 64);
}

fn is_set(bits: &[u64], bit: usize) -> bool {
    bits.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0)
}
