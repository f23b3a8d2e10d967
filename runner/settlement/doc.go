// Package settlement decides whether an operator has settled: whether it has handled the objects that were applied, and all
// others, and with which outcomes. It decides from snapshots of the inspector, and writes the outcomes as a report.
package settlement
