package settlement

import (
	"encoding/xml"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const wantReport = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="./handlers" tests="6" failures="4" skipped="1" time="2.500" timestamp="2026-01-02T03:04:05">
    <testcase classname="operator" name="operator" time="0.000">
      <failure message="it is not what it was">it is not what it was</failure>
    </testcase>
    <testcase classname="th/default/a" name="create" time="1.250"></testcase>
    <testcase classname="th/default/a" name="notify" time="0.000">
      <failure message="failed permanently (attempt 3): no &lt;size&gt;">failed permanently (attempt 3): no &lt;size&gt;&#xA;at all</failure>
    </testcase>
    <testcase classname="th/default/b" name="resize" time="0.000">
      <failure message="not settled: retrying (attempt 1)">not settled: retrying (attempt 1)</failure>
    </testcase>
    <testcase classname="th/default/c" name="object" time="0.000">
      <skipped message="no handler matches this object"></skipped>
    </testcase>
    <testcase classname="things/default/gone" name="object" time="0.000">
      <failure message="not settled: not seen by the operator yet">not settled: not seen by the operator yet</failure>
    </testcase>
  </testsuite>
</testsuites>
`

func TestReport_FullDiskIsNamed(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := &ReportError{Path: "/ci/report.xml", Err: &fs.PathError{Op: "write", Path: "/ci/.report.xml-1", Err: cause}}
		if got := err.Error(); !strings.Contains(got, cause.Error()) || !strings.Contains(got, "/ci/report.xml") || !strings.Contains(got, "free some space there") {
			t.Error(got)
		}
	}
}

func TestReport_OneCaseForEachHandlerOfEachObject(t *testing.T) {
	done := inspect.HandlerState{ID: "create", State: inspect.PhaseDone, Attempts: []inspect.Attempt{{Took: inspect.Duration(time.Second)}, {Took: inspect.Duration(250 * time.Millisecond)}}}
	failed := inspect.HandlerState{ID: "notify", State: inspect.PhaseFailed, Attempt: 3, Error: &inspect.HandlerError{Message: "no <size>\nat all"}}
	retrying := inspect.HandlerState{ID: "resize", State: inspect.PhaseRetrying, Attempt: 1}
	result := NewSettling([]Applied{applied("gone", ""), applied("c", ""), applied("b", ""), applied("a", "")}).Check(running(
		seen("a", "1", inspect.StateFailed, done, failed),
		seen("b", "1", inspect.StateRetrying, retrying),
		seen("c", "1", inspect.StateIgnored),
	), now)
	result.Failed = append(result.Failed, Unsettled{What: "it is not what it was"})
	path := filepath.Join(t.TempDir(), "report.xml")
	if err := CheckReport(path); err != nil {
		t.Fatal(err)
	}
	if err := WriteReport(path, result.JUnit(now, 2500*time.Millisecond, "./handlers")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var parsed JUnitSuites
	if err := xml.Unmarshal(text, &parsed); err != nil {
		t.Error(err)
	}
	want := wantReport
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 {
		t.Errorf("these files are left: %q", left)
	}
}

func TestCheckReport_RefusesWhatCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	for path, want := range map[string]string{
		folder: "it is not a file",
		filepath.Join(folder, "no", "report.xml"): "no such file or directory",
	} {
		var refused *ReportError
		if err := CheckReport(path); !errors.As(err, &refused) || refused.Err.Error() != want {
			t.Errorf("%s: got %v", path, err)
		}
	}
	path := filepath.Join(folder, "report.xml")
	if err := os.WriteFile(path, []byte("former"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckReport(path); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "former" {
		t.Errorf("the file is changed to %q, %v", text, err)
	}
}
