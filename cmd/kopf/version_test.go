package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestVersion_PrintsBuildInfo(t *testing.T) {
	var out, errs bytes.Buffer
	if got := execute(t.Context(), []string{"version", "-o", "json"}, &out, &errs); got != 0 {
		t.Fatalf("%d, %s", got, &errs)
	}
	var b buildInfo
	if err := json.Unmarshal(out.Bytes(), &b); err != nil || b.Go == "" || b.Platform == "" {
		t.Errorf("%s, %v", &out, err)
	}
	b = buildInfo{Version: "v1.2.3", Commit: "0123456789abcdef", Time: "2026-01-02", Go: "go1.26", Platform: "linux/amd64"}
	if want := "kopf v1.2.3 (0123456789ab, 2026-01-02) go1.26 linux/amd64"; b.String() != want {
		t.Errorf("got %s", b)
	}
}
