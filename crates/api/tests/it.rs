//! The stories of the doors: one binary, so that it links once.
mod it {
    mod shared_context;
}
