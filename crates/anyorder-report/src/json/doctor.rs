//! `anyorder/doctor/1`.

use serde::Serialize;

use super::parts::{Environment, Project, Sandbox, SwitchedOff, switched_off};
use crate::view::DoctorView;

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    version: &'a str,
    exit_code: u8,
    project: Project<'a>,
    checks: Vec<Row<'a>>,
    tests: Option<usize>,
    environment: Option<Environment<'a>>,
    executor: Option<&'static str>,
    executor_why: Option<&'a str>,
    sandbox: Option<Sandbox<'a>>,
    switched_off: Vec<SwitchedOff<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    health: &'static str,
    found: &'a str,
    details: &'a [String],
    advice: Option<&'a str>,
}

impl<'a> Document<'a> {
    pub(super) fn of(view: &'a DoctorView) -> Self {
        Self {
            schema: "anyorder/doctor/1",
            version: &view.version,
            exit_code: view.exit_code,
            project: Project::of(&view.project),
            checks: view
                .rows
                .iter()
                .map(|r| Row {
                    name: &r.name,
                    health: r.health.word(),
                    found: &r.found,
                    details: &r.details,
                    advice: r.advice.as_deref(),
                })
                .collect(),
            tests: view.tests,
            environment: view.environment.as_ref().map(Environment::of),
            executor: view.executor.as_ref().map(|e| e.executor.word()),
            executor_why: view.executor.as_ref().and_then(|e| e.why.as_deref()),
            sandbox: view.sandbox.as_ref().map(Sandbox::of),
            switched_off: switched_off(&view.switched_off),
        }
    }
}
