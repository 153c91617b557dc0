"""Writers of other tools' formats, one module each."""
