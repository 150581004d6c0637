//! The one sound format of the recordings: 48 kHz, 32-bit float WAV.

use super::RecordingsError;
use std::io::Write;
use std::path::Path;

/// Samples per second of every recording.
pub const SAMPLE_RATE: u32 = 48_000;

/// Bytes before the samples: RIFF, `fmt ` with an extension length, `fact`, `data`.
const HEADER_BYTES: u32 = 58;

/// Writes interleaved samples as a 48 kHz float WAV. The file appears whole or not at all.
pub fn write(path: &Path, channels: u16, interleaved: &[f32]) -> Result<(), RecordingsError> {
    let disk = |source| RecordingsError::Disk { path: path.to_owned(), source };
    let bytes = u32::try_from(interleaved.len() * 4)
        .map_err(|_| disk(std::io::Error::from(std::io::ErrorKind::FileTooLarge)))?;
    let frame = channels * 4;
    let mut out = Vec::with_capacity(bytes as usize + HEADER_BYTES as usize);
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&(HEADER_BYTES - 8 + bytes).to_le_bytes());
    out.extend_from_slice(b"WAVEfmt ");
    out.extend_from_slice(&18u32.to_le_bytes());
    out.extend_from_slice(&3u16.to_le_bytes());
    out.extend_from_slice(&channels.to_le_bytes());
    out.extend_from_slice(&SAMPLE_RATE.to_le_bytes());
    out.extend_from_slice(&(SAMPLE_RATE * u32::from(frame)).to_le_bytes());
    out.extend_from_slice(&frame.to_le_bytes());
    out.extend_from_slice(&32u16.to_le_bytes());
    out.extend_from_slice(&0u16.to_le_bytes());
    out.extend_from_slice(b"fact");
    out.extend_from_slice(&4u32.to_le_bytes());
    out.extend_from_slice(&((interleaved.len() / usize::from(channels)) as u32).to_le_bytes());
    out.extend_from_slice(b"data");
    out.extend_from_slice(&bytes.to_le_bytes());
    for sample in interleaved {
        out.extend_from_slice(&sample.to_le_bytes());
    }
    let partial = path.with_extension("wav.partial");
    std::fs::File::create(&partial).and_then(|mut file| file.write_all(&out)).map_err(disk)?;
    std::fs::rename(&partial, path).map_err(disk)
}

/// Reads a file that [`write`] made: channels and interleaved samples.
pub fn read(path: &Path) -> Result<(u16, Vec<f32>), RecordingsError> {
    let disk = |source| RecordingsError::Disk { path: path.to_owned(), source };
    let bytes = std::fs::read(path).map_err(disk)?;
    let header = HEADER_BYTES as usize;
    let ours = bytes.len() >= header
        && &bytes[..4] == b"RIFF"
        && bytes[20..22] == [3, 0]
        && bytes[24..28] == SAMPLE_RATE.to_le_bytes()
        && &bytes[50..54] == b"data";
    if !ours {
        return Err(RecordingsError::NotOurs { path: path.to_owned() });
    }
    let channels = u16::from_le_bytes([bytes[22], bytes[23]]);
    let samples =
        bytes[header..].chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Ok((channels, samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wav");
        write(&path, 2, &[0.0, 1.5, -0.25, f32::MIN_POSITIVE]).unwrap();
        assert_eq!(read(&path).unwrap(), (2, vec![0.0, 1.5, -0.25, f32::MIN_POSITIVE]));
    }
}
