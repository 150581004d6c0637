//! The numbers in an ONNX file: what each node of the graph computes with.
//!
//! Field numbers are those of `onnx.proto` (<https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>).

use super::protobuf::{Field, WireError, fields, require};
use std::collections::BTreeMap;

mod model_proto {
    pub const GRAPH: u32 = 7;
}
mod graph_proto {
    pub const NODE: u32 = 1;
    pub const INITIALIZER: u32 = 5;
}
mod node_proto {
    pub const INPUT: u32 = 1;
    pub const OUTPUT: u32 = 2;
    pub const NAME: u32 = 3;
    pub const OP_TYPE: u32 = 4;
    pub const ATTRIBUTE: u32 = 5;
}
mod attribute_proto {
    pub const TENSOR: u32 = 5;
}
mod tensor_proto {
    pub const DIMS: u32 = 1;
    pub const DATA_TYPE: u32 = 2;
    pub const NAME: u32 = 8;
    pub const RAW_DATA: u32 = 9;
    /// `TensorProto.DataType.FLOAT`
    pub const FLOAT: u64 = 1;
}

/// Numbers in 32 bits, the last dimension running fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// The lengths of its dimensions.
    pub shape: Vec<usize>,
    /// As many as the shape says.
    pub values: Vec<f32>,
}

/// A graph's nodes by name, and their constant inputs.
#[derive(Debug, Default)]
pub struct Constants {
    tensors: BTreeMap<String, Tensor>,
    inputs: BTreeMap<String, Vec<String>>,
}

/// Why an input of a node could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum TensorError {
    /// The file is damaged.
    #[error("the file is not a valid ONNX model: {0}")]
    Malformed(#[from] WireError),
    /// No node of this name.
    #[error("it has no node {0}")]
    NoNode(String),
    /// The node's input is not a constant in 32 bits.
    #[error("input {input} of node {node} is not a constant of 32-bit numbers")]
    NotConstant {
        /// The node.
        node: String,
        /// Its input, counted from 0.
        input: usize,
    },
    /// The numbers do not fill the shape.
    #[error("tensor {name} has {bytes} bytes for the shape {shape:?}")]
    Length {
        /// The tensor.
        name: String,
        /// Bytes found.
        bytes: usize,
        /// The shape.
        shape: Vec<usize>,
    },
}

impl Constants {
    /// Reads a model.
    pub fn read(model: &[u8]) -> Result<Self, TensorError> {
        let mut found = Self::default();
        let graph = require(&fields(model)?, model_proto::GRAPH)?.message()?;
        for field in &graph {
            match field.number {
                graph_proto::INITIALIZER => {
                    let tensor = field.message()?;
                    let name = require(&tensor, tensor_proto::NAME)?.text()?.to_owned();
                    found.insert(name, &tensor)?;
                }
                graph_proto::NODE => found.read_node(&field.message()?)?,
                _ => {}
            }
        }
        Ok(found)
    }

    fn read_node(&mut self, node: &[Field<'_>]) -> Result<(), TensorError> {
        let texts = |number| node.iter().filter(move |part| part.number == number).map(Field::text);
        if texts(node_proto::OP_TYPE).next().transpose()? == Some("Constant") {
            let attribute = node.iter().find(|part| part.number == node_proto::ATTRIBUTE);
            let attribute = attribute.map(Field::message).transpose()?.unwrap_or_default();
            let tensor = attribute.iter().find(|part| part.number == attribute_proto::TENSOR);
            if let (Some(output), Some(tensor)) = (texts(node_proto::OUTPUT).next().transpose()?, tensor) {
                self.insert(output.to_owned(), &tensor.message()?)?;
            }
        } else if let Some(name) = texts(node_proto::NAME).next().transpose()? {
            let inputs: Result<Vec<_>, _> =
                texts(node_proto::INPUT).map(|text| text.map(str::to_owned)).collect();
            self.inputs.insert(name.to_owned(), inputs?);
        }
        Ok(())
    }

    /// Tensors of other kinds of numbers are shapes and indices: nothing that this program computes with.
    fn insert(&mut self, name: String, tensor: &[Field<'_>]) -> Result<(), TensorError> {
        if require(tensor, tensor_proto::DATA_TYPE)?.number()? != tensor_proto::FLOAT {
            return Ok(());
        }
        let Some(raw) = tensor.iter().find(|part| part.number == tensor_proto::RAW_DATA) else {
            return Ok(());
        };
        let dimensions = tensor.iter().filter(|part| part.number == tensor_proto::DIMS);
        let shape: Result<Vec<usize>, WireError> =
            dimensions.map(|part| part.number().map(|n| usize::try_from(n).unwrap_or(usize::MAX))).collect();
        let shape = shape?;
        let count = shape.iter().try_fold(4usize, |bytes, &length| bytes.checked_mul(length));
        if count != Some(raw.payload.len()) {
            return Err(TensorError::Length { name, bytes: raw.payload.len(), shape });
        }
        let values =
            raw.payload.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        self.tensors.insert(name, Tensor { shape, values });
        Ok(())
    }

    /// The constant that a node has as its input of this place.
    pub fn of(&self, node: &str, input: usize) -> Result<&Tensor, TensorError> {
        let inputs = self.inputs.get(node).ok_or_else(|| TensorError::NoNode(node.to_owned()))?;
        let tensor = inputs.get(input).and_then(|name| self.tensors.get(name));
        tensor.ok_or_else(|| TensorError::NotConstant { node: node.to_owned(), input })
    }
}

#[cfg(test)]
mod tests {
    use super::super::protobuf::{write_bytes, write_number};
    use super::*;

    fn tensor(name: &str, shape: &[u64], bytes: &[u8]) -> Vec<u8> {
        let mut tensor = Vec::new();
        for &length in shape {
            write_number(&mut tensor, tensor_proto::DIMS, length);
        }
        write_number(&mut tensor, tensor_proto::DATA_TYPE, tensor_proto::FLOAT);
        write_bytes(&mut tensor, tensor_proto::NAME, name.as_bytes());
        write_bytes(&mut tensor, tensor_proto::RAW_DATA, bytes);
        tensor
    }

    fn model(weight: &[u8]) -> Vec<u8> {
        let mut graph = Vec::new();
        let mut constant = Vec::new();
        write_bytes(&mut constant, node_proto::OUTPUT, b"b");
        write_bytes(&mut constant, node_proto::OP_TYPE, b"Constant");
        let mut attribute = Vec::new();
        write_bytes(&mut attribute, attribute_proto::TENSOR, &tensor("", &[1], &3.5f32.to_le_bytes()));
        write_bytes(&mut constant, node_proto::ATTRIBUTE, &attribute);
        write_bytes(&mut graph, graph_proto::NODE, &constant);
        let mut node = Vec::new();
        for input in ["x", "w", "b"] {
            write_bytes(&mut node, node_proto::INPUT, input.as_bytes());
        }
        write_bytes(&mut node, node_proto::NAME, b"/layer/Conv");
        write_bytes(&mut node, node_proto::OP_TYPE, b"Conv");
        write_bytes(&mut graph, graph_proto::NODE, &node);
        write_bytes(&mut graph, graph_proto::INITIALIZER, &tensor("w", &[1, 2], weight));
        let mut model = Vec::new();
        write_bytes(&mut model, model_proto::GRAPH, &graph);
        model
    }

    #[test]
    fn a_nodes_weights_are_found_whether_they_are_initializers_or_constants() {
        let weight: Vec<u8> = [1.0f32, -2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let constants = Constants::read(&model(&weight)).unwrap();
        let found = constants.of("/layer/Conv", 1).unwrap();
        assert_eq!(
            (found.shape.as_slice(), found.values.as_slice()),
            ([1, 2].as_slice(), [1.0, -2.0].as_slice())
        );
        assert_eq!(constants.of("/layer/Conv", 2).unwrap().values, [3.5]);
        assert_eq!(
            constants.of("/layer/Conv", 0),
            Err(TensorError::NotConstant { node: "/layer/Conv".into(), input: 0 })
        );
        assert_eq!(constants.of("/other", 0), Err(TensorError::NoNode("/other".into())));
    }

    #[test]
    fn numbers_that_do_not_fill_their_shape_are_refused() {
        let error = Constants::read(&model(&[0; 7])).unwrap_err();
        assert_eq!(error.to_string(), "tensor w has 7 bytes for the shape [1, 2]");
    }
}
