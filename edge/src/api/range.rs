//! Byte ranges (RFC 9110, section 14): one range, or the whole.

use std::ops::RangeInclusive;

/// Why a range cannot be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// It begins beyond the end, or asks for nothing.
    #[error("the range lies beyond the end of {size} bytes")]
    NotSatisfiable {
        /// Bytes of the whole.
        size: u64,
    },
}

/// What a `Range` header asks for, before the size is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// From an offset to another one, both included; to the end without the second.
    From(u64, Option<u64>),
    /// The last so many bytes.
    Last(u64),
}

impl ByteRange {
    /// Reads a `Range` header. `None` means: serve the whole. So the standard has it for units other than bytes and for
    /// malformed ranges; several ranges in one header may be answered with the whole too, and no player sends them.
    pub fn parse(header: &str) -> Option<Self> {
        let (unit, spec) = header.split_once('=')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (first, last) = spec.trim().split_once('-')?;
        match (first.trim(), last.trim()) {
            ("", last) => Some(Self::Last(number(last)?)),
            (first, "") => Some(Self::From(number(first)?, None)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::From(first, Some(last)))
            }
        }
    }

    /// First and last byte of this range in an object of `size` bytes.
    ///
    /// # Errors
    /// [`RangeError::NotSatisfiable`] when there is no such byte: 416.
    pub fn of(self, size: u64) -> Result<RangeInclusive<u64>, RangeError> {
        let end = size.checked_sub(1).ok_or(RangeError::NotSatisfiable { size })?;
        match self {
            Self::From(first, _) if first > end => Err(RangeError::NotSatisfiable { size }),
            Self::From(first, last) => Ok(first..=last.map_or(end, |last| last.min(end))),
            Self::Last(0) => Err(RangeError::NotSatisfiable { size }),
            Self::Last(count) => Ok(size.saturating_sub(count)..=end),
        }
    }
}

/// Digits only: `u64::from_str` would take a sign too.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|c| c.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The `Content-Range` of a 206.
pub fn content_range(range: &RangeInclusive<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start(), range.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(header: &str, size: u64) -> Option<Result<(u64, u64), RangeError>> {
        ByteRange::parse(header).map(|range| range.of(size).map(|r| (*r.start(), *r.end())))
    }

    #[test]
    fn what_players_ask_for_is_cut_to_what_is_there() {
        assert_eq!(serve("bytes=0-", 10), Some(Ok((0, 9))));
        assert_eq!(serve("bytes=0-0", 10), Some(Ok((0, 0))));
        assert_eq!(serve("bytes=3-99", 10), Some(Ok((3, 9))));
        assert_eq!(serve("bytes=-4", 10), Some(Ok((6, 9))));
        assert_eq!(serve("bytes=-99", 10), Some(Ok((0, 9))));
        assert_eq!(serve("Bytes = 9-9", 10), Some(Ok((9, 9))));
    }

    #[test]
    fn a_range_beyond_the_end_is_refused() {
        let refused = |size| Some(Err(RangeError::NotSatisfiable { size }));
        assert_eq!(serve("bytes=10-", 10), refused(10));
        assert_eq!(serve("bytes=-0", 10), refused(10));
        assert_eq!(serve("bytes=0-", 0), refused(0));
        assert_eq!(serve("bytes=18446744073709551615-", 10), refused(10));
    }

    #[test]
    fn nonsense_is_served_as_the_whole() {
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=5-3",
            "bytes=a-b",
            "bytes=+1-2",
            "items=0-1",
            "bytes=0-1,4-5",
            "bytes=99999999999999999999-",
        ] {
            assert_eq!(serve(header, 10), None, "{header:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_served_range_lies_within_the_object(header in "bytes=[0-9]{0,4}-[0-9]{0,4}", size in 0u64..5_000) {
            if let Some(Ok((first, last))) = serve(&header, size) {
                proptest::prop_assert!(first <= last && last < size);
            }
        }
    }
}
