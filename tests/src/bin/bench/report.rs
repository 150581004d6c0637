//! What a bench found, as a table for people and as JSON for programs.

use serde_json::{Value, json};

/// How to measure.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Fewer and shorter runs: shows that it works, not how fast it is.
    pub quick: bool,
    /// Longer runs than anybody waits for, where a bench has them.
    pub full: bool,
}

/// What a bench found.
#[derive(Debug)]
pub struct Report {
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// The table.
    pub rows: Vec<Vec<String>>,
    /// Every single run.
    pub runs: Vec<Value>,
    /// The one number that the goal is about, with its unit.
    pub figure: String,
    /// The goal, in words.
    pub goal: &'static str,
    /// Whether it is reached.
    pub met: bool,
}

impl Report {
    /// The table, then the line with the figure.
    pub fn to_text(&self, name: &str) -> String {
        let header: Vec<String> = self.columns.iter().map(|column| (*column).to_owned()).collect();
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.chain(header.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..header.len()).map(width_of).collect();
        let mut text = String::new();
        for row in std::iter::once(&header).chain(&self.rows) {
            let cells = row.iter().zip(&widths).enumerate();
            let line: Vec<String> = cells
                .map(
                    |(column, (cell, &width))| {
                        if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                    },
                )
                .collect();
            text.push_str(line.join("  ").trim_end());
            text.push('\n');
        }
        let verdict = if self.met { "met" } else { "missed" };
        text.push_str(&format!("{name}: {} (goal {}) {verdict}\n", self.figure, self.goal));
        text
    }

    /// Everything, every single run included.
    pub fn to_json(&self, name: &str, options: &Options) -> String {
        let document = json!({
            "bench": name,
            "version": env!("CARGO_PKG_VERSION"),
            "quick": options.quick,
            "machine": machine(),
            "figure": self.figure,
            "goal": self.goal,
            "met": self.met,
            "columns": self.columns,
            "rows": self.rows,
            "runs": self.runs,
        });
        format!("{document:#}\n")
    }
}

/// What it was measured on.
fn machine() -> Value {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    json!({
        "system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "processor": model.trim_start_matches([' ', '\t', ':']),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "load": std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
    })
}

/// A 95 % interval of the median that assumes nothing about the distribution: the order statistics between which it lies
/// (the sign test's). Six values are the fewest for which there is one; fewer give all of them.
pub fn median_interval(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    // Probability that fewer than `outside + 1` of the values lie on one given side of the median.
    let (mut outside, mut term, mut tail) = (0, 0.5_f64.powi(count as i32), 0.0);
    while outside < count / 2 && tail + term <= 0.025 {
        tail += term;
        term *= (count - outside) as f64 / (outside + 1) as f64;
        outside += 1;
    }
    let first = outside.saturating_sub(1);
    match sorted.get(first).zip(sorted.get(count.saturating_sub(first + 1))) {
        Some((low, high)) => (*low, *high),
        None => (f64::NAN, f64::NAN),
    }
}

/// The middle one of some numbers; the lower of two middle ones.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// The value that this share of all is at most, by rank.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// Bytes as MB.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}

/// The most memory that this process ever had resident, in bytes; 0 where the system does not say.
pub fn own_peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::median_interval;

    #[test]
    fn the_interval_of_a_median_is_that_of_the_sign_tests_table() {
        let numbers = |count: u32| (1..=count).map(f64::from).collect::<Vec<f64>>();
        // Ranks from the tables of the sign test: 96.5 % of 15, 96.9 % of 6, 95.7 % of 25.
        assert_eq!(median_interval(&numbers(15)), (4.0, 12.0));
        assert_eq!(median_interval(&numbers(6)), (1.0, 6.0));
        assert_eq!(median_interval(&numbers(25)), (8.0, 18.0));
        assert_eq!(median_interval(&numbers(3)), (1.0, 3.0));
    }
}
