//! Keys for a test's edge, and the secrets that make the edge know them.

use sha2::{Digest, Sha256};

/// A bearer key of somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(pub &'static str);

/// Every key that a test's edge accepts.
#[derive(Debug)]
pub struct Keys;

impl Keys {
    /// A client of the tenant `acme`.
    pub const ACME: Key = Key("test-client-key-of-acme");
    /// A second key of the same tenant, as there is one during a rotation.
    pub const ACME_NEXT: Key = Key("test-client-key-of-acme-next");
    /// A client of another tenant.
    pub const OTHER: Key = Key("test-client-key-of-other");
    /// A worker.
    pub const WORKER: Key = Key("test-worker-key");
    /// An operator.
    pub const ADMIN: Key = Key("test-admin-key");
    /// Somebody who may look at everything and touch nothing.
    pub const ADMIN_READER: Key = Key("test-admin-key-for-reading");
    /// A key that nobody has.
    pub const WRONG: Key = Key("test-key-of-nobody");

    /// The secrets as the edge reads them: name and text.
    pub fn secrets() -> Vec<(&'static str, String)> {
        vec![
            (
                "CLIENT_KEYS",
                format!(
                    "acme-1:acme:{}, acme-2:acme:{}\nother-1:other:{}",
                    Self::ACME.hash(),
                    Self::ACME_NEXT.hash(),
                    Self::OTHER.hash()
                ),
            ),
            ("WORKER_KEYS", format!("fleet-1:{}", Self::WORKER.hash())),
            ("ADMIN_KEYS", format!("ops-1:{}, board:read:{}", Self::ADMIN.hash(), Self::ADMIN_READER.hash())),
            ("TICKET_KEYS", format!("k1:{}", hex(&Sha256::digest(b"test ticket key")))),
        ]
    }
}

impl Key {
    /// The value of the `Authorization` header.
    pub fn bearer(self) -> String {
        format!("Bearer {}", self.0)
    }

    fn hash(self) -> String {
        hex(&Sha256::digest(self.0.as_bytes()))
    }
}

/// Lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
