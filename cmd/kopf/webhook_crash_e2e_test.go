package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// refusing is an operator that refuses config maps with a label, and names its process. It panics at its start
// if it is broken.
const refusing = `package op

import (
	"context"
	"os"
	"strconv"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const broken = %t

func Register(r *kopf.Registry) {
	if broken {
		panic("broken")
	}
	kopf.OnValidate(r, kopf.Resource("v1", "configmaps"), refuse, kopf.Webhook{Operations: []kopf.Operation{kopf.OperationCreate}}, kopf.Labels{"refused": kopf.Present})
}

func refuse(context.Context, *kopf.Admission[kopf.Object]) error {
	return kopf.AdmissionError{Message: "refused by process " + strconv.Itoa(os.Getpid())}
}
`

var refusedBy = regexp.MustCompile(`refused by process ([0-9]+)`)

// refuser creates an object, and returns the process that has refused it: 0 if it is admitted.
func refuser(ctx context.Context, client dynamic.Interface) (int, error) {
	_, err := client.Resource(configMaps).Namespace("default").Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"generateName": "refused-", "labels": map[string]any{"refused": "yes"}},
	}}, metav1.CreateOptions{})
	if err == nil {
		return 0, nil
	}
	if found := refusedBy.FindStringSubmatch(err.Error()); found != nil {
		return strconv.Atoi(found[1])
	}
	return -1, err
}

// expectNobodyBlocked creates objects, none of which is reviewed. If each took all the time of its webhook, they would not
// be done within the limit.
func expectNobodyBlocked(t *testing.T, client dynamic.Interface, when string) {
	t.Helper()
	const requests, limit = 20, time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began, slowest := time.Now(), time.Duration(0)
	for n := range requests {
		sent := time.Now()
		if pid, err := refuser(ctx, client); err != nil || pid != 0 {
			t.Fatalf("%s, request %d: refused by %d, %v", when, n, pid, err)
		}
		slowest = max(slowest, time.Since(sent))
	}
	t.Logf("%s: %d objects created in %s, the slowest in %s", when, requests, time.Since(began).Round(time.Millisecond), slowest.Round(time.Millisecond))
}

func TestE2E_CrashedOperatorBlocksNobody(t *testing.T) {
	cluster, client := startCluster(t)
	dir, env, put := moduleOfOperator(t)
	save := func(broken bool) { put(fmt.Sprintf(refusing, broken)) }
	save(false)
	flag := "--kubeconfig=" + cluster.KubeconfigPath
	dev, said := startDev(t, dir, env, flag)
	// reviewed waits until another process than the given one reviews, and returns its ID. No request fails meanwhile.
	reviewed := func(former int) (pid int) {
		t.Helper()
		eventuallyWithin(t, 3*time.Minute, "reviewed by another process than "+strconv.Itoa(former), func() bool {
			var err error
			if pid, err = refuser(t.Context(), client); err != nil {
				t.Fatalf("%v\n%s", err, said())
			}
			return pid != 0 && pid != former
		})
		return pid
	}
	first := reviewed(0)

	// An operator that is killed is started again; until then, its requests are admitted or wait for it.
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := reviewed(first)

	// One that crashes again and again reviews nothing.
	save(true)
	eventuallyWithin(t, 3*time.Minute, "crashing", func() bool { return strings.Count(said(), "panic: broken") >= 2 })
	expectNobodyBlocked(t, client, "while the operator crashes")
	save(false)
	third := reviewed(second)

	// Nor does a session that is killed, nor its operator, which ends with it.
	if err := dev.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := code(t, dev.Wait()); got != -1 {
		t.Errorf("%d, %s", got, said())
	}
	expectNobodyBlocked(t, client, "after kopf dev was killed")
	expectConfigurations(t, client, 1)
	eventuallyWithin(t, time.Minute, "ended", func() bool { return syscall.Kill(third, 0) != nil })

	// The next start removes the remaining configuration, and reviews again.
	dev, said = startDev(t, dir, env, flag)
	reviewed(third)
	if want := "removed ValidatingWebhookConfiguration "; !strings.Contains(said(), want) {
		t.Errorf("it does not say %q: %s", want, said())
	}
	expectConfigurations(t, client, 1)
	stop(t, dev, said)
	expectConfigurations(t, client, 0)
}
