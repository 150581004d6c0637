//! The rows of a tenant's object.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RowError;
use crate::tenant::key::KeyRow;
use crate::tenant::{ProjectEntry, TenantSettings, UsageRow};

/// A kind of row that a tenant's object keeps.
pub trait TenantRow: Serialize + DeserializeOwned {
    /// Its name in errors.
    const KIND: &'static str;
}

impl TenantRow for TenantSettings {
    const KIND: &'static str = "tenant's settings";
}

impl TenantRow for UsageRow {
    const KIND: &'static str = "row of the ledger";
}

impl TenantRow for ProjectEntry {
    const KIND: &'static str = "project in a tenant's list";
}

impl TenantRow for KeyRow {
    const KIND: &'static str = "tenant's key";
}

/// Writes a row.
pub fn encode<R: TenantRow>(row: &R) -> String {
    serde_json::to_string(row).expect("these rows have text keys only and no fallible serializers")
}

/// Reads a row.
///
/// # Errors
/// [`RowError`].
pub fn decode<R: TenantRow>(body: &str) -> Result<R, RowError> {
    serde_json::from_str(body).map_err(|error| RowError::new(R::KIND, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenant::key::tests::key;
    use crate::tenant::key_text::KeyHash;
    use crate::tenant::ledger::tests::row;
    use shared_protocol::{DurationMs, ProjectId, TimestampMs};

    fn comes_back<R: TenantRow + PartialEq + std::fmt::Debug>(row: R) {
        assert_eq!(decode(&encode(&row)), Ok(row));
        assert_eq!(decode::<R>("[").unwrap_err().kind, R::KIND);
    }

    #[test]
    fn every_row_comes_back_as_it_was() {
        comes_back(row(12.25));
        comes_back(key());
        let mut rotated = key();
        rotated.rotate(KeyHash::of("second"), DurationMs(5), TimestampMs(7));
        rotated.revoke(TimestampMs(9));
        comes_back(rotated);
        comes_back(TenantSettings { media_types: Some(vec!["audio/".into()]), ..TenantSettings::default() });
        comes_back(ProjectEntry {
            project_id: ProjectId::new("prj_1").unwrap(),
            name: "Folge 1".into(),
            created_at: TimestampMs(7),
        });
    }
}
