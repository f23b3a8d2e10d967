// Package listing lists what an operator's inspector tells, as tables, JSON and YAML, for scripts and for
// people without the workbench.
package listing
