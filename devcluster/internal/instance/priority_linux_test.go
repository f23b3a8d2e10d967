package instance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProcess_LowerPriorityOfAllThreadsAndSession(t *testing.T) {
	// A child stands for a thread: both are in the group of the process.
	p, err := Start(t.Context(), program(t, "sleep 60 & trap 'kill $!; exit 0' TERM; read line; kill $!"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := p.LowerPriority(); err != nil {
		t.Fatal(err)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			t.Fatal(err)
		}
		// The niceness is the 19th field; the second one is a name in parentheses.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if got := fields[16]; got != fmt.Sprint(lowNiceness) {
			t.Errorf("%s: niceness %s", thread, got)
		}
	}
	session, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", p.cmd.Process.Pid))
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
