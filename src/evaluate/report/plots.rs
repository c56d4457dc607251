//! Figures → SVG. A plot that cannot be drawn is left out.

use plotters::coord::ranged1d::{KeyPointHint, Ranged};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Report;
use crate::evaluate::calibrate::Calibrated;
use crate::evaluate::results::{Rates, Run};

const WIDTH: u32 = 900;
const HEIGHT: u32 = 420;

/// Colours that the colour-blind can tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Title, caption and SVG of every plot that has data.
pub(super) fn all(report: &Report) -> Vec<(&'static str, &'static str, String)> {
    let arms = ["scout", "mcp-zero", "bm25"];
    let top1 = |run: &Run| run.rates.as_ref().map(|rates: &Rates| 100.0 * rates.top1);
    let p50 = |run: &Run| run.latency_ms.as_ref().map(|latency| latency.p50);
    let (grown, found) = (!report.growth.is_empty(), !report.needle.is_empty());
    let drawn: [(&str, &str, Option<String>); 7] = [
        (
            "Accuracy as the pool grows",
            "Top-1 in per cent with 95 % intervals; requests of API-Bank among ever more tools of \
MCP-tools and Toucan.",
            grown.then(|| svg(|area| lines(area, report, &arms, "top-1, %", top1))).flatten(),
        ),
        (
            "Latency as the pool grows",
            "Median of a whole request whose vectors are known, in milliseconds.",
            grown.then(|| svg(|area| lines(area, report, &arms, "ms", p50))).flatten(),
        ),
        (
            "What each part is worth",
            "Change of top-1, in points, when a part of scout is taken away; mean over the sets, \
each weighing by its cases.",
            svg(|area| ablation(area, report)),
        ),
        (
            "Tokens",
            "What enters the context: every schema, or a reply with the best tool and its schema. \
Logarithmic.",
            svg(|area| tokens(area, report)),
        ),
        (
            "Needle grid, scout",
            "A tool asked for in its own words, by size of the pool and position: blue = first \
place, yellow = second to fifth, red = later or not at all.",
            found.then(|| svg(|area| heat(area, report, "scout"))).flatten(),
        ),
        (
            "Needle grid, mcp-zero",
            "The same for the paper's ranking.",
            found.then(|| svg(|area| heat(area, report, "mcp-zero"))).flatten(),
        ),
        (
            "Confidence",
            "What was said against what came true, all sets; the area of a point is its weight.",
            report.results.calibration.as_ref().and_then(|one| svg(|area| reliability(area, one))),
        ),
    ];
    drawn.into_iter().filter_map(|(title, caption, svg)| Some((title, caption, svg?))).collect()
}

fn svg(draw: impl FnOnce(&Area<'_>) -> Drawn) -> Option<String> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (WIDTH, HEIGHT)).into_drawing_area();
        area.fill(&WHITE).and_then(|()| draw(&area)).and_then(|()| area.present()).ok()?;
    }
    Some(text)
}

fn font(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_text_style(&(WIDTH, HEIGHT)).color(&BLACK)
}

/// One line an arm over the sizes of pools.
fn lines(
    area: &Area<'_>,
    report: &Report,
    arms: &[&str],
    unit: &str,
    value: impl Fn(&Run) -> Option<f64>,
) -> Drawn {
    let size = |run: &Run| run.pool.parse::<f64>().unwrap_or(1.0);
    let points = |arm: &str| -> Vec<(f64, f64)> {
        let own = report.growth.iter().filter(|run| run.arm == arm);
        own.filter_map(|run| Some((size(run), value(run)?))).collect()
    };
    let all: Vec<(f64, f64)> = arms.iter().flat_map(|arm| points(arm)).collect();
    let max = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).fold(1e-3, f64::max);
    let min = all.iter().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let top = if unit.contains('%') { 100.0 } else { max(|point| point.1) * 1.1 };
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d((min..max(|point| point.0) * 1.05).log_scale(), 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("tools in the pool (logarithmic)")
        .y_desc(unit)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .label_style(font(14))
        .draw()?;
    for (arm, colour) in arms.iter().zip(COLOURS) {
        let points = points(arm);
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)).point_size(4))?
            .label(*arm)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
        if unit.contains('%') {
            let own = report.growth.iter().filter(|run| run.arm == *arm);
            let bars = own.filter_map(|run| {
                let [low, high] = *run.rates.as_ref()?.ci95.get("top1")?;
                let x = size(run);
                Some(PathElement::new([(x, 100.0 * low), (x, 100.0 * high)], colour))
            });
            chart.draw_series(bars)?;
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.8))
        .label_font(font(15))
        .draw()
}

/// One bar an ablation: its mean change of top-1.
fn ablation(area: &Area<'_>, report: &Report) -> Drawn {
    let change = |arm: &str| {
        let (mut sum, mut n) = (0.0, 0.0);
        for suite in report.suites() {
            let rates = |arm: &str| report.run(suite, arm).filter(|run| run.n > 0);
            if let (Some(without), Some(with)) = (rates(arm), rates("scout"))
                && let (Some(a), Some(b)) = (&without.rates, &with.rates)
            {
                let cases = crate::evaluate::metrics::float(with.n);
                sum += 100.0 * (a.top1 - b.top1) * cases;
                n += cases;
            }
        }
        (n > 0.0).then(|| sum / n)
    };
    let ablations = crate::evaluate::arms::ARMS.iter().filter(|arm| arm.is_ablation());
    let bars: Vec<(String, f64)> =
        ablations.filter_map(|arm| Some((arm.about.to_owned(), change(arm.name)?))).collect();
    let low = bars.iter().map(|bar| bar.1).fold(-1.0, f64::min) * 1.15;
    let high = bars.iter().map(|bar| bar.1).fold(0.5, f64::max) * 1.15;
    rows(area, &bars, low..high, "points of top-1", |x| format!("{x:+.1}"))
}

/// Two bars a set: all schemas, and a reply.
fn tokens(area: &Area<'_>, report: &Report) -> Drawn {
    let mut bars = Vec::new();
    for suite in report.suites().into_iter().filter(|(_, pool)| *pool != "domain") {
        if let Some(run) = report.run(suite, "scout")
            && let Some(mean) = run.tokens.reply_mean
        {
            let name = format!("{} ({})", suite.0, suite.1);
            let all = crate::evaluate::metrics::float(run.tokens.all_schemas);
            bars.push((format!("{name}, all schemas"), all.log10()));
            bars.push((format!("{name}, reply"), mean.log10()));
        }
    }
    let high = bars.iter().map(|bar| bar.1).fold(1.0, f64::max) * 1.12;
    rows(area, &bars, 0.0..high, "tokens", |x| format!("{:.0}", 10_f64.powf(x)))
}

/// Horizontal bars with their names before and their values behind them.
fn rows(
    area: &Area<'_>,
    bars: &[(String, f64)],
    range: std::ops::Range<f64>,
    unit: &str,
    shown: impl Fn(f64) -> String,
) -> Drawn {
    let n = bars.len();
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(280)
        .build_cartesian_2d(range, Slots(n))?;
    let middle = Pos::new(HPos::Left, VPos::Center);
    let name = |at: &usize| bars.get((n - 1).saturating_sub(at / 2)).map(|bar| bar.0.clone());
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc(unit)
        .x_label_formatter(&|x| shown(*x))
        .y_labels(n)
        .y_label_formatter(&|at| name(at).unwrap_or_default())
        .label_style(font(14))
        .draw()?;
    for (row, (_, value)) in bars.iter().enumerate() {
        let low = 2 * (n - 1 - row);
        let colour = COLOURS[usize::from(*value < 0.0 || row % 2 == 0 && value > &1.0)];
        let mut bar = Rectangle::new([(0.0, low), (*value, low + 2)], colour.filled());
        bar.set_margin(4, 4, 0, 0);
        chart.draw_series([bar])?;
        let label = Text::new(
            format!(" {}", shown(*value)),
            (value.max(0.0), low + 1),
            font(13).pos(middle),
        );
        chart.draw_series([label])?;
    }
    Ok(())
}

/// Rows of a bar chart: two steps each, so that names stand in the middle.
struct Slots(usize);

impl Ranged for Slots {
    type FormatOption = plotters::coord::ranged1d::DefaultFormatting;
    type ValueType = usize;

    #[expect(clippy::cast_possible_truncation, reason = "pixels of a small picture")]
    fn map(&self, value: &usize, limit: (i32, i32)) -> i32 {
        let share = crate::evaluate::metrics::float(*value)
            / crate::evaluate::metrics::float(2 * self.0.max(1));
        limit.0 + (share * f64::from(limit.1 - limit.0)) as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<usize> {
        (0..self.0).map(|row| 2 * row + 1).collect()
    }

    fn range(&self) -> std::ops::Range<usize> {
        0..2 * self.0
    }
}

/// Size of the pool against relative position.
fn heat(area: &Area<'_>, report: &Report, arm: &str) -> Drawn {
    let points: Vec<_> = report.needle.iter().filter(|point| point.arm == arm).collect();
    let max = points.iter().map(|point| point.size).max().unwrap_or(1);
    let float = crate::evaluate::metrics::float;
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d((0.9..float(max) * 1.1).log_scale(), -0.03..1.03)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_desc("tools in the pool (logarithmic)")
        .y_desc("position, from first to last")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .label_style(font(14))
        .draw()?;
    let cells = points.iter().map(|point| {
        let y = float(point.position) / float((point.size - 1).max(1));
        let colour = match point.rank {
            Some(1) => COLOURS[0],
            Some(2..=5) => COLOURS[4],
            _ => COLOURS[1],
        };
        EmptyElement::at((float(point.size), y))
            + Rectangle::new([(-6, -7), (6, 7)], colour.filled())
    });
    chart.draw_series(cells)?;
    Ok(())
}

fn reliability(area: &Area<'_>, calibration: &Calibrated) -> Drawn {
    let bins = &calibration.bins;
    let total: f64 = bins.iter().map(|bin| bin.weight).sum();
    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("confidence")
        .y_desc("share fulfilled")
        .label_style(font(14))
        .draw()?;
    chart.draw_series([PathElement::new([(0.0, 0.0), (1.0, 1.0)], BLACK.mix(0.4))])?;
    let points = bins.iter().map(|bin| (bin.confidence, bin.rate));
    chart.draw_series(LineSeries::new(points, COLOURS[0].stroke_width(2)))?;
    let circles = bins.iter().map(|bin| {
        let radius = 3.0 + 26.0 * (bin.weight / total).sqrt();
        Circle::new((bin.confidence, bin.rate), radius, COLOURS[0].mix(0.5).filled())
    });
    chart.draw_series(circles)?;
    Ok(())
}
