package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"agentcensus/pipeline/agentcard"
)

// readFileOr reads the file, or in when it is "-".
func readFileOr(in io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file)
}

// removeTemporary removes what a killed replaceFile of the path left behind.
func removeTemporary(path string) error {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".*"))
	for _, file := range left {
		err = errors.Join(err, removeIfThere(file))
	}
	return err
}

// printable makes text of strangers safe to print on a terminal.
func printable(s string) string { return agentcard.Printable(s) }

func trimBlank(b []byte) []byte { return bytes.TrimSpace(b) }
