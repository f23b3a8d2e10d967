// Package objects reads and changes single objects of a cluster for the workbench.
package objects
