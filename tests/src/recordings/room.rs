//! Rooms: impulse responses of a box by the image source method (Allen and Berkley, 1979).

use super::wav::SAMPLE_RATE;
use serde::Deserialize;

/// Metres per second, at 20 degrees Celsius.
const SPEED_OF_SOUND: f64 = 343.0;

/// A box with a talker and a microphone. Lengths in metres.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Room {
    /// Name of the file.
    pub name: String,
    /// What it resembles.
    pub about: String,
    /// Length, width and height.
    pub size: [f64; 3],
    /// Where the mouth is.
    pub talker: [f64; 3],
    /// Where the microphone is.
    pub microphone: [f64; 3],
    /// Seconds until the sound has decayed by 60 dB.
    pub rt60: f64,
}

/// The impulse response at 48 kHz, starting with the direct sound, whose amplitude is 1.
pub fn impulse_response(room: &Room) -> Vec<f32> {
    let rate = f64::from(SAMPLE_RATE);
    let length = (room.rt60 * rate) as usize;
    let reach = room.rt60 * SPEED_OF_SOUND;
    let [lx, ly, lz] = room.size;
    let volume = lx * ly * lz;
    let surface = 2.0 * (lx * ly + lx * lz + ly * lz);
    // Sabine's formula gives the absorption; the rest of the energy is reflected.
    let absorption = (0.161 * volume / (surface * room.rt60)).min(0.99);
    let reflection = (1.0 - absorption).sqrt();
    let direct = distance(room.talker, room.microphone);

    let mut response = vec![0f64; length.max(1)];
    let images = |axis: usize| {
        let count = (reach / room.size[axis] / 2.0).ceil() as i64 + 1;
        let (size, talker, microphone) = (room.size[axis], room.talker[axis], room.microphone[axis]);
        (-count..=count).flat_map(move |k| {
            [false, true].map(|mirrored| {
                let at = 2.0 * k as f64 * size + if mirrored { -talker } else { talker };
                let bounces = (2 * k - i64::from(mirrored)).unsigned_abs();
                (at - microphone, bounces as i32)
            })
        })
    };
    let (xs, ys, zs): (Vec<_>, Vec<_>, Vec<_>) =
        (images(0).collect(), images(1).collect(), images(2).collect());
    for &(x, bx) in &xs {
        for &(y, by) in &ys {
            for &(z, bz) in &zs {
                let far = (x * x + y * y + z * z).sqrt();
                let delay = (far - direct) / SPEED_OF_SOUND * rate;
                let index = delay as usize;
                if delay < 0.0 || index + 1 >= response.len() {
                    continue;
                }
                let amplitude = direct / far * reflection.powi(bx + by + bz);
                let part = delay - index as f64;
                response[index] += amplitude * (1.0 - part);
                response[index + 1] += amplitude * part;
            }
        }
    }
    response.into_iter().map(|sample| sample as f32).collect()
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_direct_sound_comes_first_and_the_energy_decays_by_about_60_db_in_the_time_given() {
        let room = Room {
            name: "a".into(),
            about: "a".into(),
            size: [6.0, 4.5, 2.7],
            talker: [2.0, 1.5, 1.6],
            microphone: [4.1, 2.9, 1.2],
            rt60: 0.5,
        };
        let response = impulse_response(&room);
        assert!((response[0] - 1.0).abs() < 1e-6);
        let energy = |part: &[f32]| part.iter().map(|&s| f64::from(s * s)).sum::<f64>();
        let hop = response.len() / 10;
        let early = energy(&response[hop..2 * hop]);
        let late = energy(&response[8 * hop..9 * hop]);
        let decay = 10.0 * (early / late).log10();
        assert!((25.0..60.0).contains(&decay), "{decay} dB over 0.35 s");
    }
}
