//! What the worker keeps on its disk.

pub mod bundle;
pub mod bundle_check;
pub mod bundle_convert;
pub mod bundle_fetch;
pub mod bundle_manifest;
pub mod bundle_unpack;
pub mod home;

pub use bundle::{Bundle, BundleError};
pub use home::{Home, HomeError};
