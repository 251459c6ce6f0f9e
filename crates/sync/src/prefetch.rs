//! Hints to the processor that a cache line will be needed soon, so that fetching it overlaps with
//! other work. They have no effect on memory that the program could observe, and never fault at any
//! address. On processors without a supported instruction they do nothing.

/// Requests the cache line at `place` for reading.
#[inline(always)]
pub fn prefetch<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: no precondition but SSE, which every x86-64 has: a prefetch of any address is allowed
    // and has no effect on memory or registers.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

/// Requests the cache line at `place` for writing: no other processor keeps a copy.
#[inline(always)]
pub fn prefetch_to_write<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch of any address is allowed and has no effect on memory or registers. The
    // processors that 64-bit systems run on know the instruction, or do nothing on it.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) place,
            options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_address_will_do() {
        let word = 7_u64;
        prefetch(&raw const word);
        prefetch_to_write(&raw const word);
        prefetch(std::ptr::null::<u64>());
        prefetch_to_write(std::ptr::without_provenance::<u64>(usize::MAX));
        assert_eq!(word, 7);
    }
}
