package main

import (
	"bufio"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestAttach_RefusesArguments(t *testing.T) {
	folder := shortDir(t)
	t.Setenv("KUBECONFIG", filepath.Join(folder, "none"))
	for line, test := range map[string]struct {
		output string
		code   int
	}{
		"nowhere":                               {"kopf: inspector address \"nowhere\": want unix:PATH or tcp:127.0.0.1:PORT, pod/NAME or deploy/NAME\n", 2},
		"tcp:10.0.0.1:7070":                     {"kopf: inspector address \"tcp:10.0.0.1:7070\": want a loopback address", 2},
		"unix:/tmp/x -n one":                    {"kopf: --namespace is for operators in pods; name one as pod/NAME or deploy/NAME\n", 2},
		"pod/a --port=70000":                    {"kopf: --port=70000: want the number of a port\n", 2},
		"pod/a":                                 {"kopf: find the cluster: there is no kubeconfig; name one with --kubeconfig. For the cluster of this project: --kubeconfig=\"$(kopf cluster kubeconfig --path)\"\n", 1},
		"unix:/tmp/x --log-format=full":         {"kopf: --log-format=full: want plain or json\n", 2},
		"unix:/tmp/x --project=hello":           {"kopf: unix:/tmp/x: --project excludes an address: use one or the other\n", 2},
		"pod/a --project=hello":                 {"kopf: pod/a: --project excludes an address: use one or the other\n", 2},
		"unix:/tmp/x --quiet --verbose":         {"kopf: --quiet excludes --verbose: use one or the other\n", 2},
		"unix:" + filepath.Join(folder, "none"): {"kopf: read the state of the operator at ", 1},
	} {
		var output strings.Builder
		args := append([]string{"attach"}, strings.Fields(line)...)
		if got := execute(t.Context(), args, &output, &output); got != test.code || !strings.HasPrefix(output.String(), test.output) {
			t.Errorf("%s: %d, %s", line, got, output.String())
		}
	}
}

func TestAttach_PrintsLinesUntilInterrupted(t *testing.T) {
	op := serveInspector(t, filepath.Join(shortDir(t), "s"), kex("one", "a", inspect.StateFailed, failedCreate))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"attach", op.address}, in, io.Discard)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	for seen := false; !seen; {
		if !lines.Scan() {
			t.Fatalf("it ends with %d", <-ended)
		}
		seen = strings.Contains(lines.Text(), "one/a")
	}
	cancel()
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	<-ended
}
