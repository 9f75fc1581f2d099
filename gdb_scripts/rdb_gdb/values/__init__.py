"""The meaning of names and expressions: languages, containers, arrays, predicates, Python."""
