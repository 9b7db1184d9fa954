"""How one number comes about: the plan of trials, the protocol of one, its neighbours and its utilisation."""
