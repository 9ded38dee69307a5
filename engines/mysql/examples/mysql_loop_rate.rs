//! The cost of the loop over a batch: `cargo run --release -p slob-engine-mysql --example mysql_loop_rate`.

#[path = "../../../benches/loop_rate.rs"]
mod loop_rate;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    loop_rate::run(&slob_engine_mysql::KIND)
}
