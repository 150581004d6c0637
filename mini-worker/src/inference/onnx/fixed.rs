//! A graph whose inputs and outputs always lie at the same places: what a GPU needs so that the whole run can be captured once
//! and replayed, instead of every operator being launched from the processor each time.

use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, Session};
use ort::value::Tensor;
use std::collections::BTreeMap;

/// Where inputs and outputs lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The first NVIDIA GPU.
    Cuda,
    /// The processor: to show that fixed places change nothing.
    Processor,
}

/// The graph with its places.
pub struct FixedGraph {
    session: Session,
    binding: IoBinding,
    inputs: BTreeMap<&'static str, (Vec<usize>, Tensor<f32>)>,
    outputs: BTreeMap<&'static str, Tensor<f32>>,
}

/// A name and a shape.
pub type Named = (&'static str, Vec<usize>);

impl FixedGraph {
    /// Takes places for inputs and outputs of these shapes.
    pub fn new(session: Session, place: Place, inputs: &[Named], outputs: &[Named]) -> ort::Result<Self> {
        let allocator = match place {
            Place::Processor => Allocator::default(),
            Place::Cuda => {
                let memory =
                    MemoryInfo::new(AllocationDevice::CUDA, 0, AllocatorType::Device, MemoryType::Default)?;
                Allocator::new(&session, memory)?
            }
        };
        let mut binding = session.create_binding()?;
        let mut places = (BTreeMap::new(), BTreeMap::new());
        for (name, shape) in inputs {
            let tensor = Tensor::<f32>::new(&allocator, shape.clone())?;
            binding.bind_input(*name, &tensor)?;
            places.0.insert(*name, (shape.clone(), tensor));
        }
        for (name, shape) in outputs {
            let mut tensor = Tensor::<f32>::new(&allocator, shape.clone())?;
            binding.bind_output(*name, &mut tensor)?;
            places.1.insert(*name, tensor);
        }
        Ok(Self { session, binding, inputs: places.0, outputs: places.1 })
    }

    /// Puts the inputs in their places, runs, and gives back copies of all outputs.
    pub fn run(
        &mut self,
        inputs: &[(&'static str, &[f32])],
    ) -> ort::Result<BTreeMap<&'static str, Vec<f32>>> {
        for (name, values) in inputs {
            let (shape, place) = self
                .inputs
                .get_mut(name)
                .ok_or_else(|| ort::Error::new(format!("the graph has no place for {name}")))?;
            let values = Tensor::from_array((shape.clone(), values.to_vec()))?;
            values.copy_into(place)?;
        }
        self.session.run_binding(&self.binding)?;
        let mut copies = BTreeMap::new();
        for (name, place) in &self.outputs {
            let here = place.to(AllocationDevice::CPU, 0)?;
            copies.insert(*name, here.extract_tensor().1.to_vec());
        }
        Ok(copies)
    }
}
