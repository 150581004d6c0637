//! Cuts the byte stream of a fragmented MP4 (ISO/IEC 14496-12) into its head and its fragments, and reads how long each
//! fragment is from its own samples. Pure.

use bytes::{Bytes, BytesMut};

/// Larger boxes are not in a stream of ours: a fragment of one second of AAC has 24 KB.
const MAX_BOX_BYTES: u64 = 16 * 1024 * 1024;

/// Why a stream cannot be cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fmp4Error {
    /// A box says that it is shorter than its own header, or far too large.
    #[error("a box of {0} bytes")]
    BoxSize(u64),
    /// A fragment before the head, or media data without its `moof`.
    #[error("{0} where it does not belong")]
    Misplaced(&'static str),
    /// Something that has to be in a box is not in it.
    #[error("no {0}")]
    Missing(&'static str),
    /// The stream ended in the middle of a box.
    #[error("the stream ends within a box")]
    Truncated,
}

/// A part of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// `ftyp` and `moov`: what a player needs before any fragment.
    Init {
        /// Its bytes.
        data: Bytes,
    },
    /// `moof` and `mdat`.
    Fragment {
        /// Its bytes.
        data: Bytes,
        /// Length in units of [`Fmp4Cutter::timescale`].
        duration: u64,
    },
}

/// Takes bytes as they come and gives parts as they become whole.
#[derive(Debug, Default)]
pub struct Fmp4Cutter {
    waiting: BytesMut,
    ftyp: Option<Bytes>,
    head: Option<Head>,
    moof: Option<(Bytes, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Head {
    timescale: u32,
    default_sample_duration: u32,
}

impl Fmp4Cutter {
    /// Units per second of the durations, once the head has come.
    pub fn timescale(&self) -> Option<u32> {
        self.head.map(|head| head.timescale)
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// When they are not fragmented MP4 of one track.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Part>, Fmp4Error> {
        self.waiting.extend_from_slice(bytes);
        let mut parts = Vec::new();
        while let Some((header, size)) = box_header(&self.waiting)? {
            if (self.waiting.len() as u64) < size {
                break;
            }
            let whole = self.waiting.split_to(size as usize).freeze();
            parts.extend(self.take_box(header, whole)?);
        }
        Ok(parts)
    }

    /// Says that the stream has ended.
    ///
    /// # Errors
    /// When it ended in the middle of something.
    pub fn finish(&self) -> Result<(), Fmp4Error> {
        if self.waiting.is_empty() && self.moof.is_none() { Ok(()) } else { Err(Fmp4Error::Truncated) }
    }

    fn take_box(&mut self, header: Header, whole: Bytes) -> Result<Option<Part>, Fmp4Error> {
        match &header.kind {
            b"ftyp" => {
                self.ftyp = Some(whole);
                Ok(None)
            }
            b"moov" => {
                let ftyp = self.ftyp.take().ok_or(Fmp4Error::Misplaced("moov before ftyp"))?;
                self.head = Some(read_head(&whole[header.length..])?);
                Ok(Some(Part::Init { data: joined(&ftyp, &whole) }))
            }
            b"moof" => {
                let head = self.head.ok_or(Fmp4Error::Misplaced("moof before moov"))?;
                let duration = fragment_duration(&whole[header.length..], head.default_sample_duration)?;
                self.moof = Some((whole, duration));
                Ok(None)
            }
            b"mdat" => {
                let (moof, duration) = self.moof.take().ok_or(Fmp4Error::Misplaced("mdat without moof"))?;
                Ok(Some(Part::Fragment { data: joined(&moof, &whole), duration }))
            }
            // Indexes and padding between the fragments: players of segments do without.
            _ => Ok(None),
        }
    }
}

fn joined(first: &Bytes, second: &Bytes) -> Bytes {
    let mut all = BytesMut::with_capacity(first.len() + second.len());
    all.extend_from_slice(first);
    all.extend_from_slice(second);
    all.freeze()
}

#[derive(Debug, Clone, Copy)]
struct Header {
    kind: [u8; 4],
    /// Bytes of the header itself.
    length: usize,
}

/// The header of the box that begins here and the size of the whole box; none when more bytes are needed.
fn box_header(bytes: &[u8]) -> Result<Option<(Header, u64)>, Fmp4Error> {
    let (Some(short), Some(kind)) = (number(bytes, 0), bytes.get(4..8)) else { return Ok(None) };
    let kind = [kind[0], kind[1], kind[2], kind[3]];
    let (length, size) = match short {
        1 => match (number(bytes, 8), number(bytes, 12)) {
            (Some(high), Some(low)) => (16, (u64::from(high) << 32) | u64::from(low)),
            _ => return Ok(None),
        },
        short => (8, u64::from(short)),
    };
    if size < length as u64 || size > MAX_BOX_BYTES {
        return Err(Fmp4Error::BoxSize(size));
    }
    Ok(Some((Header { kind, length }, size)))
}

/// The big-endian number at an offset.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(u32::from_be_bytes(four))
}

/// The bodies of the boxes of one kind directly in `container`.
fn children<'a>(container: &'a [u8], kind: &[u8; 4]) -> Vec<&'a [u8]> {
    let mut found = Vec::new();
    let mut rest = container;
    while let Ok(Some((header, size))) = box_header(rest) {
        let Some(whole) = rest.get(..size as usize) else { break };
        if header.kind == *kind {
            found.push(&whole[header.length..]);
        }
        rest = &rest[size as usize..];
    }
    found
}

fn child<'a>(container: &'a [u8], kind: &[u8; 4], name: &'static str) -> Result<&'a [u8], Fmp4Error> {
    children(container, kind).first().copied().ok_or(Fmp4Error::Missing(name))
}

fn read_head(moov: &[u8]) -> Result<Head, Fmp4Error> {
    let trak = child(moov, b"trak", "trak")?;
    let mdhd = child(child(trak, b"mdia", "mdia")?, b"mdhd", "mdhd")?;
    // Version 1 has two times of 8 bytes each before the timescale, version 0 of 4 bytes.
    let timescale_at = if mdhd.first() == Some(&1) { 20 } else { 12 };
    let timescale = number(mdhd, timescale_at).filter(|t| *t > 0).ok_or(Fmp4Error::Missing("timescale"))?;
    let trex = children(moov, b"mvex").first().and_then(|mvex| children(mvex, b"trex").first().copied());
    let default_sample_duration = trex.and_then(|trex| number(trex, 12)).unwrap_or(0);
    Ok(Head { timescale, default_sample_duration })
}

/// The sum of the durations of a fragment's samples: each from `trun`, else from `tfhd`, else from `trex`.
fn fragment_duration(moof: &[u8], default_of_trex: u32) -> Result<u64, Fmp4Error> {
    let mut total = 0;
    let traf = child(moof, b"traf", "traf")?;
    let tfhd = child(traf, b"tfhd", "tfhd")?;
    let default = default_of_tfhd(tfhd)?.unwrap_or(default_of_trex);
    for trun in children(traf, b"trun") {
        total += run_duration(trun, default)?;
    }
    Ok(total)
}

fn flags_of(body: &[u8]) -> Result<u32, Fmp4Error> {
    Ok(number(body, 0).ok_or(Fmp4Error::Truncated)? & 0x00ff_ffff)
}

fn default_of_tfhd(tfhd: &[u8]) -> Result<Option<u32>, Fmp4Error> {
    let flags = flags_of(tfhd)?;
    if flags & 0x8 == 0 {
        return Ok(None);
    }
    // Flags and version, track id, then what comes before when it is there.
    let mut at = 8;
    at += if flags & 0x1 != 0 { 8 } else { 0 };
    at += if flags & 0x2 != 0 { 4 } else { 0 };
    number(tfhd, at).map(Some).ok_or(Fmp4Error::Truncated)
}

fn run_duration(trun: &[u8], default: u32) -> Result<u64, Fmp4Error> {
    let flags = flags_of(trun)?;
    let count = number(trun, 4).ok_or(Fmp4Error::Truncated)?;
    if flags & 0x100 == 0 {
        return Ok(u64::from(count) * u64::from(default));
    }
    let mut at = 8;
    at += if flags & 0x1 != 0 { 4 } else { 0 };
    at += if flags & 0x4 != 0 { 4 } else { 0 };
    let fields = [0x100, 0x200, 0x400, 0x800].iter().filter(|flag| flags & **flag != 0).count();
    let mut total = 0;
    for _ in 0..count {
        total += u64::from(number(trun, at).ok_or(Fmp4Error::Truncated)?);
        at += fields * 4;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3.1 s of AAC in fragments of at least one second, as ffmpeg writes it to a pipe with the worker's arguments.
    const RECORDED: &[u8] = include_bytes!("../../tests/fixtures/aac-3s.mp4");

    fn cut(piece: usize) -> Vec<Part> {
        let mut cutter = Fmp4Cutter::default();
        let parts = RECORDED.chunks(piece).flat_map(|bytes| cutter.push(bytes).unwrap()).collect();
        cutter.finish().unwrap();
        assert_eq!(cutter.timescale(), Some(48_000));
        parts
    }

    #[test]
    fn a_recorded_stream_is_cut_into_head_and_fragments_however_its_bytes_arrive() {
        let parts = cut(usize::MAX);
        let durations: Vec<u64> = parts
            .iter()
            .filter_map(|part| match part {
                Part::Fragment { duration, .. } => Some(*duration),
                Part::Init { .. } => None,
            })
            .collect();
        assert!(matches!(&parts[0], Part::Init { data } if &data[4..8] == b"ftyp"));
        assert_eq!(durations[..2], [47 * 1024, 47 * 1024], "frames of 1,024 samples, 47 of them in a second");
        let total: u64 = durations.iter().sum();
        assert!(
            (148_800..=148_800 + 2_048).contains(&total),
            "3.1 s and at most two frames of padding: {total}"
        );
        for piece in [1, 7, 1_000] {
            assert_eq!(cut(piece), parts);
        }
    }

    #[test]
    fn a_stream_cut_off_is_an_error_and_no_end() {
        let mut cutter = Fmp4Cutter::default();
        cutter.push(&RECORDED[..RECORDED.len() - 300]).unwrap();
        assert_eq!(cutter.finish(), Err(Fmp4Error::Truncated));
    }

    #[test]
    fn other_bytes_are_an_error() {
        let mut cutter = Fmp4Cutter::default();
        assert!(cutter.push(b"RIFF\x00\x00\x00\x00WAVEfmt ").is_err());
        let mut cutter = Fmp4Cutter::default();
        assert_eq!(
            cutter.push(&[0, 0, 0, 8, b'm', b'd', b'a', b't']),
            Err(Fmp4Error::Misplaced("mdat without moof"))
        );
        let mut cutter = Fmp4Cutter::default();
        assert_eq!(cutter.push(&[0, 0, 0, 3, b'f', b'r', b'e', b'e']), Err(Fmp4Error::BoxSize(3)));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300), at in 0usize..2_000) {
            let mut broken = RECORDED[..3_000].to_vec();
            let end = (at + bytes.len()).min(broken.len());
            broken[at..end].copy_from_slice(&bytes[..end - at]);
            let mut cutter = Fmp4Cutter::default();
            if cutter.push(&broken).is_ok() {
                assert!(cutter.finish().is_err() || broken != RECORDED);
            }
        }
    }
}
