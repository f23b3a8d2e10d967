// Package listing lists an operator's inspector state as tables, JSON and YAML, for scripts and for people without
// the workbench.
package listing
