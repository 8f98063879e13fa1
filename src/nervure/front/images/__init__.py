"""Functions over windows of images: convolutions, pools, values between samples, and regions of interest."""
