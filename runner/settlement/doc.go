// Package settlement decides whether an operator has settled: whether it has handled the applied objects, or all of its
// objects, and with which outcomes. It uses snapshots of the inspector, and writes the outcomes as a report.
package settlement
