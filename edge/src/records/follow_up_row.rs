//! What followed on a completed job.

use super::RowError;
use crate::scheduler::FollowUp;

/// Writes it.
pub fn encode(follow_up: &FollowUp) -> String {
    serde_json::to_string(follow_up).expect("it has text keys only and no fallible serializers")
}

/// Reads it.
///
/// # Errors
/// [`RowError`].
pub fn decode(body: &str) -> Result<FollowUp, RowError> {
    serde_json::from_str(body).map_err(|error| RowError::new("row of a follow-up", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{Attempt, JobId, StemFile, TenantId, TimestampMs};

    #[test]
    fn stems_come_back_as_they_were() {
        let (job, tenant) = (JobId::new("job_1").unwrap(), TenantId::new("acme").unwrap());
        let mut follow_up = FollowUp::new(job, tenant, Attempt(2), TimestampMs(9));
        assert_eq!(decode(&encode(&follow_up)), Ok(follow_up.clone()));
        let stem = StemFile { name: "speech.flac".into(), size: 3, sha256: "00".into() };
        assert!(follow_up.take_stems(Attempt(2), vec![stem], None));
        assert_eq!(decode(&encode(&follow_up)), Ok(follow_up));
        assert!(decode("{}").is_err());
    }
}
