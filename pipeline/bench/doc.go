// Package bench measures the crawler against yardsticks and prints one table:
// what was measured, what is wanted, and whether that is reached.
//
// Clients that ask over sockets run in processes of their own, so that their
// CPU and memory are theirs alone; the simulated web they all ask is one more
// process. A ratio is taken between runs of one round and the table shows the
// median of the rounds, so that a machine that is busy slows both sides. The
// yardsticks (loop.go, bare.go) are plain programs that store nothing; the
// crawler (crawler.go) is put together as the crawl command does it, state
// and tables included. What is measured, file by file, is in figures.go.
//
// It runs on Linux: it reads /proc.
package bench
