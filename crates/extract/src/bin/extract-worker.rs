//! The child as a program of its own, for tests. The product is its own child.

/// That of the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    extract::worker::run()
}
