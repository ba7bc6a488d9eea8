package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"agentcensus/pipeline/agentcard"
	"agentcensus/sink/wholefile"
)

// checkOut refuses an output directory that is something else.
func checkOut(out string) error {
	if out == "" {
		return usagef("name the output directory with --out")
	}
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return usagef("--out %s: this is a file; name a directory", out)
	}
	return nil
}

// readFileOr reads the file, or in when it is "-".
func readFileOr(in io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(file)
}

// replaceFile writes a whole file under a name that readers may have open.
func replaceFile(name string, data []byte) error {
	return wholefile.Write(name, 0o644, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// printable makes text of strangers safe to print on a terminal.
func printable(s string) string { return agentcard.Printable(s) }

// encodeLine writes v as one line of JSON.
func encodeLine(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}
