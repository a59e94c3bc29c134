"""Plans of catalogued queries: asked of a server, shown to people, held against committed baselines."""
