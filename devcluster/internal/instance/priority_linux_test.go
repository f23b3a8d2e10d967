package instance

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestProcess_LowerPriorityOfGroupAndSession(t *testing.T) {
	// A child stands for a thread: both are in the group of the process.
	p, err := Start(t.Context(), program(t, "sleep 600 & trap 'kill $!; exit 0' TERM; read line; kill $!"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	pid := p.cmd.Process.Pid
	child := childOf(t, pid)
	if before := niceness(t, child); before >= lowNiceness {
		t.Skipf("the tests run with the niceness %d; run them without nice to see it change to %d", before, lowNiceness)
	}
	if err := p.LowerPriority(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{pid, child} {
		if got := niceness(t, pid); got != lowNiceness {
			t.Errorf("process %d: niceness %d", pid, got)
		}
	}
	session, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", pid))
	if os.IsNotExist(err) {
		t.Log("the kernel does not divide the CPU time between sessions")
		return
	}
	if err != nil || !strings.Contains(string(session), fmt.Sprintf("nice %d\n", lowNiceness)) {
		t.Errorf("the session: %q, %v", session, err)
	}
	own, err := os.ReadFile("/proc/self/autogroup")
	if err != nil || string(own) == string(session) {
		t.Errorf("the process is in the session of this one: %q, %v", own, err)
	}
}

// childOf waits until a process has a child.
func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if os.IsNotExist(err) {
			t.Skip("this kernel does not list the children of a process; build it with CONFIG_PROC_CHILDREN to run the test")
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(string(text), &child); err == nil {
			return child
		}
	}
	t.Fatal("the process has no child")
	return 0
}

// niceness returns the niceness of a process: the 19th field. The second one is a name in parentheses.
func niceness(t *testing.T, pid int) int {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[16])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
