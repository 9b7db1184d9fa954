"""`make chaos`: parts of a run are killed, frozen and cut off, in every phase of it, and a table tells what it cost."""
