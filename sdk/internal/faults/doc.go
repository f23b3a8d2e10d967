// Package faults tests that operators lose nothing, repeat nothing and get stuck nowhere when things break: in random
// trials, and in a soak that reports its faults and their effects.
package faults
