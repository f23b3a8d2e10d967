package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// result is a row in a file of results.
type result struct {
	What     string    `json:"what"`
	Goal     string    `json:"goal,omitempty"`
	Measured string    `json:"measured"`
	Met      *bool     `json:"met,omitempty"`
	Samples  []float64 `json:"samples,omitempty"`
}

// writeResults writes the rows of a figure to DIR/FIGURE.json.
func writeResults(dir, figure, machine string, began time.Time, rows []row) error {
	file := struct {
		Figure  string   `json:"figure"`
		Began   string   `json:"began"`
		Took    string   `json:"took"`
		Machine string   `json:"machine"`
		Others  float64  `json:"others"` // the share of the CPU time that other programs used
		Rows    []result `json:"rows"`
	}{Figure: figure, Began: began.UTC().Format(time.RFC3339), Took: time.Since(began).Round(time.Second).String(), Machine: machine}
	for _, r := range rows {
		one := result{What: r.what, Goal: r.goal, Measured: r.measured, Samples: r.samples}
		if r.goal != "" {
			one.Met = &r.met
		}
		file.Others = r.others
		file.Rows = append(file.Rows, one)
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, figure+".json"), append(text, '\n'), 0o644) //nolint:gosec // results are for everyone
}
