"""The history database: what finished archives say, over time. Object storage is the truth; this can be made again."""
