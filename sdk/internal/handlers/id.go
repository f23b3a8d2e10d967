package handlers

import (
	"fmt"
	"slices"
	"strings"
)

// reservedNames are the names of annotations that are no progress of handlers.
var reservedNames = []string{"touch-dummy", "last-handled-configuration", "kopf-managed", "handler-versions"}

// reservedPrefixes begin the names of annotations that keep unreadable values, permanent failures, steps, and marks of "kopf rehandle".
var reservedPrefixes = []string{"unreadable.", "failed-handler.", "handler-steps.", "started-step.", "rehandle-handler."}

// checkID returns an error if an id makes no annotation name: the API server would reject all patches
// with the handler's progress. Of the characters that names cannot have, slashes and angle brackets
// are replaced in names.
func checkID(id string) error {
	for i, r := range id {
		switch {
		case isAlphanumeric(r):
		case i == 0:
			return fmt.Errorf("the id %q begins with %q, which annotation names cannot; begin it with a letter or a digit, for instance with kopf.ID(\"...\")", id, r)
		case !strings.ContainsRune("-_./<>", r):
			return fmt.Errorf("the id %q has the character %q, which annotation names cannot have; "+
				"use letters and digits of ASCII, '-', '_' and '.', for instance with kopf.ID(\"...\")", id, r)
		}
	}
	if last := rune(id[len(id)-1]); !isAlphanumeric(last) {
		return fmt.Errorf("the id %q ends with %q, which annotation names cannot; end it with a letter or a digit, for instance with kopf.ID(\"...\")", id, last)
	}
	name := annotationName(id)
	reserved := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	if slices.Contains(reservedNames, name) || slices.ContainsFunc(reservedPrefixes, reserved) {
		return fmt.Errorf("the id %q is the name of an annotation with another meaning; use another id", id)
	}
	return nil
}

var annotationNames = strings.NewReplacer("/", ".", "<", "_", ">", "_")

// annotationName returns the name of the annotation for an id, without its prefix, before it is shortened.
func annotationName(id string) string { return annotationNames.Replace(id) }

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}
