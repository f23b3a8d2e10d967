package shapes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// Against is a comparison with another build of the operator, on an identical copy.
type Against struct {
	Build  string `json:"build"`            // git ref of the other build, the file of its program, or the command that runs it
	Commit string `json:"commit,omitempty"` // commit of the git ref; empty for a file

	// Foreign is true for a program whose handlers are not known. Then the changed objects, their final states and the rejected requests
	// are compared, and nothing else.
	Foreign bool `json:"foreign,omitempty"`

	// Ended is the reason why a run of the other build ended early, so that the comparison is incomplete; empty if both
	// runs had finished all work.
	Ended string `json:"ended,omitempty"`

	AsBefore    int          `json:"asBefore"`    // number of objects without a difference
	Differences []Difference `json:"differences"` // groups of objects, new failures first
	Noise       []string     `json:"noise"`       // fields that differ between two runs of the other build, and are not compared
	Requests    []Request    `json:"requests"`    // requests of the other build

	// NotTried are the reasons why the other build saw other objects than in the cluster, without the reasons that hold for this build, too.
	NotTried []string `json:"notTried,omitempty"`

	// Handlers are the handlers of both builds whose behaviour or version differs.
	Handlers []HandlerDifference `json:"handlers,omitempty"`
}

// Difference is a kind of difference between two builds.
type Difference struct {
	ID       string     `json:"id"`
	Verdict  Comparison `json:"verdict"`
	Count    int        `json:"count"`
	Resource string     `json:"resource"` // key of the resource, such as "kopfexamples.v1.kopf.dev"
	Short    string     `json:"short"`
	Objects  []string   `json:"objects"`
	Changes  []Change   `json:"changes"` // Old is the value of the other build
}

// Comparison is the verdict on an object in a comparison.
type Comparison string

// The verdicts of a comparison, in their order.
const (
	NewlyFails    Comparison = "newlyFails"    // a handler or a request fails that did not fail with the other build
	Differs       Comparison = "differs"       // the called handlers, the requests or the resulting objects differ
	NoLongerFails Comparison = "noLongerFails" // a handler or a request failed with the other build, and nothing fails now
)

var comparisons = []Comparison{NewlyFails, Differs, NoLongerFails}

// comparisonWords are the words for the verdicts in the output.
var comparisonWords = map[Comparison]string{NewlyFails: "newly fail", Differs: "differ", NoLongerFails: "would no longer fail"}

// name returns the name of the other build.
func (a *Against) name() string {
	if a.Commit == "" || strings.HasPrefix(a.Commit, a.Build) {
		return a.Build
	}
	return fmt.Sprintf("%s (%s)", a.Build, a.Commit[:min(12, len(a.Commit))])
}

// sentence returns a summary of the comparison.
func (a *Against) sentence() string {
	counts := make(map[Comparison]int)
	for _, d := range a.Differences {
		counts[d.Verdict] += d.Count
	}
	var parts []string
	for _, v := range comparisons {
		if counts[v] > 0 {
			parts = append(parts, thousands(counts[v])+" "+comparisonWords[v])
		}
	}
	if len(parts) == 0 {
		parts = []string{"no differences"}
	}
	return strings.Join(append(parts, thousands(a.AsBefore)+" as before"), ", ")
}

func (d Difference) title() string {
	return printable.Line(fmt.Sprintf("%7s  %-20s %s  %s", thousands(d.Count), comparisonWords[d.Verdict], cmp.Or(d.Short, "requests"), firstOf(d.Objects)))
}

// text describes a difference. It appends a remark to each change; nil for none.
func (d Difference) text(remarks []string) string {
	lines := []string{d.title()}
	for i, c := range d.Changes[:min(maxChanges, len(d.Changes))] {
		line := "         " + c.String()
		if remarks != nil {
			line += remarks[i]
		}
		lines = append(lines, printable.Line(line))
	}
	if more := len(d.Changes) - maxChanges; more > 0 {
		lines = append(lines, fmt.Sprintf("         … %s more: see --report=FILE", plural(more, "difference")))
	}
	return strings.Join(lines, "\n") + "\n"
}

// parts returns the texts about the differences. Differences of one kind are one part if they have more than maxNames objects.
func (a *Against) parts() []part {
	byKind := make(map[string][]Difference)
	for _, d := range a.Differences {
		byKind[d.kind()] = append(byKind[d.kind()], d)
	}
	shown := make([]Difference, 0, len(a.Differences))
	remarks := make(map[string][]string) // remarks about the changes, by the ids of merged differences
	for _, same := range byKind {
		if all, about := merged(same); len(same) > 1 && all.Count > maxNames {
			shown, remarks[all.ID] = append(shown, all), about
		} else {
			shown = append(shown, same...)
		}
	}
	slices.SortFunc(shown, compareDifferences)
	var parts []part
	for _, d := range shown {
		parts = append(parts, part{title: d.title(), body: d.text(remarks[d.ID]), objects: d.Count})
	}
	return parts
}

// kind returns the difference as text, without values that can depend on the object.
func (d Difference) kind() string {
	parts := []string{string(d.Verdict), d.Resource}
	for _, c := range d.Changes {
		if c.perObject {
			c.Old, c.New = strings.Repeat("x", min(1, len(c.Old))), strings.Repeat("x", min(1, len(c.New)))
		}
		parts = append(parts, c.String())
	}
	return strings.Join(parts, "\n")
}

// merged merges differences of the same kind, with the values of the first one. The remarks have the numbers of values.
func merged(same []Difference) (Difference, []string) {
	all := same[0]
	example := all.Objects[0]
	all.Objects = nil
	values := make([]map[Change]bool, len(all.Changes))
	for i := range values {
		values[i] = make(map[Change]bool)
	}
	all.Count = 0
	for _, d := range same {
		all.Count += d.Count
		all.Objects = append(all.Objects, d.Objects...)
		for i, c := range d.Changes {
			values[i][c] = true
		}
	}
	slices.Sort(all.Objects)
	remarks := make([]string, len(values))
	for i, of := range values {
		if len(of) > 1 {
			remarks[i] = fmt.Sprintf(" (%s; %s: see --report=FILE)", example, plural(len(of), "different value"))
		}
	}
	return all, remarks
}

// compareDifferences sorts new failures first, and then by the number of objects.
func compareDifferences(x, y Difference) int {
	return cmp.Or(cmp.Compare(slices.Index(comparisons, x.Verdict), slices.Index(comparisons, y.Verdict)), -cmp.Compare(x.Count, y.Count), cmp.Compare(x.ID, y.ID))
}

// noise returns the text about the fields that are not compared.
func (a *Against) noise() string {
	if len(a.Noise) == 0 {
		return "none"
	}
	return fmt.Sprintf("%s not compared, because two runs of %s differ: %s", plural(len(a.Noise), "field"), a.name(), firstOf(a.Noise))
}
