// Package stream writes the workbench's information as plain lines: for pipes, for CI, and for terminals that cannot
// draw screens.
//
// Each change is a line: the time, a noun, its state, and a text, in the words of the
// workbench.
package stream
