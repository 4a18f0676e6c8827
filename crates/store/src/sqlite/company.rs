//! Whether callers write at the same time. Then one thread that takes their jobs together does better than each for itself.
//!
//! The writer's own thread finds it out: while it commits, everybody is free to bring the next job. A caller that writes by
//! itself keeps its thread from serving others, so it would never hear of them; therefore one job in a while goes to the
//! writer's thread although nobody else seems to write.
//!
//! A commit that failed counts as company, too: the thread has to show first that the disk takes what it is given.

/// So many commits of the writer's thread without company, and callers write by themselves.
const ALONE_ENOUGH: u32 = 4;
/// After so many commits by callers the writer's thread looks again.
const LOOK_AGAIN_AFTER: u32 = 16;

#[derive(Debug)]
pub(crate) struct Company {
    /// Commits of the writer's thread in a row during which nobody else came.
    alone: u32,
    /// Commits by callers since then.
    by_callers: u32,
}

impl Default for Company {
    fn default() -> Self {
        Self { alone: ALONE_ENOUGH, by_callers: 0 }
    }
}

impl Company {
    pub(crate) fn is_absent(&self) -> bool {
        self.alone >= ALONE_ENOUGH && self.by_callers < LOOK_AGAIN_AFTER
    }

    pub(crate) fn thread_wrote(&mut self, others_came: bool) {
        self.alone = if others_came { 0 } else { self.alone.saturating_add(1) };
        self.by_callers = 0;
    }

    pub(crate) fn caller_wrote(&mut self, others_came: bool) {
        self.by_callers += 1;
        if others_came {
            self.alone = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_write_by_themselves_until_somebody_else_comes_and_again_after_a_while_alone() {
        let mut company = Company::default();
        assert!(company.is_absent());
        company.caller_wrote(true);
        assert!(!company.is_absent());
        for _ in 0..ALONE_ENOUGH {
            assert!(!company.is_absent());
            company.thread_wrote(false);
        }
        assert!(company.is_absent());
        company.thread_wrote(true);
        assert!(!company.is_absent());
    }

    #[test]
    fn now_and_then_the_thread_has_to_look_and_once_is_enough_if_nobody_came() {
        let mut company = Company::default();
        for _ in 0..LOOK_AGAIN_AFTER {
            assert!(company.is_absent());
            company.caller_wrote(false);
        }
        assert!(!company.is_absent());
        company.thread_wrote(false);
        assert!(company.is_absent());
    }
}
