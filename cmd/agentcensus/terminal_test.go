package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the line has ended") }

func TestMessagesGoAboveTheLiveLine(t *testing.T) {
	var out, above bytes.Buffer
	m := &messages{out: &out}
	fmt.Fprintln(m, "before")
	m.live(&above)
	fmt.Fprintln(m, "while it is drawn")
	m.live(broken{})
	fmt.Fprintln(m, "as it ends")
	m.live(nil)
	fmt.Fprintln(m, "after")
	if out.String() != "before\nas it ends\nafter\n" || above.String() != "\r\x1b[Kwhile it is drawn\n" {
		t.Errorf("beside: %q, above: %q", out.String(), above.String())
	}
}
