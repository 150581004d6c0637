//! How JSON of the API is read: "absent values are `null` or left out".

use serde::{Deserialize, Deserializer};

/// For fields with a default: `null` means the same as a missing field.
pub(crate) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
