//go:build !linux

package state

import "go.etcd.io/bbolt"

// unmapPages does nothing: what MADV_DONTNEED does is Linux's own.
func unmapPages(*bbolt.DB, int64) {}
