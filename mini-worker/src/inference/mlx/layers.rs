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

/// A matrix that rows are multiplied with, as it is or in fewer bits.
enum Matrix {
    /// Transposed: input, output.
    Full(Array),
    /// In groups of [`QUANTISED_GROUP`] numbers with a scale and an offset each.
    Quantised { words: Array, scales: Array, offsets: Array, bits: i32 },
}

/// How many numbers share a scale: MLX's usual choice.
const QUANTISED_GROUP: i32 = 64;

impl Matrix {
    fn new(weight: &Array, bits: Option<i32>) -> MlxResult<Self> {
        let Some(bits) = bits else { return Ok(Self::Full(weight.t())) };
        let (words, scales, offsets) = ops::quantize(weight, QUANTISED_GROUP, bits)?;
        Ok(Self::Quantised { words, scales, offsets, bits })
    }

    fn of(&self, rows: &Array) -> MlxResult<Array> {
        match self {
            Self::Full(matrix) => rows.matmul(matrix),
            Self::Quantised { words, scales, offsets, bits } => {
                ops::quantized_matmul(rows, words, scales, offsets, true, QUANTISED_GROUP, *bits)
            }
        }
    }
}

/// A gated recurrent unit that carries its state. (The crate's own layer does not: its state is the same in every step.)
pub struct Gru {
    input: Matrix,
    recurrent: Matrix,
    bias: Array,
    new_bias: Array,
    hidden: i32,
}

impl Gru {
    /// Takes `name`.input, `name`.recurrent, `name`.bias and `name`.new_bias, with `hidden` inputs and outputs.
    pub fn take(
        weights: &mut Weights,
        name: &str,
        hidden: i32,
        bits: Option<i32>,
    ) -> Result<Self, EngineError> {
        let mut matrix = |part: &str| -> Result<Matrix, EngineError> {
            let weight = weights.take(&format!("{name}.{part}"), &[3 * hidden, hidden])?;
            Matrix::new(&weight, bits).map_err(|e| EngineError::Run(e.to_string()))
        };
        Ok(Self {
            input: matrix("input")?,
            recurrent: matrix("recurrent")?,
            bias: weights.take(&format!("{name}.bias"), &[3 * hidden])?,
            new_bias: weights.take(&format!("{name}.new_bias"), &[hidden])?,
            hidden,
        })
    }

    /// From batch, time, inputs and the state (batch, hidden) to batch, time, hidden; `state` becomes that after the window.
    pub fn forward(&self, x: &Array, state: &mut Array) -> MlxResult<Array> {
        // What comes from the input is one product for all steps.
        let from_input = ops::add(&self.input.of(x)?, &self.bias)?;
        let mut outputs = Vec::new();
        for step in 0..x.dim(1) {
            *state = self.step(&from_input.index((.., step, ..)), state)?;
            outputs.push(state.clone());
        }
        ops::stack(&outputs, 1)
    }

    /// One step. Gates lie in the order update, reset, new, as ONNX has them.
    fn step(&self, from_input: &Array, state: &Array) -> MlxResult<Array> {
        let (gates, all) = (2 * self.hidden, 3 * self.hidden);
        let from_state = self.recurrent.of(state)?;
        let both = ops::add(from_input.index((.., ..gates)), from_state.index((.., ..gates)))?;
        let both = ops::sigmoid(&both)?;
        let (update, reset) = (both.index((.., ..self.hidden)), both.index((.., self.hidden..)));
        let candidate = ops::add(from_state.index((.., gates..all)), &self.new_bias)?;
        let new = ops::add(from_input.index((.., gates..all)), &ops::multiply(&reset, &candidate)?)?;
        let new = ops::tanh(&new)?;
        // (1 - update) new + update state, with one product less.
        ops::add(&new, &ops::multiply(&update, &ops::subtract(state, &new)?)?)
    }
}
