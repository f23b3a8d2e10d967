package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/cmd/kopf/testdata/intruding"
	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/plan/shapes"
)

// loggedRequest finds the requests in the log of an API server.
var loggedRequest = regexp.MustCompile(`"HTTP" verb="([A-Z]+)" URI="([^"]*)" .*userAgent="([^"]*)"`)

// loggedCluster is a cluster whose API server logs all requests.
type loggedCluster struct{ kubeconfig, server, log string }

// startLogged runs a program that starts a cluster whose API server logs all requests.
func startLogged(t *testing.T, program string) loggedCluster {
	t.Helper()
	dir := shortDir(t)
	cmd := exec.CommandContext(t.Context(), program, "--data-dir="+dir, "--guard", "--v=3")
	guard, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = guard.Close() // the cluster ends
		_ = cmd.Wait()    // with an error, because its guard is closed
	})
	var ready struct{ Kubeconfig, Server string }
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil {
		t.Fatal(err)
	}
	return loggedCluster{ready.Kubeconfig, strings.TrimPrefix(ready.Server, "https://"), filepath.Join(dir, "controlplane.log")}
}

// apply applies a manifest, with a user agent.
func (c loggedCluster) apply(t *testing.T, agent, path string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err == nil {
		config.UserAgent = agent
		_, err = apply.Files(t.Context(), config, []string{path}, apply.Options{Namespace: "default"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// requests returns the logged requests by their user agent, as "VERB URI", up to a request of the last agent.
func (c loggedCluster) requests(t *testing.T, last string) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	eventually(t, "a logged request of "+last, func() bool {
		clear(all)
		text, err := os.ReadFile(c.log)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range loggedRequest.FindAllStringSubmatch(string(text), -1) {
			all[m[3]] = append(all[m[3]], m[1]+" "+m[2])
		}
		return len(all[last]) > 0
	})
	return all
}

// TestE2E_PlanOnlyReadsTheCluster has an operator that tries to reach the cluster in several ways. The log of the API server decides.
func TestE2E_PlanOnlyReadsTheCluster(t *testing.T) {
	needBox(t)
	t.Setenv("XDG_STATE_HOME", shortDir(t))
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := startLogged(t, program)
	s := &planSource{t: t, cluster: &devcluster.Cluster{KubeconfigPath: c.kubeconfig}, program: program}
	c.apply(t, "setup", "../../examples/crd.yaml")
	c.apply(t, "setup", s.manifest(fmt.Sprintf("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: a}, spec: {kubeconfig: %q, server: %q}}", c.kubeconfig, c.server)))

	exit, stdout, stderr := s.kopf("plan", "./intruding", "-n", "default", "-o", "json")
	var plan shapes.Plan
	if err := json.Unmarshal([]byte(stdout), &plan); err != nil || exit != 0 {
		t.Fatalf("%v: %d, %s%s", err, exit, stdout, stderr)
	}
	tried := 0
	for _, shape := range plan.Shapes {
		for _, write := range shape.Writes {
			for _, change := range write.Changes {
				if strings.HasPrefix(change.Path, "status.") {
					tried++
				}
				if strings.Contains(change.New, intruding.Reached) {
					t.Errorf("the operator has left the box: %s", change)
				}
			}
		}
	}
	if tried != 4 {
		t.Errorf("the operator has tried %d ways, want 4: %+v", tried, plan.Shapes)
	}
	c.apply(t, "setup-after", s.manifest("{apiVersion: v1, kind: ConfigMap, metadata: {name: after-the-plan}}"))
	all := c.requests(t, "setup-after")
	if len(all["kopf-plan"]) == 0 {
		t.Errorf("the plan has not read the cluster: %q", slices.Collect(maps.Keys(all)))
	}
	for agent, requests := range all {
		if strings.HasPrefix(agent, "controlplane/") || strings.HasPrefix(agent, "setup") {
			continue
		}
		for _, request := range requests {
			if agent != "kopf-plan" || !strings.HasPrefix(request, "GET ") && !strings.HasPrefix(request, "LIST ") {
				t.Errorf("the cluster has got %s of %q", request, agent)
			}
		}
	}

	// Without the box, the same ways lead to the cluster, and the log has them.
	outcomes := intruding.Try(t.Context(), c.kubeconfig, c.server)
	for _, way := range []string{"kubeconfig", "http", "tcp"} {
		if outcomes[way] != intruding.Reached {
			t.Errorf("outside of the box, %s ends with %s", way, outcomes[way])
		}
	}
	if requests := c.requests(t, intruding.Agent)[intruding.Agent]; !strings.HasPrefix(requests[0], "POST ") {
		t.Errorf("the log has %q", requests)
	}
}
