package kube

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestWarnings_LoggedOnce(t *testing.T) {
	var log bytes.Buffer
	client, _ := clientFor(t, ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		respond(200, example, "Warning", `299 - "v1 KopfExample is deprecated"`, "Warning", `199 - "other"`, "Warning", `broken`))
	for range 3 {
		if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.String(); strings.Count(got, "deprecated") != 1 || strings.Contains(got, "other") || !strings.Contains(got, "level=WARN") {
		t.Error(got)
	}
}

func TestWarnings_RememberedTextsAreBounded(t *testing.T) {
	var w warnings
	for i := range 3 * maxWarnings {
		if !w.first(strings.Repeat("x", i)) {
			t.Fatal("known already")
		}
		if len(w.logged) > maxWarnings {
			t.Fatal(len(w.logged))
		}
	}
}
