//! What is stored beside the bytes of an upload.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::RowError;

/// The custom field of the object that carries it. Storage keeps fields as headers, so the text is encoded.
pub const FIELD: &str = "upload";

/// Kept with an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UploadMetadata {
    /// The recording's name.
    pub name: String,
    /// Media type as its client gave it.
    pub content_type: String,
}

/// Writes it.
pub fn encode(metadata: &UploadMetadata) -> String {
    let json = serde_json::to_vec(metadata).expect("two texts serialize without fail");
    URL_SAFE_NO_PAD.encode(json)
}

/// Reads it.
///
/// # Errors
/// [`RowError`].
pub fn decode(text: &str) -> Result<UploadMetadata, RowError> {
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|error| RowError::new("metadata of an upload", error))?;
    serde_json::from_slice(&json).map_err(|error| RowError::new("metadata of an upload", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_any_script_comes_back_as_it_was() {
        let metadata =
            UploadMetadata { name: "日本 \"tälk\".mp3".into(), content_type: "audio/mpeg".into() };
        let text = encode(&metadata);
        assert!(text.is_ascii());
        assert_eq!(decode(&text), Ok(metadata));
        assert!(decode("%").is_err());
    }
}
