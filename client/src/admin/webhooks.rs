//! Webhooks of all tenants.

use super::Admin;
use crate::webhooks::Webhooks;

impl Admin {
    /// The webhooks of the environment, whosever they are.
    pub fn webhooks(&self) -> Webhooks {
        Webhooks::of_operator(&self.client)
    }
}
