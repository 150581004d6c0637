//! An entry of the audit log.

use super::RowError;
use crate::scheduler::AuditEntry;

/// Writes it.
pub fn encode(entry: &AuditEntry) -> String {
    serde_json::to_string(entry).expect("it has text keys only and no fallible serializers")
}

/// Reads it.
///
/// # Errors
/// [`RowError`].
pub fn decode(body: &str) -> Result<AuditEntry, RowError> {
    serde_json::from_str(body).map_err(|error| RowError::new("entry of the audit log", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::AuditOutcome;
    use shared_protocol::TimestampMs;

    #[test]
    fn an_entry_comes_back_as_it_was() {
        let entry = AuditEntry {
            request_id: "req_1".into(),
            at: TimestampMs(5),
            key_id: "ops".into(),
            action: "jobs.cancel".into(),
            target: Some("tenant=acme".into()),
            reason: "a flood".into(),
            outcome: AuditOutcome::Refused,
            refusal: Some("queue_full".into()),
            changed: Some(3),
            left: Some(4),
        };
        assert_eq!(decode(&encode(&entry)), Ok(entry));
        assert!(decode("{}").is_err());
    }
}
