package settlement

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ReportError is the error of a report that cannot be written.
type ReportError struct {
	Path string
	Err  error
}

func (e *ReportError) Error() string {
	next := "choose a file in a folder that you can write to"
	if errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT) {
		next = "free some space there, or choose a file on another disk"
	}
	return fmt.Sprintf("write the report %s: %v; %s", e.Path, e.Err, next)
}

// Unwrap returns the cause.
func (e *ReportError) Unwrap() error { return e.Err }

// CheckReport returns a [*ReportError] if the report cannot be written, without changing the file.
func CheckReport(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return &ReportError{Path: path, Err: errors.New("it is not a file")}
	}
	file, err := createBeside(path)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
		return &ReportError{Path: path, Err: err}
	}
	return nil
}

// RemoveReport removes the report of an earlier run, if there is one. It returns a [*ReportError] if a new report cannot be
// written.
func RemoveReport(path string) error {
	if err := CheckReport(path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &ReportError{Path: path, Err: err}
	}
	return nil
}

// createBeside creates a file in the folder of the report. When the file is complete, it replaces the report.
func createBeside(path string) (*os.File, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		// The error omits the path of the temporary file, which the user does not know.
		if p, ok := errors.AsType[*os.PathError](err); ok {
			err = p.Err
		}
		return nil, &ReportError{Path: path, Err: err}
	}
	return file, nil
}

// The part of the JUnit format that continuous integration reads.
type (
	// JUnitSuites is a report.
	JUnitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		At       string      `xml:"timestamp,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"` // the object
		Name    string        `xml:"name,attr"`      // the handler
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
		Skipped *junitSkipped `xml:"skipped,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// JUnit returns the report: a test case for each handler of each object.
func (s Settlement) JUnit(began time.Time, took time.Duration, name string) JUnitSuites {
	suite := junitSuite{Name: name, Time: seconds(took), At: began.UTC().Format("2006-01-02T15:04:05")}
	add := func(c junitCase) {
		suite.Tests++
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Skipped != nil {
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, u := range slices.Concat(s.Failed, s.Pending) {
		if u.Object == "" { // about the operator as a whole
			add(junitCase{Class: "operator", Name: "operator", Time: seconds(0), Failure: newFailure(u.What)})
		}
	}
	for _, o := range sortOutcomes(s.outcomes) {
		handlers, bad := 0, false
		for _, h := range o.handlers {
			c := junitCase{Class: o.name, Name: h.id, Time: seconds(h.took)}
			switch {
			case h.failed != "":
				c.Failure, bad = newFailure(h.failed), true
			case h.pending != "":
				c.Failure, bad = newFailure("not settled: "+h.pending), true
			}
			handlers++
			add(c)
		}
		// If no handler explains the state of the object, the object itself has a case.
		c := junitCase{Class: o.name, Name: "object", Time: seconds(0)}
		switch {
		case bad:
			continue
		case o.failed != "":
			c.Failure = newFailure(o.failed)
		case o.pending != "":
			c.Failure = newFailure("not settled: " + o.pending)
		case o.skipped != "":
			c.Skipped = &junitSkipped{Message: o.skipped}
		case handlers > 0:
			continue
		}
		add(c)
	}
	return JUnitSuites{Suite: suite}
}

func newFailure(text string) *junitFailure {
	message, _, _ := strings.Cut(text, "\n")
	return &junitFailure{Message: message, Text: text}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// WriteReport writes the report atomically: readers see either the previous or the complete new report.
func WriteReport(path string, report JUnitSuites) (err error) {
	file, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the file is incomplete
			err = &ReportError{Path: path, Err: err}
		}
	}()
	text, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return errors.Join(err, file.Close())
	}
	_, err = fmt.Fprintf(file, "%s%s\n", xml.Header, text)
	if err = errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
