-- Every turn wrote into these twice, and they were looked into once at a start: what they find is found by its deadline.
DROP INDEX tasks_held;
DROP INDEX ledger_open_by_holder;
