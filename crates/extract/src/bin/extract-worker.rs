//! The child as a program of its own, for tests. The product is its own child.

fn main() -> std::process::ExitCode {
    extract::worker::run()
}
