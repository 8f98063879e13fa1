"""From the loop IR to LLVM's language."""
