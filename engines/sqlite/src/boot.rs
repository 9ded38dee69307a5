//! Which start of this machine it is: what was written without being synced is there for certain only until the next one.

use std::sync::LazyLock;

/// A number of the current start, as it fits into the header of a database file (its user_version): the first bits of
/// the kernel's random boot_id (proc(5)). 0, which no start has, if the kernel does not tell.
pub(crate) fn current() -> i32 {
    static CURRENT: LazyLock<i32> = LazyLock::new(|| {
        let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        number(&id)
    });
    *CURRENT
}

fn number(id: &str) -> i32 {
    let digits = id.get(..8).unwrap_or_default();
    u32::from_str_radix(digits, 16).map_or(0, |bits| (bits >> 1).max(1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_start_has_a_number() {
        assert_eq!(number("ffffffff-0000-4000-8000-000000000000"), i32::MAX);
        assert_eq!(number("00000000-0000-4000-8000-000000000000"), 1);
        assert_eq!((number(""), number("not a number")), (0, 0));
        assert_ne!(current(), 0);
    }
}
