//! The step of the search for the end of a string: as many bytes at once as the processor takes.

#[cfg(target_arch = "x86_64")]
pub(super) use wide::{BYTES, first_stop};
#[cfg(not(target_arch = "x86_64"))]
pub(super) use word::{BYTES, first_stop};

/// Looks at sixteen bytes at once.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };

    pub(in crate::scan) const BYTES: usize = 16;

    /// Returns the first byte that ends a plain run.
    #[inline]
    #[expect(
        unsafe_code,
        reason = "these instructions are called unsafe because not every processor has them"
    )]
    pub(in crate::scan) fn first_stop(chunk: &[u8; BYTES]) -> Option<usize> {
        let number = u128::from_le_bytes(*chunk);
        // SAFETY: they are SSE2, which is part of x86-64 itself, and none of them takes a pointer.
        let stops = unsafe {
            let chunk = _mm_set_epi64x((number >> 64) as i64, number as i64);
            let quote = _mm_cmpeq_epi8(chunk, _mm_set1_epi8(b'"'.cast_signed()));
            let backslash = _mm_cmpeq_epi8(chunk, _mm_set1_epi8(b'\\'.cast_signed()));
            let control = _mm_cmpeq_epi8(_mm_min_epu8(chunk, _mm_set1_epi8(0x1f)), chunk);
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control))
        };
        (stops != 0).then(|| stops.trailing_zeros() as usize)
    }
}

/// Looks at eight bytes at once, in one word.
#[cfg(not(target_arch = "x86_64"))]
mod word {
    pub(in crate::scan) const BYTES: usize = 8;

    /// Returns the first byte that ends a plain run. Borrows may mark bytes above a true hit, never below, so the lowest
    /// mark is exact.
    #[inline]
    pub(in crate::scan) fn first_stop(chunk: &[u8; BYTES]) -> Option<usize> {
        const ONES: u64 = u64::MAX / 255;
        const HIGH: u64 = ONES * 0x80;
        let word = u64::from_le_bytes(*chunk);
        let below = |word: u64, limit: u64| word.wrapping_sub(ONES * limit) & !word;
        let quote = below(word ^ (ONES * b'"' as u64), 1);
        let backslash = below(word ^ (ONES * b'\\' as u64), 1);
        let stops = (below(word, 0x20) | quote | backslash) & HIGH;
        (stops != 0).then(|| (stops.trailing_zeros() / 8) as usize)
    }
}
