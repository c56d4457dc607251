//! Named tensors of a safetensors file: written from slices, found in a map.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors, View};

use super::IndexError;

/// A tensor that borrows its bytes, to be written.
pub(super) struct Slice<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

impl<'a> Slice<'a> {
    pub(super) fn new<T: bytemuck::NoUninit>(
        dtype: Dtype,
        shape: Vec<usize>,
        numbers: &'a [T],
    ) -> Self {
        Self { dtype, shape, bytes: bytemuck::cast_slice(numbers) }
    }
}

impl View for Slice<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// The bytes of the file `name`.
pub(super) fn serialize<S: AsRef<str> + Ord + std::fmt::Display>(
    name: &str,
    tensors: Vec<(S, Slice<'_>)>,
) -> Result<Vec<u8>, IndexError> {
    safetensors::serialize(tensors, None)
        .map_err(|error| IndexError::Damaged { path: PathBuf::from(name), what: error.to_string() })
}

/// The tensors of a file, and where their bytes are.
#[derive(Clone, Debug)]
pub(super) struct Tensors(HashMap<String, Place>);

#[derive(Clone, Debug)]
struct Place {
    bytes: Range<usize>,
    shape: Vec<usize>,
}

impl Tensors {
    /// Fails when `bytes`, mapped from `path`, are no tensors, or not of the
    /// types that `expected` says by name.
    pub(super) fn parse(
        path: &Path,
        bytes: &[u8],
        expected: impl Fn(&str) -> Dtype,
    ) -> Result<Self, IndexError> {
        let damaged = |what: String| IndexError::Damaged { path: path.to_owned(), what };
        let parsed = SafeTensors::deserialize(bytes).map_err(|error| damaged(error.to_string()))?;
        let mut places = HashMap::new();
        for (name, view) in parsed.iter() {
            let (dtype, expected) = (view.dtype(), expected(name));
            if dtype != expected {
                return Err(damaged(format!("`{name}` is {dtype:?}, expected {expected:?}")));
            }
            let start = view.data().as_ptr().addr() - bytes.as_ptr().addr();
            let bytes = start..start + view.data().len();
            places.insert(name.to_owned(), Place { bytes, shape: view.shape().to_vec() });
        }
        Ok(Self(places))
    }

    pub(super) fn shape(&self, name: &str) -> Option<&[usize]> {
        Some(&self.0.get(name)?.shape)
    }

    /// The numbers of a tensor in `bytes`, which it was parsed from.
    pub(super) fn numbers<'a, T: bytemuck::AnyBitPattern>(
        &self,
        bytes: &'a [u8],
        name: &str,
    ) -> Option<&'a [T]> {
        bytemuck::try_cast_slice(bytes.get(self.0.get(name)?.bytes.clone())?).ok()
    }
}
