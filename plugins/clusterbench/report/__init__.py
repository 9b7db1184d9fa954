"""Pages: of a run, of a week, and comparisons as text. A page is one self-contained HTML file."""
