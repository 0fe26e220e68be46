"""Graph problems: reading graphs, large cuts and small vertex covers."""
