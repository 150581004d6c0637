//! SHA-256 and its text.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// 32 bytes out of 64 hex digits.
pub fn sha256_from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digits = std::str::from_utf8(digits).ok()?;
        // `from_str_radix` would take a sign.
        if !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
            return None;
        }
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    Some(bytes)
}

/// Lower-case hex.
pub fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        text
    })
}

/// SHA-256 of a text, as 64 hex digits.
pub fn of_text(text: &str) -> String {
    to_hex(&Sha256::digest(text.as_bytes()))
}

/// SHA-256 of a value as JSON, as 64 hex digits: tells a request that is repeated from another one.
pub fn of_json<Value: Serialize>(value: &Value) -> Result<String, serde_json::Error> {
    Ok(to_hex(&Sha256::digest(serde_json::to_vec(value)?)))
}
