"""Pure machines that decide: no network, disk, clock, randomness or pandas; `now` is an argument."""
