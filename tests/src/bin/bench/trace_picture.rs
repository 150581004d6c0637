//! A timeline as a picture: a row for each phase, a bar for each interval.

use std::fmt::Write;

use edge::api::projects::timeline::{Owner, TimelineView};

const WIDTH: f64 = 900.0;
const LEFT: f64 = 170.0;
const ROW: f64 = 22.0;
const TOP: f64 = 46.0;

fn colour(owner: Owner) -> &'static str {
    match owner {
        Owner::Client => "#7a8aa0",
        Owner::Recognizer => "#c58b2a",
        Owner::Inference => "#2f7d5b",
        Owner::Fleet => "#3a6ea8",
    }
}

/// The picture as SVG.
pub fn render(timeline: &TimelineView) -> String {
    let start = timeline.start_ms.0;
    let span = (timeline.end_ms.0 - start).max(1) as f64;
    let scale = (WIDTH - LEFT - 20.0) / span;
    let phases: Vec<&str> = timeline.totals.iter().map(|total| total.phase.as_str()).collect();
    let height = TOP + ROW * phases.len() as f64 + 40.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut line = |text: String| writeln!(svg, "{text}").expect("writing to a String cannot fail");
    let mut x = LEFT;
    for (owner, name) in [
        (Owner::Client, "client"),
        (Owner::Recognizer, "recogniser"),
        (Owner::Inference, "model"),
        (Owner::Fleet, "fleet"),
    ] {
        line(format!("<rect x=\"{x}\" y=\"12\" width=\"12\" height=\"12\" fill=\"{}\"/>", colour(owner)));
        line(format!("<text x=\"{}\" y=\"22\">{name}</text>", x + 18.0));
        x += 110.0;
    }
    let step = [100.0, 250.0, 500.0, 1_000.0, 2_000.0, 5_000.0, 10_000.0, 30_000.0]
        .into_iter()
        .find(|step| span / step <= 12.0)
        .unwrap_or(60_000.0);
    let mut tick = 0.0;
    while tick <= span {
        let x = LEFT + tick * scale;
        let bottom = height - 24.0;
        line(format!("<line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#ddd\"/>", TOP - 8.0));
        line(format!(
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">{:.1} s</text>",
            height - 8.0,
            tick / 1e3
        ));
        tick += step;
    }
    for (row, phase) in phases.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let name = phase.replace('_', " ");
        line(format!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", LEFT - 8.0, y + 12.0));
        for interval in timeline.intervals.iter().filter(|interval| interval.phase == **phase) {
            let x = LEFT + (interval.start_ms.0 - start) as f64 * scale;
            let width = ((interval.end_ms.0 - interval.start_ms.0) as f64 * scale).max(1.0);
            line(format!(
                "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"15\" fill=\"{}\" fill-opacity=\"0.75\"/>",
                colour(interval.owner)
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}
