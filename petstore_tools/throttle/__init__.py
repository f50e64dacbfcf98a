"""The budget of a key: rules, ledger, gate, forecast."""
