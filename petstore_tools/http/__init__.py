"""
HTTP to the service: the one call loop, transport, responses, backoff, an adapter for `requests`.
"""
