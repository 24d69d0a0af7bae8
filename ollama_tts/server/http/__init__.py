"""HTTP doors: decode, call one service, encode. No policy of their own."""
