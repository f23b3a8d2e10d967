// Package explain puts a session into words: the word for a state,
// the sentence about an object, what comes next and when, and the alarm.
//
// Everything here is a pure function of its arguments: no clock, no terminal, no I/O.
// The workbench, the tables of "kopf get" and the MCP server share it, so that all say the same.
package explain
