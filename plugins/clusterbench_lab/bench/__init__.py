"""clusterbench measured against its parts by hand, as ratios within one run."""
