//! What an operator decided about a worker.

use super::RowError;
use crate::scheduler::WorkerControl;

/// Writes it.
pub fn encode(control: &WorkerControl) -> String {
    serde_json::to_string(control).expect("it has text keys only and no fallible serializers")
}

/// Reads it.
///
/// # Errors
/// [`RowError`].
pub fn decode(body: &str) -> Result<WorkerControl, RowError> {
    serde_json::from_str(body).map_err(|error| RowError::new("row about a worker", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{TimestampMs, WorkerId};

    #[test]
    fn a_drain_and_a_bench_come_back_as_they_were() {
        let control = WorkerControl {
            worker_id: WorkerId::new("mini-1").unwrap(),
            drained: true,
            benched_until: Some(TimestampMs(5)),
            reason: "new disk".into(),
        };
        assert_eq!(decode(&encode(&control)), Ok(control));
        assert!(decode("{}").is_err());
    }
}
