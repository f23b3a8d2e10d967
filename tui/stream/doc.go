// Package stream tells in plain lines what the workbench shows on its screens: for
// pipes, for CI, and for terminals that can do no better.
//
// One change is one line: the time, a noun, its state, and what there is to say. The
// words are those of the screens.
package stream
