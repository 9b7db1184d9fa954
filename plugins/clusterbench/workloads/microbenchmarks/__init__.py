"""What disks and network of Hadoop's hosts do by themselves (paper 002, Appendix B and p. 16)."""
