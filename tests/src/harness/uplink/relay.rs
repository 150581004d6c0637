//! One connection of a worker: request after request, each with its fate.

use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};

use super::{
    Direction, Line, Pace, Stall, UplinkConditions,
    http::{Body, Head},
};

/// Pieces of a body that are on the way at once: a long delay must not slow a line down.
const PIECES_UNDER_WAY: usize = 256;

/// What the worker is told when the edge is said to be busy.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
content-length: 52\r\n\r\n{\"title\":\"busy\",\"code\":\"busy\",\"detail\":\"as ordered\"}\n";

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    Busy,
    Reset,
    /// Nobody answers; whether it is carried out.
    Unanswered {
        carried_out: bool,
    },
}

/// How the line treats a request.
struct Treatment<'a> {
    fate: Fate,
    /// What it costs beside its bytes.
    overhead: Duration,
    round_trip: Duration,
    /// Counts it as under way.
    _counted: Option<UnderWay<'a>>,
}

/// A request towards the edge that has not ended.
struct UnderWay<'a>(&'a Line);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().under_way -= 1;
    }
}

/// Takes connections for ever.
pub async fn accept(listener: &TcpListener, line: &Arc<Line>) {
    loop {
        let Ok((worker, _)) = listener.accept().await else {
            // Out of descriptors, perhaps for a moment.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let line = Arc::clone(line);
        tokio::spawn(async move {
            let mut cuts = line.cuts.subscribe();
            tokio::select! {
                // Either end may break off at any time: that is what lines do.
                ended = serve(worker, &line) => ended.unwrap_or_default(),
                _ = cuts.changed() => {}
            }
        });
    }
}

async fn serve(worker: TcpStream, line: &Line) -> io::Result<()> {
    worker.set_nodelay(true)?;
    let (read, mut write) = worker.into_split();
    let mut read = BufReader::with_capacity(16 * 1024, read);
    let mut edge: Option<(BufReader<OwnedReadHalf>, OwnedWriteHalf)> = None;
    while let Some(head) = Head::read(&mut read).await? {
        let new = edge.is_none();
        let Treatment { fate, overhead, round_trip, _counted } = line.treatment(&head);
        if new {
            // The handshake.
            sleep(round_trip).await;
        }
        let (from_edge, to_edge) = match &mut edge {
            Some((read, write)) => (read, write),
            none => {
                let stream = TcpStream::connect(line.edge).await?;
                stream.set_nodelay(true)?;
                let (read, write) = stream.into_split();
                let (read, write) = none.insert((BufReader::with_capacity(16 * 1024, read), write));
                (read, write)
            }
        };
        if head.is_upgrade() {
            to_edge.write_all(&head.bytes).await?;
            let way = |pace| Way { pace, stands_still_from: Stall::Links };
            let up = pass(line, way(&line.up), Body::UntilClose, &mut read, Some(to_edge), u64::MAX);
            let down = pass(line, way(&line.down), Body::UntilClose, from_edge, Some(&mut write), u64::MAX);
            tokio::select! {
                ended = up => ended?,
                ended = down => ended?,
            }
            return Ok(());
        }
        let way = |pace| Way { pace, stands_still_from: Stall::Everything };
        let (up, down) = (way(&line.up), way(&line.down));
        let method = head.word(0).to_owned();
        let body = head.request_body();
        match fate {
            Fate::Passes => {
                // The first piece of the body follows at once: together they are what the half round trip is counted for.
                to_edge.write_all(&head.bytes).await?;
                pass(line, up, body, &mut read, Some(to_edge), u64::MAX).await?;
                let answer = Head::read(from_edge).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
                let body = answer.answer_body(&method);
                sleep(overhead + round_trip / 2).await;
                write.write_all(&answer.bytes).await?;
                pass(line, down, body, from_edge, Some(&mut write), u64::MAX).await?;
                if body == Body::UntilClose {
                    return Ok(());
                }
            }
            Fate::Busy => {
                pass(line, up, body, &mut read, None::<&mut OwnedWriteHalf>, u64::MAX).await?;
                sleep(round_trip / 2).await;
                write.write_all(BUSY).await?;
            }
            Fate::Reset => {
                let half = if let Body::Exactly(length) = body { length / 2 } else { 0 };
                pass(line, up, body, &mut read, None::<&mut OwnedWriteHalf>, half).await?;
                write.as_ref().set_zero_linger()?;
                return Ok(());
            }
            Fate::Unanswered { carried_out } => {
                if carried_out {
                    to_edge.write_all(&head.bytes).await?;
                    pass(line, up, body, &mut read, Some(to_edge), u64::MAX).await?;
                } else {
                    pass(line, up, body, &mut read, None::<&mut OwnedWriteHalf>, u64::MAX).await?;
                }
                // Until the worker gives up.
                while Body::UntilClose.next(&mut read).await?.is_some() {}
                return Ok(());
            }
        }
    }
    Ok(())
}

/// One direction for one kind of connection.
#[derive(Clone, Copy)]
struct Way<'a> {
    pace: &'a Pace,
    /// The least stall that stops it.
    stands_still_from: Stall,
}

/// Passes a body on, with the bandwidth and the delay of the line; without a receiver it ends here. Stops after `most` bytes.
async fn pass(
    line: &Line,
    Way { pace, stands_still_from }: Way<'_>,
    mut body: Body,
    from: &mut (impl AsyncBufRead + Unpin),
    to: Option<&mut (impl AsyncWrite + Unpin)>,
    most: u64,
) -> io::Result<()> {
    let delay = line.state().conditions.round_trip / 2;
    let upwards = std::ptr::eq(pace, &raw const line.up);
    let (under_way, mut arriving) = mpsc::channel::<(Instant, Vec<u8>)>(PIECES_UNDER_WAY);
    let leaving = async move {
        let mut stalled = line.stalled.subscribe();
        let mut passed = 0;
        while passed < most {
            let Some(bytes) = body.next(from).await? else { break };
            // The line outlives its connections.
            stalled.wait_for(|stall| *stall < stands_still_from).await.map_err(io::Error::other)?;
            passed += bytes.len() as u64;
            line.count(upwards, bytes.len());
            let left = pace.leaves_at(bytes.len(), Instant::now());
            sleep_until(left).await;
            if under_way.send((left + delay, bytes)).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    let arriving = async move {
        let mut to = to;
        while let Some((at, bytes)) = arriving.recv().await {
            sleep_until(at).await;
            if let Some(receiver) = &mut to
                && receiver.write_all(&bytes).await.is_err()
            {
                // Whoever stopped listening may still have something to say: the rest is read and dropped.
                to = None;
            }
        }
        Ok(())
    };
    tokio::try_join!(leaving, arriving).map(|((), ())| ())
}

impl Line {
    fn treatment(&self, head: &Head) -> Treatment<'_> {
        let mut state = self.state();
        let round_trip = state.conditions.round_trip;
        if head.is_upgrade() {
            return Treatment { fate: Fate::Passes, overhead: Duration::ZERO, round_trip, _counted: None };
        }
        let method = head.word(0);
        let upwards = matches!(method, "PUT" | "POST");
        let ordinal = if upwards { &mut state.counts.sent } else { &mut state.counts.fetched };
        *ordinal += 1;
        let ordinal = *ordinal;
        let counted = upwards.then(|| UnderWay(self));
        state.under_way += u32::from(upwards);
        let UplinkConditions { up, down, seed, ref put_overhead, .. } = state.conditions;
        let mut fate = draw_fate(if upwards { up } else { down }, chance(seed, upwards, ordinal));
        if let Some(carries) = up.carries
            && upwards
            && fate == Fate::Passes
        {
            // Other stretches of chance than the fates'.
            let drawn = chance(seed.rotate_left(17), true, ordinal);
            let kind = chance(seed.rotate_left(31), true, ordinal);
            fate = draw_congestion(carries, state.under_way, drawn, kind);
        }
        let overhead = if method == "PUT" {
            // Another stretch of chance than the fates'.
            put_overhead.start + (put_overhead.end - put_overhead.start).mul_f64(chance(!seed, true, ordinal))
        } else {
            Duration::ZERO
        };
        if let Some((part, left)) = &mut state.swallowed
            && *left > 0
            && head.word(1).contains(part.as_str())
        {
            *left -= 1;
            fate = Fate::Unanswered { carried_out: false };
        }
        state.counts.failed += u64::from(fate != Fate::Passes);
        state.counts.unanswered += u64::from(matches!(fate, Fate::Unanswered { .. }));
        Treatment { fate, overhead, round_trip, _counted: counted }
    }

    fn count(&self, upwards: bool, bytes: usize) {
        let counts = &mut self.state().counts;
        *(if upwards { &mut counts.bytes_up } else { &mut counts.bytes_down }) += bytes as u64;
    }
}

fn draw_fate(direction: Direction, drawn: f64) -> Fate {
    let Direction { busy, reset, unanswered, .. } = direction;
    if drawn < busy {
        Fate::Busy
    } else if drawn < busy + reset {
        Fate::Reset
    } else if drawn < busy + reset + unanswered {
        Fate::Unanswered { carried_out: drawn < busy + reset + unanswered / 2.0 }
    } else {
        Fate::Passes
    }
}

/// What becomes of a request while so many are under way, itself included.
fn draw_congestion(carries: u32, under_way: u32, drawn: f64, kind: f64) -> Fate {
    let too_many = f64::from(under_way.saturating_sub(carries)) / f64::from(under_way.max(1));
    if drawn >= too_many {
        return Fate::Passes;
    }
    draw_fate(Direction { busy: 0.33, reset: 0.33, unanswered: 0.34, ..Direction::default() }, kind)
}

/// A number from 0 to 1 for the n-th request of a direction: SplitMix64 (Steele, Lea and Flood, 2014).
fn chance(seed: u64, upwards: bool, ordinal: u64) -> f64 {
    let start = seed.wrapping_mul(2).wrapping_add(u64::from(upwards)).wrapping_mul(0xD134_2543_DE82_EF95);
    let mut z = start.wrapping_add(ordinal.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fates_come_as_often_as_ordered_and_are_the_same_in_every_run() {
        let direction = Direction { busy: 0.02, reset: 0.03, unanswered: 0.04, ..Direction::default() };
        let draw = || (1..=20_000).map(|n| draw_fate(direction, chance(7, true, n))).collect::<Vec<_>>();
        let fates = draw();
        assert_eq!(fates, draw());
        let share = |wanted: fn(&Fate) -> bool| {
            fates.iter().filter(|fate| wanted(fate)).count() as f64 / fates.len() as f64
        };
        assert!((share(|fate| *fate == Fate::Busy) - 0.02).abs() < 0.004);
        assert!((share(|fate| *fate == Fate::Reset) - 0.03).abs() < 0.005);
        assert!((share(|fate| *fate == Fate::Unanswered { carried_out: true }) - 0.02).abs() < 0.004);
        assert!((share(|fate| matches!(fate, Fate::Unanswered { .. })) - 0.04).abs() < 0.006);
    }

    #[test]
    fn a_line_fails_what_is_too_much_for_it_and_nothing_else() {
        let failed = |under_way| {
            let drawn = (1..=9_000).map(|n| (chance(7, true, n), chance(8, true, n)));
            drawn.filter(|(drawn, kind)| draw_congestion(6, under_way, *drawn, *kind) != Fate::Passes).count()
        };
        assert_eq!([failed(1), failed(6)], [0, 0]);
        assert!(failed(8).abs_diff(9_000 / 4) < 150 && failed(18).abs_diff(6_000) < 150);
    }
}
