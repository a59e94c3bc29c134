"""How fast selectq is, measured; not part of the package."""
