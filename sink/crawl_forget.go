package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"agentcensus/sink/state"
)

// ForgetUnfinished removes the rows about sites that covers accepts from the
// states of unfinished crawls under out, bytes in free pages included. The
// sites stay counted; crawls.suppressed will say how many. It reports as
// [Forget] does and, like it, may be called by the holder of the output
// directory's lock only.
func ForgetUnfinished(out string, covers func(host string) bool) (Report, error) {
	var report Report
	var errs []error
	for _, kind := range Kinds {
		header, err := peek(out, kind)
		if err != nil {
			errs = append(errs, err)
		}
		if err != nil || header == nil {
			continue
		}
		removed, err := forgetIn(statePath(out, kind), covers)
		if err != nil {
			errs = append(errs, fmt.Errorf("removing rows from the unfinished %s crawl: %w", kind, err))
		}
		for _, table := range []string{TableName[Card](), TableName[Check]()} {
			if removed[table] > 0 {
				report.Removed = append(report.Removed, Removed{
					Table: table, Kind: string(kind), Crawl: header.Date(), Rows: removed[table]})
			}
		}
	}
	return report, errors.Join(errs...)
}

// forgetIn removes rows from one state and returns how many by table.
func forgetIn(path string, covers func(host string) bool) (map[string]int64, error) {
	store, err := state.Open(path, state.Options{})
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	removed := make(map[string]int64)
	var unread error
	for _, table := range []string{TableName[Card](), TableName[Check]()} {
		n, err := store.DeleteRows(table, func(kept state.Stored) bool {
			var row struct{ Site string } // a field of both tables' rows
			if err := json.Unmarshal(kept.Data, &row); err != nil {
				unread = fmt.Errorf("reading the row of entry %d: %w", kept.Rank, err)
				return false
			}
			return covers(row.Site)
		})
		removed[table] = int64(n)
		if err = errors.Join(err, unread); err != nil {
			return removed, errors.Join(err, store.Close())
		}
	}
	if err := store.Close(); err != nil {
		return removed, err
	}
	// Compacted even if nothing was removed now: an earlier try may have been
	// killed before this.
	return removed, state.Compact(path)
}
