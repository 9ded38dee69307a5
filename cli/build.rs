//! Links the program that tests start, at a fixed address.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Without optimisation some 200,000 addresses are relocated at each start, in half of its time. Tests start it thousands of
    // times. What users get stays movable.
    let for_tests = std::env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if for_tests && linux {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
