"""The Wyoming door (extra `wyoming`): Home Assistant speaks through it without a bridge."""
