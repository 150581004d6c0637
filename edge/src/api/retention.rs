//! For how long the rows of ended jobs are kept.

use shared_protocol::DurationMs;

/// Name of the variable, in days.
pub const RETENTION_DAYS: &str = "RETENTION_DAYS";

/// Without the variable.
const DEFAULT_DAYS: u64 = 30;

/// Ten years: what shall be kept longer belongs into a store of the operator's own.
const MAX_DAYS: u64 = 3650;

/// Reads the variable. A day is the least: idempotency keys are remembered by the same rows, for as long.
///
/// # Errors
/// What is wrong with it. Nothing may be deleted then: a mistyped number must not cost anybody their jobs.
pub fn parse(days: Option<&str>) -> Result<DurationMs, String> {
    let days = match days.map(str::trim) {
        None => DEFAULT_DAYS,
        Some(text) => text.parse().ok().filter(|days| (1..=MAX_DAYS).contains(days)).ok_or_else(|| {
            format!("the variable {RETENTION_DAYS} is not a number of days from 1 to {MAX_DAYS}")
        })?,
    };
    Ok(DurationMs::from_secs(days * 24 * 3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_retention_deletes_nothing() {
        assert_eq!(parse(None), Ok(DurationMs::from_secs(30 * 86_400)));
        assert_eq!(parse(Some(" 7 ")), Ok(DurationMs::from_secs(7 * 86_400)));
        for bad in ["", "0", "-1", "30d", "3651", "1e3"] {
            assert!(parse(Some(bad)).is_err(), "{bad:?}");
        }
    }
}
