//! API keys: the lists of hashes that the operator sets, and the comparison of a presented key with them.

use sha2::{Digest, Sha256};
use shared_protocol::TenantId;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use crate::digest::sha256_from_hex;

/// Why a list of keys cannot be used. Says which entry, never what is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyListError {
    /// The secret is not set, or empty.
    #[error("the secret {0} holds no keys")]
    Empty(&'static str),
    /// An entry has another form.
    #[error("entry {entry} of the secret {secret} is not {form}")]
    BadEntry {
        /// Which secret.
        secret: &'static str,
        /// Which entry, from 1.
        entry: usize,
        /// What it should be.
        form: &'static str,
    },
}

/// Name of the secret with the clients' keys.
pub const CLIENT_KEYS: &str = "CLIENT_KEYS";

/// Name of the secret with the workers' keys.
pub const WORKER_KEYS: &str = "WORKER_KEYS";

/// Name of the secret with the operators' keys.
pub const ADMIN_KEYS: &str = "ADMIN_KEYS";

/// Who presented a client's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The key's name.
    pub key_id: String,
    /// Whose uploads and jobs it may touch.
    pub tenant: TenantId,
    /// Whether it allows more than looking and listening.
    pub may_write: bool,
}

/// Who presented a worker's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerKey {
    /// The key's name. Sockets carry it as a tag, so that those of a revoked key can be told.
    pub key_id: String,
}

/// Who presented an operator's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminKey {
    /// The key's name, which the audit log shows.
    pub key_id: String,
    /// Whether it allows more than looking.
    pub may_act: bool,
}

/// A list of key hashes with their holders.
#[derive(Debug, Clone)]
pub struct KeyList<Holder> {
    entries: Vec<([u8; 32], Holder)>,
}

impl KeyList<Client> {
    /// Reads `id:tenant:sha256hex` entries, or `id:tenant:read:sha256hex` for keys that only look, separated by commas or white
    /// space.
    ///
    /// # Errors
    /// [`KeyListError`]; one bad entry refuses the whole list, because half a list is a puzzle at 3 in the morning.
    pub fn parse_clients(secret: &str) -> Result<Self, KeyListError> {
        parse(CLIENT_KEYS, "id:tenant:sha256hex or id:tenant:read:sha256hex", secret, |entry| {
            let (id, rest) = entry.split_once(':')?;
            let (tenant, rest) = rest.split_once(':')?;
            let (may_write, hash) = rest.strip_prefix("read:").map_or((true, rest), |hash| (false, hash));
            let tenant = TenantId::new(tenant).ok()?;
            Some((sha256_from_hex(hash)?, Client { key_id: key_id(id)?, tenant, may_write }))
        })
    }
}

impl KeyList<WorkerKey> {
    /// Reads `id:sha256hex` entries, separated by commas or white space.
    ///
    /// # Errors
    /// As [`KeyList::parse_clients`].
    pub fn parse_workers(secret: &str) -> Result<Self, KeyListError> {
        parse(WORKER_KEYS, "id:sha256hex", secret, |entry| {
            let (id, hash) = entry.split_once(':')?;
            Some((sha256_from_hex(hash)?, WorkerKey { key_id: key_id(id)? }))
        })
    }
}

impl KeyList<AdminKey> {
    /// Reads `id:sha256hex` entries, or `id:read:sha256hex` for keys that only look, separated by commas or white space.
    ///
    /// # Errors
    /// As [`KeyList::parse_clients`].
    pub fn parse_admins(secret: &str) -> Result<Self, KeyListError> {
        parse(ADMIN_KEYS, "id:sha256hex or id:read:sha256hex", secret, |entry| {
            let (id, rest) = entry.split_once(':')?;
            let (may_act, hash) = rest.strip_prefix("read:").map_or((true, rest), |hash| (false, hash));
            Some((sha256_from_hex(hash)?, AdminKey { key_id: key_id(id)?, may_act }))
        })
    }
}

impl<Holder> KeyList<Holder> {
    /// The holder of a presented key. Every entry is compared, in constant time, so that the time taken says neither
    /// which entry matched nor how far one did.
    pub fn holder(&self, key: &str) -> Option<&Holder> {
        let presented: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        let mut found = Choice::from(0);
        let mut at = 0_u64;
        for (index, (hash, _)) in self.entries.iter().enumerate() {
            let equal = hash.as_slice().ct_eq(presented.as_slice());
            at.conditional_assign(&(index as u64), equal);
            found |= equal;
        }
        let found: bool = found.into();
        let (_, holder) = self.entries.get(usize::try_from(at).ok()?)?;
        found.then_some(holder)
    }
}

/// The key of an `Authorization: Bearer ...` header.
pub fn bearer(header: &str) -> Option<&str> {
    let (scheme, key) = header.trim().split_once(' ')?;
    let key = key.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !key.is_empty()).then_some(key)
}

/// Socket tags are at most 256 characters; 64 of a safe alphabet are enough for a name.
fn key_id(text: &str) -> Option<String> {
    let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    ((1..=64).contains(&text.len()) && text.chars().all(safe)).then(|| text.to_owned())
}

fn parse<Holder>(
    secret_name: &'static str,
    form: &'static str,
    secret: &str,
    read: impl Fn(&str) -> Option<([u8; 32], Holder)>,
) -> Result<KeyList<Holder>, KeyListError> {
    let entries = secret
        .split([',', ' ', '\t', '\r', '\n'])
        .filter(|entry| !entry.is_empty())
        .enumerate()
        .map(|(index, entry)| {
            read(entry).ok_or(KeyListError::BadEntry { secret: secret_name, entry: index + 1, form })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if entries.is_empty() {
        return Err(KeyListError::Empty(secret_name));
    }
    Ok(KeyList { entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(key: &str) -> String {
        crate::digest::of_text(key)
    }

    #[test]
    fn during_a_rotation_both_keys_work_and_no_other() {
        let secret = format!("old:acme:{}\nnew:acme:{},b:other:{}", hash("k1"), hash("k2"), hash("k3"));
        let list = KeyList::parse_clients(&secret).unwrap();
        let holder = |key: &str| list.holder(key).map(|c| (c.key_id.as_str(), c.tenant.as_str()));
        assert_eq!(holder("k1"), Some(("old", "acme")));
        assert_eq!(holder("k2"), Some(("new", "acme")));
        assert_eq!(holder("k3"), Some(("b", "other")));
        for wrong in ["", "k", "k11", "K1", &hash("k1")] {
            assert_eq!(holder(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_bad_entry_is_named_and_not_shown() {
        let good = format!("a:{}", hash("x"));
        let error = KeyList::parse_workers(&format!("{good} b:nothex")).unwrap_err();
        assert_eq!(error.to_string(), "entry 2 of the secret WORKER_KEYS is not id:sha256hex");
        assert_eq!(KeyList::parse_workers(" \n").unwrap_err(), KeyListError::Empty(WORKER_KEYS));
        assert!(KeyList::parse_clients(&format!("a:t:{}:more", hash("x"))).is_err());
        assert!(sha256_from_hex(&"+f".repeat(32)).is_none());
    }

    #[test]
    fn an_operators_key_may_act_unless_it_is_for_reading() {
        let list = KeyList::parse_admins(&format!("ops:{} board:read:{}", hash("k1"), hash("k2"))).unwrap();
        let holder = |key: &str| list.holder(key).map(|admin| (admin.key_id.as_str(), admin.may_act));
        assert_eq!(holder("k1"), Some(("ops", true)));
        assert_eq!(holder("k2"), Some(("board", false)));
        assert_eq!(holder("k3"), None);
        assert!(KeyList::parse_admins(&format!("ops:write:{}", hash("k1"))).is_err());
    }

    #[test]
    fn a_clients_key_may_write_unless_it_is_for_reading() {
        let secret = format!("app:acme:{} player:acme:read:{}", hash("k1"), hash("k2"));
        let list = KeyList::parse_clients(&secret).unwrap();
        let may_write = |key: &str| list.holder(key).map(|client| client.may_write);
        assert_eq!((may_write("k1"), may_write("k2")), (Some(true), Some(false)));
        assert!(KeyList::parse_clients(&format!("app:acme:write:{}", hash("k1"))).is_err());
    }

    #[test]
    fn the_bearer_scheme_is_read_in_any_case() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer   abc "), Some("abc"));
        for none in ["", "abc", "Basic abc", "Bearer", "Bearer  "] {
            assert_eq!(bearer(none), None, "{none:?}");
        }
    }
}
