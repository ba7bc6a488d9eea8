package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// isTerminal says whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
