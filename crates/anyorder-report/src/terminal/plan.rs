//! What a sweep will cost and which bound that buys.

use std::io;

use anyorder_core::model::OrderLabel;

use super::sheet::{Sheet, Tone, pad, tie};
use crate::escape;
use crate::view::PlanView;
use crate::wording;

/// Width of the words before the entries.
const LABEL: usize = 9;

pub(super) fn write(view: &PlanView, sheet: &mut Sheet<'_>) -> io::Result<()> {
    let time = view
        .time
        .map_or_else(|| "a time not known yet".to_owned(), |t| format!("about {}", wording::duration(t)));
    let tree = if view.tree.is_empty() { String::new() } else { format!("{}: ", escape::text(&view.tree)) };
    let text = format!(
        "{tree}{} in {}: {time}, {} at a time",
        wording::count(view.tests, "test"),
        wording::count(view.orders.len(), "order"),
        view.jobs
    );
    sheet.paragraph(0, Tone::Strong, &tie(&text))?;
    let mut parts = Vec::new();
    if let Some(first) = view.first_order {
        parts.push(format!("the first order took {}", wording::duration(first)));
    }
    if let Some(alone) = view.alone {
        parts.push(format!("each test alone takes about {}", wording::duration(alone)));
    }
    parts.push(summary(&view.orders));
    sheet.entry(2, "plan", LABEL, &tie(&parts.join(", ")))?;
    let mut buys = format!(
        "if nothing fails, one more order fails with a chance of at most {} (at 95 %, {}).",
        wording::percent(view.bound.upper95),
        wording::count(view.bound.independent_seeds as usize, "independent seed"),
    );
    if view.bound.independent_seeds == 0 {
        "nothing about other orders: no independent seed is planned.".clone_into(&mut buys);
    } else if let Some(open) = wording::does_not_exclude(&view.bound) {
        buys.push(' ');
        buys.push_str(&open);
    }
    sheet.entry(2, "buys", LABEL, &tie(&buys))?;
    for weakness in &view.weaknesses {
        sheet.entry(2, "weak here", LABEL, &tie(&escape::text(&wording::weakness(weakness))))?;
    }
    let wide = view.options.iter().map(|o| o.flag.len()).max().unwrap_or(0);
    for (at, option) in view.options.iter().enumerate() {
        let label = if at == 0 { "or" } else { "" };
        sheet.line(&[
            (Tone::Plain, "  ".to_owned()),
            (Tone::Strong, format!("{}  ", pad(label, LABEL))),
            (Tone::Command, pad(&escape::text(&option.flag), wide)),
            (
                Tone::Plain,
                format!(
                    "  about {}, at most {}",
                    wording::duration(option.time),
                    wording::percent(option.upper95)
                ),
            ),
        ])?;
    }
    Ok(())
}

/// `default, alone, reverse, 19 seeds and 1 of them backwards`.
fn summary(orders: &[OrderLabel]) -> String {
    let mut parts: Vec<String> = orders
        .iter()
        .filter(|o| !matches!(o, OrderLabel::Seed(_) | OrderLabel::SeedReverse(_)))
        .map(|o| escape::text(&o.to_string()).into_owned())
        .collect();
    let seeds = orders.iter().filter(|o| o.is_independent_seed()).count();
    let backwards = orders.iter().filter(|o| matches!(o, OrderLabel::SeedReverse(_))).count();
    if seeds > 0 {
        parts.push(wording::count(seeds, "seed"));
    }
    if backwards > 0 {
        parts.push(format!("{} backwards", wording::count(backwards, "seed")));
    }
    format!("orders: {}", wording::listed(&parts))
}
