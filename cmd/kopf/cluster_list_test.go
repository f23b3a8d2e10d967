package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

func TestPrintClustersTable(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	started := now.Add(-26 * time.Hour)
	var b bytes.Buffer
	err := printClustersTable(&b, []devcluster.Info{
		{Name: "dev", Provider: "embedded", State: devcluster.Running, Version: "v1.37.1", Server: "https://127.0.0.1:1", Started: &started, Owner: 42, Project: "/src/dev"},
		{Name: "lab", Provider: "embedded", State: devcluster.Stopped},
	}, now)
	want := `NAME   PROVIDER   STATE     VERSION   SERVER                OWNER    AGE      PROJECT
dev    embedded   running   v1.37.1   https://127.0.0.1:1   42       26h      /src/dev
lab    embedded   stopped   <none>    <none>                <none>   <none>   <none>
`
	if err != nil || b.String() != want {
		t.Errorf("got\n%s(%v)", b.String(), err)
	}
}
