//! What this isolate remembers between requests: of keys, and of how often they were used. Nobody else sees it, and it may be gone
//! at any time.

use std::cell::RefCell;

use shared_protocol::TenantId;

use crate::api::rate_limit::TokenBuckets;
use crate::api::tenants::key_cache::KeyCache;

/// Buckets of each kind: beyond that many keys or addresses at a time, whoever was quiet for longest is forgotten.
const MAX_BUCKETS: usize = 4096;

/// What is remembered.
pub struct Isolate {
    /// Answers about keys.
    pub keys: KeyCache,
    /// Requests by tenant and key.
    pub requests: TokenBuckets<(TenantId, String)>,
    /// Keys that were not valid, by the address that presented them.
    pub failures: TokenBuckets<String>,
}

thread_local! {
    static ISOLATE: RefCell<Isolate> = const {
        RefCell::new(Isolate {
            keys: KeyCache::new(),
            requests: TokenBuckets::new(MAX_BUCKETS),
            failures: TokenBuckets::new(MAX_BUCKETS),
        })
    };
}

/// Looks at it, or changes it. Never across an await, so that nobody else holds it.
pub fn with<T>(use_it: impl FnOnce(&mut Isolate) -> T) -> T {
    ISOLATE.with_borrow_mut(use_it)
}
