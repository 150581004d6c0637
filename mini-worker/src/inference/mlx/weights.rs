//! The converted weights as MLX's arrays.

use crate::inference::engine::EngineError;
use half::f16;
use mlx_rs::Array;
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeMap;
use std::path::Path;

/// Arrays by name. Each is taken once.
pub struct Weights {
    what: String,
    arrays: BTreeMap<String, Array>,
}

impl Weights {
    /// Reads a safetensors file. The arrays hold copies in memory: MLX's own reader is lazy, and a lazy array can be
    /// computed in the thread that made it only.
    pub fn read(path: &Path) -> Result<Self, EngineError> {
        let what = path.display().to_string();
        let refused = |reason: String| EngineError::Load { what: what.clone(), reason };
        let file = std::fs::read(path).map_err(|e| refused(e.to_string()))?;
        let tensors = SafeTensors::deserialize(&file).map_err(|e| refused(e.to_string()))?;
        let mut arrays = BTreeMap::new();
        for (name, tensor) in tensors.iter() {
            let shape: Result<Vec<i32>, _> =
                tensor.shape().iter().map(|&length| i32::try_from(length)).collect();
            let shape = shape.map_err(|_| refused(format!("{name} is too large")))?;
            let data = tensor.data();
            let array = match tensor.dtype() {
                Dtype::F32 => {
                    let values: Vec<f32> =
                        data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
                    Array::from_slice(&values, &shape)
                }
                Dtype::F16 => {
                    let values: Vec<f16> =
                        data.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]])).collect();
                    Array::from_slice(&values, &shape)
                }
                other => return Err(refused(format!("{name} has numbers of the kind {other:?}"))),
            };
            arrays.insert(name.to_owned(), array);
        }
        Ok(Self { what, arrays })
    }

    /// The array of this name, which has to have this shape.
    pub fn take(&mut self, name: &str, shape: &[i32]) -> Result<Array, EngineError> {
        let unexpected = |reason: String| EngineError::UnexpectedModel { what: self.what.clone(), reason };
        let array = self.arrays.remove(name).ok_or_else(|| unexpected(format!("{name} is missing")))?;
        if array.shape() == shape {
            return Ok(array);
        }
        Err(unexpected(format!("{name} has the shape {:?}, not {shape:?}", array.shape())))
    }
}
