package main

import (
	"strings"
	"testing"
)

func TestE2E_ObjectThatTheOperatorDeniesFailsTheRun(t *testing.T) {
	t.Parallel()
	for _, sub := range []string{"run", "dev"} {
		cmd, stdout, stderr := withCluster(t, shortDir(t), sub, "./denying", "--apply", "denying", "--until=settled")
		if got := code(t, cmd.Run()); got != 1 || !strings.Contains(stderr.String(), "denying/big.yaml:1: ConfigMap big: ") || !strings.Contains(stderr.String(), "it is too big") {
			t.Errorf("%s: %d, %s%s", sub, got, stdout, stderr)
		}
	}
}

func TestE2E_ObjectThatTheOperatorAcceptsIsSettled(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./denying", "--apply", "denying/small.yaml", "--until=settled", "-v")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	secret, waits := strings.Index(stderr.String(), "secrets default/key created"), strings.Index(stderr.String(), "applied when the operator is ready, because it reviews them: ConfigMap")
	object := strings.Index(stderr.String(), "configmaps default/small created")
	if secret < 0 || waits < secret || object < waits {
		t.Errorf("the order is not that of the secret and the reviewed object: %s", stderr)
	}
}
