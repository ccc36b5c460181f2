use std::ops::Range;

use super::Raw;

/// An array being written, element by element.
#[derive(Debug, Clone)]
pub struct RawArray(Vec<u8>);

impl Default for RawArray {
    fn default() -> Self {
        Self::new()
    }
}

impl RawArray {
    pub fn new() -> Self {
        Self(vec![b'['])
    }

    /// Makes room for so many bytes of elements and what stands between them.
    pub fn reserve(&mut self, bytes: usize) {
        self.0.reserve_exact(bytes + 1);
    }

    pub fn push(&mut self, element: &Raw) {
        self.push_bytes(element.as_bytes());
    }

    fn push_bytes(&mut self, element: &[u8]) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(element);
    }

    /// Adds an element of another array, which stands there in it.
    pub fn push_from(&mut self, array: &Raw, place: Range<usize>) {
        self.push_bytes(&array.as_bytes()[place]);
    }

    /// Returns where the last element ends, in bytes from the bracket.
    pub fn end(&self) -> usize {
        self.0.len()
    }

    /// Returns the array, in no more memory than it needs.
    pub fn into_raw(mut self) -> Raw {
        self.0.push(b']');
        self.0.shrink_to_fit();
        Raw::trusted(self.0.into())
    }
}
