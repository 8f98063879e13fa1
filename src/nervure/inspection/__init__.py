"""Reports as people read them: a first screen, every detail, and a trace of the time. They know reports alone."""
