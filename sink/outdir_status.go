package sink

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Status is how a crawl stands: totals only, no site.
type Status struct {
	Kind string `json:"kind"`
	Date string `json:"date"` // of the crawl's start, UTC
	// Simulated says that the sites are made up.
	Simulated bool             `json:"simulated"`
	Running   bool             `json:"running"`
	Reason    string           `json:"reason,omitempty"` // why it stopped
	Started   time.Time        `json:"started"`          // of this run
	Updated   time.Time        `json:"updated"`
	Entries   int64            `json:"entries"`
	Settled   int64            `json:"settled"`
	Open      int64            `json:"open"`
	InFlight  int64            `json:"in_flight"`
	Cards     int64            `json:"cards"`
	Requests  int64            `json:"requests"`
	Rate      float64          `json:"sites_per_second"`
	Outcomes  map[string]int64 `json:"outcomes"`
}

// Remaining is how long the rest takes at the present rate; 0 when the rate
// tells nothing.
func (s Status) Remaining() time.Duration {
	if s.Rate <= 0 || s.Settled >= s.Entries {
		return 0
	}
	return time.Duration(float64(s.Entries-s.Settled) / s.Rate * float64(time.Second))
}

// WriteStatus renames a new status file into place under out. The state file
// itself cannot be read while a crawl has it open. Nothing rests on the status
// file, so that it is not synced: after a power cut it may be an old one.
func WriteStatus(out string, s Status) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("writing the status file: %w", err)
	}
	path := filepath.Join(out, stateDir, statusFile)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the status file: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("writing the status file: %w", err)
	}
	return nil
}

// ReadStatus reads the status file under out. The error wraps os.ErrNotExist
// when no crawl runs or was stopped there.
func ReadStatus(out string) (Status, error) {
	text, err := os.ReadFile(filepath.Join(out, stateDir, statusFile))
	if err != nil {
		return Status{}, fmt.Errorf("reading the status file: %w", err)
	}
	var s Status
	if err := json.Unmarshal(text, &s); err != nil {
		return Status{}, fmt.Errorf("reading the status file: %w", err)
	}
	return s, nil
}
