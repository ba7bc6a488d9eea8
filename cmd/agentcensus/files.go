package main

import (
	"bytes"
	"io"
	"os"

	"agentcensus/pipeline/agentcard"
)

// readFileOr reads the file, or in when it is "-".
func readFileOr(in io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file)
}

// printable makes text of strangers safe to print on a terminal.
func printable(s string) string { return agentcard.Printable(s) }

func trimBlank(b []byte) []byte { return bytes.TrimSpace(b) }
