"""Commands of a night: measure what changed, name the cause, find the commit, write the pages."""
