-- Which calls of a project's agents wait for a person: by_risk or always; NULL = by_risk.
ALTER TABLE projects ADD COLUMN approval TEXT COLLATE "C";
