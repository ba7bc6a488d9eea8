// Package sink keeps what a crawl found: Parquet tables that DuckDB reads, and
// the views that give analysts names over them.
//
// A table lies in DIR/data/TABLE/kind=K/crawl=YYYY-MM-DD/TABLE.parquet. A file
// appears whole or not at all; it is sorted as its metadata says; and of a site
// without a card only totals are ever in it. The row types ([Card],
// [SiteTotal], [FetchTotal], [Check], [CrawlRow]) are the one definition of the
// columns: [Schema] and the views are made from them.
//
// The package knows nothing of HTTP and asks nobody anything: outcomes and
// reasons are words that others decide. What survives a crash in mid-crawl lies
// in package state.
package sink
