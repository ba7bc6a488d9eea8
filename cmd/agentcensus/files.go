package main

import (
	"encoding/json"
	"errors"
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

// openOr opens the file, or gives in when it is "-".
func openOr(in io.Reader, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(in), nil
	}
	return os.Open(file)
}

// maxInput is the most that is read of one file named on the command line, in
// bytes: a crawl reads less of any answer.
const maxInput = 16 << 20

// readFileOr reads the file, or in when it is "-". What is longer than maxInput
// is an error.
func readFileOr(in io.Reader, file string) (text []byte, err error) {
	f, err := openOr(in, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err = io.ReadAll(io.LimitReader(f, maxInput+1))
	if err == nil && len(text) > maxInput {
		err = fmt.Errorf("%s is larger than %d MiB", file, maxInput>>20)
	}
	return text, err
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
