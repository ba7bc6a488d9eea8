//go:build !linux

package bench

import (
	"errors"
	"time"
)

func self() (Sample, error) { return Sample{}, errors.ErrUnsupported }

func ownCPU() (time.Duration, error) { return 0, errors.ErrUnsupported }

func load() string { return "?" }

func machine() string { return "not Linux" }

func profile(string) (func() error, error) { return nil, errors.ErrUnsupported }
