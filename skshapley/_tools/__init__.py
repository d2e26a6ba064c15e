"""What every room uses: seeds, the resolver of parameters, progress."""
