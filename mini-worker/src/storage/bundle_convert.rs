//! Makes weights for other engines out of the published model, once per revision, and switches them in as a whole.
//!
//! What the converter makes is the same on every machine, so the manifest pins its hash like that of a download.

use super::bundle::{Bundle, BundleError};
use super::bundle_check::{check_conversion, hex};
use super::bundle_manifest::Conversion;
use super::bundle_unpack::{UnpackError, disk, staging_folder, switch_in};
use super::home::Home;
use crate::inference::deepfilternet3::weights::{ConversionError, convert, to_safetensors};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Why weights could not be converted. What was there before stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The published model is not there or not right.
    #[error(transparent)]
    Source(#[from] BundleError),
    /// The published model is another than the converter knows.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    /// The result is not the pinned one.
    #[error(
        "converting gave another {file} than it should (wanted sha256 {expected}, found {found}); nothing was installed. \
         This is a fault of this program: report it with the kind of machine"
    )]
    WrongContent {
        /// The file.
        file: String,
        /// The pinned hash.
        expected: String,
        /// The hash found.
        found: String,
    },
    /// The manifest lists a file that the converter does not make.
    #[error("the converter does not make {0}")]
    UnknownFile(String),
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] UnpackError),
}

/// Converts unless every file is there and right. True when something was done.
pub fn convert_bundle(home: &Home, conversion: &Conversion) -> Result<bool, ConvertError> {
    if check_conversion(home, conversion).iter().all(|file| file.state.is_right()) {
        return Ok(false);
    }
    let bundle = Bundle::open(home)?;
    let read = |path: &Path| std::fs::read(path).map_err(disk(path));
    let weights =
        convert(&read(bundle.encoder())?, &read(bundle.erb_decoder())?, &read(bundle.df_decoder())?)?;
    let target = home.root().join(&conversion.folder);
    let staging = staging_folder(home, &target)?;
    for file in &conversion.files {
        let halves = match file.name.as_str() {
            "float32.safetensors" => false,
            "float16.safetensors" => true,
            other => return Err(ConvertError::UnknownFile(other.to_owned())),
        };
        let content = to_safetensors(&weights, halves)?;
        let found = hex(&Sha256::digest(&content));
        if found != file.sha256 {
            let expected = file.sha256.clone();
            return Err(ConvertError::WrongContent { file: file.name.clone(), expected, found });
        }
        let path = staging.join(&file.name);
        let written = File::create(&path).and_then(|mut output| {
            output.write_all(&content)?;
            output.sync_all()
        });
        written.map_err(disk(&path))?;
    }
    switch_in(home, &staging, &target)?;
    Ok(true)
}
