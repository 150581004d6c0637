//! What belongs to a tenant: its limits, its keys, the ledger of what it used, its projects. Pure; `shell/tenant_do` keeps it.

pub mod key;
pub mod key_text;
pub mod ledger;
pub mod month;
pub mod projects;
pub mod quota;
pub mod settings;

pub use key_text::KeyId;
pub use ledger::UsageRow;
pub use month::Month;
pub use projects::{ProjectEntry, ProjectPage};
pub use quota::QuotaExhausted;
pub use settings::TenantSettings;
