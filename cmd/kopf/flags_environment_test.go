package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestOperatorFlags_VariablesOfKopfSetWhatFlagsDoNot(t *testing.T) {
	dir, config := operatorTree(t, "fmt.Println(os.Environ())"), kubeconfig(t)
	for name, c := range map[string]struct {
		env, args  []string
		want, none []string
	}{
		"all": {
			env: []string{
				"KOPF_RUN_NAMESPACES= one\ttwo ", "KOPF_RUN_NAMESPACE=three", "KOPF_RUN_LIVENESS_ENDPOINT=http://127.0.0.1:0/", "KOPF_RUN_PEERING=example",
				"KOPF_RUN_PRIORITY=7", "KOPF_RUN_DEBUG=yes", "KOPF_RUN_LOG_FORMAT=plain", "KOPF_RUN_LOG_REFKEY=ref", "KOPF_RUN_LOG_PREFIX=off", "KOPF_RUN_STANDALONE=",
			},
			want: []string{
				"--namespace=one", "--namespace=two", "--namespace=three", "--liveness=http://127.0.0.1:0/", "--peering=example", "--priority=7", "--debug",
				"--log-format=plain", "--log-refkey=ref", "--no-log-prefix",
			},
			none: []string{"--standalone", "--dev", "--all-namespaces"},
		},
		"flags win": {
			env: []string{
				"KOPF_RUN_NAMESPACES=one", "KOPF_RUN_PEERING=example", "KOPF_RUN_PRIORITY=7", "KOPF_RUN_DEBUG=1", "KOPF_RUN_LOG_FORMAT=plain",
			},
			args: []string{"-A", "--standalone", "-p", "8", "-q", "--log-format=json"},
			want: []string{"--all-namespaces", "--standalone", "--priority=8", "--quiet", "--log-format=json"},
			none: []string{"--namespace=one", "--peering=example", "--priority=7", "--debug"},
		},
		"other names": {
			env:  []string{"KOPF_RUN_PEERING_NAME=example", "KOPF_RUN_CLUSTERWIDE=true", "KOPF_RUN_VERBOSE=1"},
			want: []string{"--peering=example", "--all-namespaces", "--verbose"},
		},
		"the priority of development": {
			env:  []string{"KOPF_RUN_DEV=1", "KOPF_RUN_PRIORITY=7"},
			want: []string{"--dev"},
			none: []string{"--priority=7"},
		},
		"a priority of its own": {
			env:  []string{"KOPF_RUN_DEV=1"},
			args: []string{"-p7", "-Pexample", "-d", "-Lhttp://127.0.0.1:0/"},
			want: []string{"--dev", "--priority=7", "--peering=example", "--debug", "--liveness=http://127.0.0.1:0/"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stdout, stderr := command(t, dir, append([]string{"run", ".", "--kubeconfig=" + config}, c.args...)...)
			cmd.Env = append(cmd.Env, c.env...)
			if got := code(t, cmd.Run()); got != 0 {
				t.Fatalf("%d, %s", got, stderr)
			}
			got := strings.Fields(stdout.String())
			for _, flag := range c.want {
				if !slices.Contains(got, flag) {
					t.Errorf("without %s: %s", flag, stdout)
				}
			}
			for _, flag := range c.none {
				if slices.Contains(got, flag) {
					t.Errorf("with %s: %s", flag, stdout)
				}
			}
			if strings.Contains(stdout.String(), "KOPF_RUN_") {
				t.Errorf("the operator reads the variables, too: %s", stdout)
			}
		})
	}
}

func TestVariablesOfKopf_MistakesNameTheVariable(t *testing.T) {
	t.Setenv("KOPF_RUN_PRIORITY", "high")
	t.Setenv("KOPF_FREEZE_LIFETIME", "soon")
	const want = `KOPF_RUN_PRIORITY: invalid argument "high" for "-p, --priority" flag`
	exit, _, stderr := operator(t)
	if exit != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("the operator: %d, %s", exit, stderr)
	}
	for line, want := range map[string]string{
		"run .": want, "freeze": `KOPF_FREEZE_LIFETIME: invalid argument "soon" for "-t, --lifetime" flag: want seconds`,
	} {
		var out bytes.Buffer
		if got := execute(t.Context(), strings.Fields(line), &out, &out); got != exitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("kopf %s: %d, %s", line, got, &out)
		}
	}
}

func TestVariablesOfKopf_SetFlagsOfOperatorFreezeAndResume(t *testing.T) {
	cluster := peeringCluster(t)
	example := createPeering(cluster, "example")
	cmd, _, stderr := command(t, t.TempDir(), "--identity=me", "--kubeconfig="+cluster.Kubeconfig())
	cmd.Env = append(os.Environ(), asOperator+"=1", "KOPF_RUN_NAMESPACES="+cluster.Namespace, "KOPF_RUN_PEERING=example", "KOPF_RUN_PRIORITY=7")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	example.WaitFor("the operator takes part", func(o *kopf.Object) bool { return kopf.GetOr(o, "status.me.priority", 0) == 7 })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != 0 {
		t.Errorf("%d, %s", got, stderr)
	}

	for _, command := range []string{"FREEZE", "RESUME"} {
		t.Setenv("KOPF_"+command+"_NAMESPACES", cluster.Namespace)
		t.Setenv("KOPF_"+command+"_PEERING", "example")
		t.Setenv("KOPF_"+command+"_ID", "admin")
	}
	t.Setenv("KOPF_FREEZE_DEV", "1")
	t.Setenv("KOPF_FREEZE_LIFETIME", "600")
	t.Setenv("KOPF_FREEZE_MESSAGE", "an incident")
	said := withoutFlags(t, cluster, "freeze", "-d")
	expect(t, said, "is frozen by admin, priority 666", "kopf: PATCH "+cluster.Config.Host)
	if got := kopf.GetOr(example.Get(), "status.admin.message", ""); got != "an incident" {
		t.Errorf("the message is %q", got)
	}
	withoutFlags(t, cluster, "resume")
	if example.Get().Get("status.admin") != nil {
		t.Error("the record stays after kopf resume")
	}
}

// withoutFlags runs a command with the flags for the cluster only.
func withoutFlags(t *testing.T, cluster *kopftest.Cluster, words ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := execute(t.Context(), append(words, "--kubeconfig="+cluster.Kubeconfig()), &out, &out); got != 0 {
		t.Fatalf("kopf %s: %d: %s", strings.Join(words, " "), got, &out)
	}
	return out.String()
}

func TestDev_HasPriorityOfDevelopmentInClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := operatorTree(t, `os.WriteFile(os.Getenv("ARGUMENTS"), []byte(strings.Join(os.Args, " ")), 0o600); os.Exit(3)`)
	for _, c := range []struct {
		flag string
		want bool
	}{{"--dev", true}, {"--priority=5", true}, {"--dev=false", false}, {"--standalone", false}} {
		arguments := filepath.Join(t.TempDir(), "arguments")
		cmd, stdout, stderr := command(t, dir, "dev", ".", "--ephemeral", "-A", "--until=settled", c.flag)
		if c.want && c.flag == "--dev" {
			cmd.Args = cmd.Args[:len(cmd.Args)-1] // it is the default
		}
		cmd.Env = append(os.Environ(), asCommand+"=1", "GOWORK=off", "GOPROXY=off", "XDG_STATE_HOME="+shortDir(t), "KOPF_CONTROLPLANE="+program, "ARGUMENTS="+arguments)
		if got := code(t, cmd.Run()); got == 0 {
			t.Errorf("%s: the operator has ended itself, and kopf dev says nothing: %s", c.flag, stdout)
		}
		text, err := os.ReadFile(arguments)
		if err != nil {
			t.Fatalf("%v: %s%s", err, stdout, stderr)
		}
		if got := slices.Contains(strings.Fields(string(text)), "--dev"); got != c.want {
			t.Errorf("%s: --dev is %t: %s", c.flag, got, text)
		}
	}
}
