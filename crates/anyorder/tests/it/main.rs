//! The built command, from outside: arguments in, exit code, standard output and standard error out.

mod answer;
mod bad_input;
mod check;
mod check_findings;
mod check_trees;
mod check_witness;
mod doctor;
mod explain;
mod fixture;
mod help;
mod ledger;
mod processes;
mod replay;
mod run;
mod run_declared;
mod run_endings;
mod run_ids;
mod run_plugins;
mod run_resume;
mod show;
mod stores;
