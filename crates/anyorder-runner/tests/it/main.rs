//! The engine against real processes: first with a stand-in for the agent, then with pytest.

mod collecting;
mod cost;
mod fixture;
mod misbehaving;
mod peeks;
mod pytest;
mod sweep;
