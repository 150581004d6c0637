//! What an eviction leaves behind.
//!
//! The platform makes a new object in the same isolate, and the Wasm memory of the old one is freed only when JavaScript's
//! collector gets round to it, which a Wasm heap does not hurry. A few evictions with a long queue would fill the
//! isolate. An object has at most one instance at a time, so the newest one lets go of what the one before it remembers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use super::drive::Drive;

thread_local! {
    /// The newest drive of each object.
    static NEWEST: RefCell<BTreeMap<String, Weak<Drive>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Notes the drive of an object that was just made, and frees the memory of the one before it.
pub fn succeed(object: String, drive: &Rc<Drive>) {
    let predecessor = NEWEST.with_borrow_mut(|newest| newest.insert(object, Rc::downgrade(drive)));
    if let Some(predecessor) = predecessor.and_then(|drive| drive.upgrade()) {
        predecessor.forget();
    }
}
