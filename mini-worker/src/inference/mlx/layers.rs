//! The layers of the network. Arrays are laid out batch, time, frequency, channel.

use super::weights::Weights;
use crate::inference::engine::EngineError;
use mlx_rs::error::Result as MlxResult;
use mlx_rs::ops::indexing::IndexOp;
use mlx_rs::{Array, nn, ops};

/// A convolution with a bias, rectified or not. Never padded in time: the caller gives the frames before the window along.
pub struct Convolution {
    weight: Array,
    bias: Array,
    stride: i32,
    padding: i32,
}

impl Convolution {
    /// Takes `name`.weight and `name`.bias; `shape` is output, time, frequency, input. The stride is along frequency, where
    /// zeros are padded so that the middle of the kernel meets every frequency.
    pub fn take(
        weights: &mut Weights,
        name: &str,
        shape: [i32; 4],
        stride: i32,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            weight: weights.take(&format!("{name}.weight"), &shape)?,
            bias: weights.take(&format!("{name}.bias"), &shape[..1])?,
            stride,
            padding: shape[2] / 2,
        })
    }

    /// The convolution alone.
    pub fn linear(&self, x: &Array) -> MlxResult<Array> {
        let y = ops::conv2d(x, &self.weight, (1, self.stride), (0, self.padding), None, None)?;
        ops::add(&y, &self.bias)
    }

    /// The convolution, then what is negative set to zero.
    pub fn rectified(&self, x: &Array) -> MlxResult<Array> {
        nn::relu(self.linear(x)?)
    }
}

/// A transposed convolution of three frequencies with a stride of two, rectified: it doubles the number of frequencies.
///
/// Output 2i is input i times the middle tap; output 2i + 1 is input i times the last tap plus input i + 1 times the first.
pub struct Doubling {
    taps: [Array; 3],
    bias: Array,
}

impl Doubling {
    /// Takes `name`.weight and `name`.bias of `channels` channels in and out.
    pub fn take(weights: &mut Weights, name: &str, channels: i32) -> Result<Self, EngineError> {
        let weight = weights.take(&format!("{name}.weight"), &[channels, 1, 3, channels])?;
        let tap = |k: i32| weight.index((.., 0, k, ..)).t();
        Ok(Self { taps: [tap(0), tap(1), tap(2)], bias: weights.take(&format!("{name}.bias"), &[channels])? })
    }

    /// Twice as many frequencies.
    pub fn rectified(&self, x: &Array) -> MlxResult<Array> {
        let [batch, time, frequencies, channels] = [0, 1, 2, 3].map(|axis| x.dim(axis));
        let next = ops::pad(x.index((.., .., 1.., ..)), &[(0, 0), (0, 0), (0, 1), (0, 0)], None, None)?;
        let even = x.matmul(&self.taps[1])?;
        let odd = ops::add(&x.matmul(&self.taps[2])?, &next.matmul(&self.taps[0])?)?;
        let both = ops::stack(&[even, odd], 3)?.reshape(&[batch, time, 2 * frequencies, channels])?;
        nn::relu(ops::add(&both, &self.bias)?)
    }
}

/// A scale and a bias for each channel, rectified.
pub struct Scale {
    weight: Array,
    bias: Array,
}

impl Scale {
    /// Takes `name`.weight and `name`.bias.
    pub fn take(weights: &mut Weights, name: &str, channels: i32) -> Result<Self, EngineError> {
        Ok(Self {
            weight: weights.take(&format!("{name}.weight"), &[channels])?,
            bias: weights.take(&format!("{name}.bias"), &[channels])?,
        })
    }

    /// Scales.
    pub fn rectified(&self, x: &Array) -> MlxResult<Array> {
        nn::relu(ops::add(&ops::multiply(x, &self.weight)?, &self.bias)?)
    }
}

/// A linear layer whose inputs and outputs fall into groups that do not see each other.
pub struct GroupedLinear {
    /// Group, input, output.
    weight: Array,
}

impl GroupedLinear {
    /// Takes `name`.weight: groups, inputs of each, outputs of each.
    pub fn take(weights: &mut Weights, name: &str, shape: [i32; 3]) -> Result<Self, EngineError> {
        Ok(Self { weight: weights.take(&format!("{name}.weight"), &shape)? })
    }

    /// From batch, time, all inputs to batch, time, all outputs.
    pub fn forward(&self, x: &Array) -> MlxResult<Array> {
        let [groups, inputs, outputs] = [0, 1, 2].map(|axis| self.weight.dim(axis));
        let (batch, time) = (x.dim(0), x.dim(1));
        let by_group = x.reshape(&[batch * time, groups, inputs])?.transpose_axes(&[1, 0, 2])?;
        let y = by_group.matmul(&self.weight)?.transpose_axes(&[1, 0, 2])?;
        y.reshape(&[batch, time, groups * outputs])
    }
}

/// Matrices that rows are multiplied with, one for each of several layers side by side, as they are or in fewer bits.
enum Matrices {
    /// Transposed: layer, input, output.
    Full(Array),
    /// In groups of [`QUANTISED_GROUP`] numbers with a scale and an offset each.
    Quantised { words: Array, scales: Array, offsets: Array, bits: i32 },
}

/// How many numbers share a scale: MLX's usual choice.
const QUANTISED_GROUP: i32 = 64;

impl Matrices {
    /// Of weights laid out layer, output, input.
    fn new(weights: &Array, bits: Option<i32>) -> MlxResult<Self> {
        let Some(bits) = bits else { return Ok(Self::Full(weights.transpose_axes(&[0, 2, 1])?)) };
        let (words, scales, offsets) = ops::quantize(weights, QUANTISED_GROUP, bits)?;
        Ok(Self::Quantised { words, scales, offsets, bits })
    }

    /// `addend` and the products with `rows`, whose third dimension from the end is the layer.
    fn of(&self, rows: &Array, addend: &Array) -> MlxResult<Array> {
        match self {
            Self::Full(matrices) => ops::addmm(addend, rows, matrices, None, None),
            Self::Quantised { words, scales, offsets, bits } => {
                let products =
                    ops::quantized_matmul(rows, words, scales, offsets, true, QUANTISED_GROUP, *bits)?;
                ops::add(&products, addend)
            }
        }
    }
}

/// Gated recurrent units that carry their state, several layers of one size side by side: each step is as many operations for two
/// layers as for one. (The crate's own layer carries none: its state is the same in every step.)
pub struct Gru {
    input: Matrices,
    /// From the state to the gates (update, reset), and to the new value.
    gates: Matrices,
    new: Matrices,
    /// Layer, 1, all three.
    bias: Array,
    /// 1, layer, 1, hidden.
    new_bias: Array,
    hidden: i32,
}

impl Gru {
    /// Takes `name`.input, `name`.recurrent, `name`.bias and `name`.new_bias of each of `names`, with `hidden` inputs and
    /// outputs. Gates lie in the order update, reset, new, as ONNX has them.
    pub fn take(
        weights: &mut Weights,
        names: &[&str],
        hidden: i32,
        bits: Option<i32>,
    ) -> Result<Self, EngineError> {
        let mut all = |part: &str, shape: &[i32]| -> Result<Array, EngineError> {
            let each: Result<Vec<Array>, EngineError> =
                names.iter().map(|name| weights.take(&format!("{name}.{part}"), shape)).collect();
            ops::stack(&each?, 0).map_err(|e| EngineError::Run(e.to_string()))
        };
        let input = all("input", &[3 * hidden, hidden])?;
        let recurrent = all("recurrent", &[3 * hidden, hidden])?;
        let (bias, new_bias) = (all("bias", &[3 * hidden])?, all("new_bias", &[hidden])?);
        let layers = names.len() as i32;
        let build = || -> MlxResult<Self> {
            let gru = Self {
                input: Matrices::new(&input, bits)?,
                gates: Matrices::new(&recurrent.index((.., ..2 * hidden, ..)), bits)?,
                new: Matrices::new(&recurrent.index((.., 2 * hidden.., ..)), bits)?,
                bias: bias.reshape(&[layers, 1, 3 * hidden])?,
                new_bias: new_bias.reshape(&[1, layers, 1, hidden])?,
                hidden,
            };
            Ok(gru)
        };
        build().map_err(|e| EngineError::Run(e.to_string()))
    }

    /// From layer, batch, time, inputs and the state (layer, batch, hidden) to layer, batch, time, hidden; `state` becomes
    /// that after the window.
    pub fn forward(&self, x: &Array, state: &mut Array) -> MlxResult<Array> {
        let [layers, batch, steps] = [0, 1, 2].map(|axis| x.dim(axis));
        // What comes from the input is one product for all steps.
        let rows = x.reshape(&[layers, batch * steps, self.hidden])?;
        let from_input = self.input.of(&rows, &self.bias)?;
        let from_input = from_input.reshape(&[layers, batch, steps, 3 * self.hidden])?;
        let from_input = from_input.transpose_axes(&[2, 0, 1, 3])?;
        let gates = from_input.index((.., .., .., ..2 * self.hidden)).split_equal(steps, 0)?;
        let new = from_input.index((.., .., .., 2 * self.hidden..)).split_equal(steps, 0)?;
        let shape = [1, layers, batch, self.hidden];
        let new_bias = ops::broadcast_to(&self.new_bias, &shape)?;
        let mut last = state.reshape(&shape)?;
        let mut outputs = Vec::with_capacity(gates.len());
        for (gates, new) in gates.iter().zip(&new) {
            last = self.step(gates, new, &last, &new_bias)?;
            outputs.push(last.clone());
        }
        *state = last.reshape(&[layers, batch, self.hidden])?;
        ops::concatenate(&outputs, 0)?.transpose_axes(&[1, 2, 0, 3])
    }

    /// One step, from what comes of the input.
    fn step(&self, gates: &Array, new: &Array, state: &Array, new_bias: &Array) -> MlxResult<Array> {
        let both = ops::sigmoid(self.gates.of(state, gates)?)?.split_equal(2, -1)?;
        let candidate = self.new.of(state, new_bias)?;
        let new = ops::tanh(ops::add(new, ops::multiply(&both[1], &candidate)?)?)?;
        // (1 - update) new + update state, with one product less.
        ops::add(&new, ops::multiply(&both[0], ops::subtract(state, &new)?)?)
    }
}
