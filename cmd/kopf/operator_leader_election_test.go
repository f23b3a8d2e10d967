package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestE2E_LeaderElectionOfPackageWithElector(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./electing", "--leader-elect", "--lease=default/electing",
		"--apply", "electing/object.yaml", "--until=settled")
	if got := code(t, cmd.Run()); got != 0 || !strings.Contains(stderr.String(), "Elected: this replica handles the objects") {
		t.Errorf("%d, %s%s", got, stdout, stderr)
	}
	if strings.Contains(stderr.String(), "unknown transport") {
		t.Errorf("the library complains: %s", stderr)
	}
}

func TestE2E_LeaderElectionWithoutElectorNamesLineToAdd(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"run", "dev"} {
		cmd, stdout, stderr := withCluster(t, shortDir(t), command, "./failing", "--leader-elect", "--lease=default/failing", "--until=settled")
		got := code(t, cmd.Run())
		said := stdout.String() + stderr.String()
		for _, want := range []string{"call leaderelection.Register(r) where the handlers are registered", "go get github.com/kopf-dev/kopf/sdk/leaderelection"} {
			if got != 1 || !strings.Contains(said, want) {
				t.Errorf("kopf %s: %d, %q is missing: %s", command, got, want, said)
			}
		}
	}
}

func TestE2E_DevReleasesLease(t *testing.T) {
	cluster := peeringCluster(t)
	lease := cluster.Object("leases.coordination.k8s.io", "electing")
	holder := func() string {
		if !lease.Exists() {
			return ""
		}
		return kopf.GetOr(lease.Get(), "spec.holderIdentity", "")
	}
	for _, end := range []string{"quit", "killed"} {
		cmd, _, _ := command(t, "testdata", "dev", "./electing", "--leader-elect", "--lease="+cluster.Namespace+"/electing",
			"-n", cluster.Namespace, "--kubeconfig="+cluster.Kubeconfig())
		cmd.Env = inCheckout(cmd.Env)
		out, said := outputFile(t)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventuallyWithin(t, 5*time.Minute, "elected", func() bool { return holder() != "" })
		if end == "quit" {
			stop(t, cmd, said)
			if by := holder(); by != "" {
				t.Errorf("kopf dev has ended, and %s has the lease: %s", by, said())
			}
			continue
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		eventually(t, "released by the operator, which kopf dev has left behind", func() bool { return holder() == "" })
	}
}
