"""What a restart cannot bring back."""
