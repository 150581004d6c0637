//! The row about the scheduler as a whole.

use super::RowError;
use crate::scheduler::Meta;

/// Writes it.
pub fn encode(meta: &Meta) -> String {
    serde_json::to_string(meta)
        .expect("its map keys are names of classes, and it has no fallible serializers")
}

/// Reads it.
///
/// # Errors
/// [`RowError`].
pub fn decode(body: &str) -> Result<Meta, RowError> {
    serde_json::from_str(body).map_err(|error| RowError::new("row about the scheduler", error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{Priority, TenantId};

    #[test]
    fn pauses_and_the_order_of_the_queue_come_back_as_they_were() {
        let mut meta = Meta { last_sequence: 9, paused: true, ..Meta::default() };
        meta.paused_tenants.insert(TenantId::new("acme").unwrap());
        meta.clock.virtual_time.insert(Priority::High, 61_000);
        meta.clock.aged_turn = true;
        assert_eq!(decode(&encode(&meta)), Ok(meta));
        assert_eq!(decode("{}"), Ok(Meta::default()), "an older release's");
        assert!(decode("[").is_err());
    }
}
