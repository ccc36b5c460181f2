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
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        self.0.extend_from_slice(element.as_bytes());
    }

    /// Returns the array, in no more memory than it needs.
    pub fn into_raw(mut self) -> Raw {
        self.0.push(b']');
        self.0.shrink_to_fit();
        Raw::trusted(self.0.into())
    }
}
