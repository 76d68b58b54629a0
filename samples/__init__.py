"""Sample traces and what makes them."""
