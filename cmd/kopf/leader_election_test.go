package main

import (
	"strings"
	"testing"
)

func TestE2E_LeaderElectionOfPackageWithElector(t *testing.T) {
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
