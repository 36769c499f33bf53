//! Shows how far a sweep is: a live strip on a terminal, plain lines elsewhere, nothing with `--quiet`.

use std::collections::HashMap;
use std::io::Write;
use std::time::{Duration, Instant};

use anyorder_core::model::{OrderLabel, Outcome};
use anyorder_report::progress::{OrderDone, ProgressOrder, ProgressView, lines, order_line};
use anyorder_report::{Style, escape};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// A live display on standard error.
    Live,
    /// A line on standard error for each order.
    Plain,
    /// Nothing.
    Nothing,
}

/// A display of what is being done.
#[derive(Debug)]
pub struct Progress {
    show: Show,
    style: Style,
    bar: Option<ProgressBar>,
    view: ProgressView,
    at: HashMap<OrderLabel, usize>,
    started: Instant,
    drawn: Instant,
    work_done: u64,
    work_all: u64,
}

const REDRAW: Duration = Duration::from_millis(100);

impl Progress {
    /// A display that has nothing to show yet.
    pub fn new(show: Show, style: Style) -> Self {
        let bar = (show == Show::Live).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_draw_target(ProgressDrawTarget::stderr());
            if let Ok(template) = ProgressStyle::with_template("{msg}") {
                bar.set_style(template);
            }
            bar
        });
        let now = Instant::now();
        Self {
            show,
            style,
            bar,
            view: ProgressView::default(),
            at: HashMap::new(),
            started: now,
            drawn: now,
            work_done: 0,
            work_all: 0,
        }
    }

    /// Starts on a tree's sweep of these orders, each of `tests` tests.
    pub fn begin(&mut self, tree: &str, labels: &[OrderLabel], tests: usize) {
        let planned = u32::try_from(tests).unwrap_or(u32::MAX);
        tree.clone_into(&mut self.view.tree);
        self.view.suspects = 0;
        self.at = labels.iter().enumerate().map(|(n, l)| (l.clone(), n)).collect();
        self.view.orders = labels
            .iter()
            .map(|label| ProgressOrder { label: label.clone(), planned, ended: 0, worst: None, over: false })
            .collect();
        self.started = Instant::now();
        self.work_done = 0;
        self.work_all = u64::from(planned) * labels.len() as u64;
        self.draw(true);
    }

    /// Says what is being done.
    pub fn activity(&mut self, what: &str) {
        let again = self.view.activity == what;
        what.clone_into(&mut self.view.activity);
        if self.show == Show::Plain && !again {
            self.line(what);
        }
        self.draw(true);
    }

    /// A test of an order ended.
    pub fn test_ended(&mut self, label: &OrderLabel, outcome: Outcome) {
        self.work_done += 1;
        if let Some(order) = self.at.get(label).and_then(|at| self.view.orders.get_mut(*at)) {
            order.ended = order.ended.saturating_add(1).min(order.planned);
            order.worst = Some(order.worst.map_or(outcome, |worst| graver(worst, outcome)));
        }
        self.draw(false);
    }

    /// An order that needs no run: an earlier sweep had it.
    pub fn already(&mut self, label: &OrderLabel, worst: Option<Outcome>) {
        if let Some(order) = self.at.get(label).and_then(|at| self.view.orders.get_mut(*at)) {
            self.work_all = self.work_all.saturating_sub(u64::from(order.planned));
            order.ended = order.planned;
            order.worst = worst;
            order.over = true;
        }
    }

    /// An order is over.
    pub fn order_done(
        &mut self,
        label: &OrderLabel,
        counts: Vec<(Outcome, u32)>,
        took: Duration,
        ending: Option<String>,
    ) {
        let Some(at) = self.at.get(label).copied() else { return };
        self.view.orders[at].over = true;
        if self.show == Show::Plain {
            let number = self.view.orders.iter().filter(|o| o.over).count();
            let done = OrderDone {
                label: label.clone(),
                tree: self.view.tree.clone(),
                counts,
                duration: took,
                number,
                of: self.view.orders.len(),
                ending,
            };
            let line = order_line(&done, self.style);
            self.line(&line);
        }
        self.draw(false);
    }

    /// How many tests look suspicious by now.
    pub fn suspects(&mut self, count: usize) {
        self.view.suspects = u32::try_from(count).unwrap_or(u32::MAX);
    }

    /// Something the user should know, now.
    pub fn note(&self, what: &str) {
        self.line(&format!("note: {}", escape::text(what)));
    }

    /// Lines that stay on the screen, such as the plan.
    pub fn lasting(&self, text: &str) {
        text.lines().for_each(|line| self.line(line));
    }

    /// Takes the live display away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        match (&self.bar, self.show) {
            (_, Show::Nothing) => {}
            (Some(bar), _) => bar.suspend(|| drop(writeln!(anstream::stderr(), "{text}"))),
            (None, _) => drop(writeln!(anstream::stderr(), "{text}")),
        }
    }

    fn draw(&mut self, now: bool) {
        let Some(bar) = &self.bar else { return };
        if !now && self.drawn.elapsed() < REDRAW {
            return;
        }
        self.drawn = Instant::now();
        self.view.elapsed = self.started.elapsed();
        self.view.left = (self.work_done > 50 && self.work_all > self.work_done).then(|| {
            self.view.elapsed.mul_f64((self.work_all - self.work_done) as f64 / self.work_done as f64)
        });
        bar.set_message(lines(&self.view, self.style).join("\n"));
        bar.tick();
    }
}

fn graver(a: Outcome, b: Outcome) -> Outcome {
    let rank = |o: Outcome| match o {
        Outcome::Passed => 0,
        Outcome::Skipped | Outcome::Xfailed | Outcome::Xpassed => 1,
        Outcome::Absent => 2,
        Outcome::Failed => 3,
        Outcome::Error => 4,
        Outcome::Timeout => 5,
        Outcome::Crashed => 6,
    };
    if rank(b) > rank(a) { b } else { a }
}
