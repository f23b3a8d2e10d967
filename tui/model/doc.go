// Package model decides what the workbench says about a session: the word for a state,
// the sentence about an object, what comes next and when, and the alarm.
//
// Everything here is a pure function of its arguments: no clock, no terminal, no I/O.
// The screens and the plain stream share it, so that both say the same.
package model
