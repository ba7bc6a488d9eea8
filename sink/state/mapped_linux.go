package state

import (
	"syscall"

	"go.etcd.io/bbolt"
)

// unmapPages has the kernel forget the first size bytes of bbolt's memory map.
// Pages that were read through it count as the process's memory as long as
// they are mapped, though they lie in the page cache anyhow; the next read maps
// those it needs anew. size must not exceed what is mapped. A refusal costs
// memory and nothing else.
func unmapPages(db *bbolt.DB, size int64) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, db.Info().Data, uintptr(size), syscall.MADV_DONTNEED)
}
