package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestHelp_ListsEachCommandInAGroup(t *testing.T) {
	internal := []string{"man", "relay"} // of releases, and of the pod of --webhook=relay
	root := newRootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"--help"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, c := range root.Commands() {
		listed := regexp.MustCompile(`(?m)^  ` + c.Name() + ` +\S`).MatchString(out.String())
		if want := !slices.Contains(internal, c.Name()); c.Hidden == want || listed != want || want && c.GroupID == "" {
			t.Errorf("%s: hidden %t, listed %t, group %q", c.Name(), c.Hidden, listed, c.GroupID)
		}
	}
	last := -1
	for _, title := range []string{"Write an operator:", "Deploy an operator:", "Work with a running operator:", "Other commands:"} {
		at := strings.Index(out.String(), title)
		if at <= last {
			t.Errorf("%q is at %d, after %d", title, at, last)
		}
		last = at
	}
	if strings.Contains(out.String(), "Additional Commands") {
		t.Errorf("commands are in no group: %s", out.String())
	}
}
