//! Months of the calendar in UTC: what a quota holds for.

use std::fmt;

use chrono::{DateTime, Datelike};
use shared_protocol::TimestampMs;

/// A month in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month {
    year: u16,
    /// From 1.
    month: u8,
}

impl Month {
    /// The month in which a moment lies. A moment beyond the year 9999 counts as that year's last.
    pub fn of(at: TimestampMs) -> Self {
        let moment = i64::try_from(at.0).ok().and_then(DateTime::from_timestamp_millis);
        let parts = moment.and_then(|moment| {
            let year = u16::try_from(moment.year()).ok().filter(|year| *year <= 9999)?;
            Some(Self { year, month: u8::try_from(moment.month()).ok()? })
        });
        parts.unwrap_or(Self { year: 9999, month: 12 })
    }

    /// Reads `YYYY-MM`.
    pub fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.split_once('-')?;
        let digits = |text: &str, length| text.len() == length && text.bytes().all(|c| c.is_ascii_digit());
        if !digits(year, 4) || !digits(month, 2) {
            return None;
        }
        let read = Self { year: year.parse().ok()?, month: month.parse().ok()? };
        (read.year >= 1970 && (1..=12).contains(&read.month)).then_some(read)
    }

    /// The month after this one.
    #[must_use]
    pub fn next(self) -> Self {
        match self.month {
            12 => Self { year: self.year + 1, month: 1 },
            month => Self { month: month + 1, ..self },
        }
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::DurationMs;

    /// The last millisecond of 2026.
    const END_OF_2026: TimestampMs = TimestampMs(1_798_761_599_999);

    #[test]
    fn a_month_ends_at_midnight_utc_to_the_millisecond() {
        assert_eq!(Month::of(END_OF_2026).to_string(), "2026-12");
        assert_eq!(Month::of(END_OF_2026 + DurationMs(1)).to_string(), "2027-01");
        assert_eq!(Month::of(END_OF_2026).next(), Month::of(END_OF_2026 + DurationMs(1)));
        assert_eq!(Month::of(TimestampMs(0)).next().to_string(), "1970-02");
    }

    #[test]
    fn only_the_one_spelling_of_a_month_is_read() {
        assert_eq!(Month::parse("2026-11").map(|month| month.to_string()), Some("2026-11".into()));
        for bad in [
            "",
            "2026",
            "2026-1",
            "2026-13",
            "2026-00",
            "+026-11",
            "2026-+1",
            "1969-12",
            "2026-11-01",
            "２０２６-11",
        ] {
            assert_eq!(Month::parse(bad), None, "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_moment_has_a_month_and_never_panics(at in proptest::num::u64::ANY) {
            let month = Month::of(TimestampMs(at));
            proptest::prop_assert_eq!(Month::parse(&month.to_string()), Some(month));
        }
    }
}
