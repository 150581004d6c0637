//! Whether a tenant may begin something that will be charged.

use serde::{Deserialize, Serialize};
use shared_protocol::TimestampMs;

use super::month::Month;
use super::settings::TenantSettings;

/// This month's quota is used up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaExhausted {
    /// Seconds of audio charged in this month.
    pub used_seconds: f64,
    /// Seconds of audio that the tenant may have restored in a month.
    pub quota_seconds: u64,
    /// The month that begins with a new quota, `YYYY-MM`.
    pub next_month: String,
}

/// Admits work while the month's ledger is below the quota.
///
/// What runs already is not in the ledger and is not counted: it may overshoot the quota. Counting it would refuse work for
/// jobs that may yet fail and cost nothing.
///
/// # Errors
/// [`QuotaExhausted`].
pub fn admit(settings: &TenantSettings, used_seconds: f64, now: TimestampMs) -> Result<(), QuotaExhausted> {
    match settings.monthly_audio_seconds {
        Some(quota) if used_seconds >= quota as f64 => Err(QuotaExhausted {
            used_seconds,
            quota_seconds: quota,
            next_month: Month::of(now).next().to_string(),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE_IN_2026: TimestampMs = TimestampMs(1_798_761_599_999);

    fn quota(seconds: u64) -> TenantSettings {
        TenantSettings { monthly_audio_seconds: Some(seconds), ..TenantSettings::default() }
    }

    #[test]
    fn a_quota_that_is_reached_refuses_and_says_until_when() {
        assert_eq!(admit(&quota(60), 59.9, LATE_IN_2026), Ok(()));
        let refused = admit(&quota(60), 60.0, LATE_IN_2026).unwrap_err();
        assert_eq!(refused.next_month, "2027-01");
        assert_eq!((refused.used_seconds, refused.quota_seconds), (60.0, 60));
    }

    #[test]
    fn without_a_quota_nothing_is_refused_and_a_quota_of_zero_refuses_everything() {
        assert_eq!(admit(&TenantSettings::default(), 1e12, LATE_IN_2026), Ok(()));
        assert!(admit(&quota(0), 0.0, LATE_IN_2026).is_err());
    }
}
