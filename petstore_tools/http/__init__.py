"""HTTP to the service: the one call loop, the transport, and what a reply says."""
