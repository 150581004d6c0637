//! What is true of an outbox between any two inputs. Checked by tests and by the simulation.

use super::lane::Urgency;
use super::{MAX_IN_FLIGHT, MAX_IN_FLIGHT_PER_ENDPOINT, Outbox, Timer};

impl Outbox {
    /// Checks everything that must hold between two inputs.
    ///
    /// # Errors
    /// A sentence about the first thing that does not hold.
    pub fn check_invariants(&self) -> Result<(), String> {
        if self.in_flight.len() > MAX_IN_FLIGHT {
            return Err(format!("{} deliveries at once", self.in_flight.len()));
        }
        let mut rows = 0;
        for (id, lane) in &self.lanes {
            let (mut sent, mut in_lines) = (0, 0);
            for (job, line) in &lane.lines {
                in_lines += line.rows.len();
                let Some(head) = line.rows.first() else {
                    return Err(format!("an empty line of {job} at {id}"));
                };
                if let Some((row, delivery)) = line.in_flight {
                    sent += 1;
                    if !line.rows.contains(&row) || !self.in_flight.contains_key(&delivery) {
                        return Err(format!("{job} at {id} waits for an attempt that nobody knows of"));
                    }
                }
                for row in &line.rows {
                    let Some(entry) = self.rows.get(row) else {
                        return Err(format!("row {} of {job} at {id} is missing", row.0));
                    };
                    let ready = lane.ready.contains(&(Urgency::of(entry.kind), *row));
                    let timed = self.timers.contains(&(entry.due, Timer::RowDue(*row)));
                    // The head of a line that has nothing in flight is in exactly one place; no other row is in any.
                    let places = usize::from(line.in_flight.is_none() && row == head);
                    if usize::from(ready) + usize::from(timed) != places {
                        return Err(format!("row {} of {job} at {id}: ready {ready}, timed {timed}", row.0));
                    }
                }
            }
            rows += in_lines;
            if sent != lane.in_flight || sent > MAX_IN_FLIGHT_PER_ENDPOINT || lane.len() != in_lines {
                return Err(format!("{id} counts {} in flight and {} rows", lane.in_flight, lane.len()));
            }
            if lane.len() > self.config.max_waiting_per_endpoint.max(1) + MAX_IN_FLIGHT_PER_ENDPOINT {
                return Err(format!("{} rows wait for {id}", lane.len()));
            }
            for (responsive, turns) in &self.turns {
                let listed = turns.contains(&(lane.turn, id.clone()));
                if listed != (lane.can_send() && *responsive == lane.responsive) {
                    return Err(format!("{id}: listed {listed}, can send {}", lane.can_send()));
                }
            }
        }
        if rows != self.rows.len() {
            return Err(format!("{} rows in memory, {rows} in lines", self.rows.len()));
        }
        if self.in_flight.values().any(|sent| !self.rows.contains_key(&sent.row)) {
            return Err("an attempt of a row that is not there".to_owned());
        }
        // A free connection is never left idle while a responsive endpoint has something to send.
        let idle =
            self.in_flight.len() < MAX_IN_FLIGHT && self.turns.get(&true).is_some_and(|t| !t.is_empty());
        if idle {
            return Err("a connection is free and something could be sent".to_owned());
        }
        Ok(())
    }
}
