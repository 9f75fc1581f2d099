"""What no restart brings back."""
