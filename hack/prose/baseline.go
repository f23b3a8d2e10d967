package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
)

// counts are the numbers of findings by rule and package.
type counts map[string]map[string]int

func count(rules []*rule, found []finding) counts {
	n := counts{}
	for _, r := range rules {
		if r.counted() {
			n[r.Name] = map[string]int{}
		}
	}
	for _, f := range found {
		if f.rule.counted() {
			n[f.rule.Name][f.unit.pkg()]++
		}
	}
	return n
}

// compareWithBaseline fails if a package has more findings of a rule than the baseline allows, and lists them. With
// update, it lowers the baseline instead, and adds rules that the baseline does not know.
func compareWithBaseline(file string, rules []*rule, found []finding, update bool, out io.Writer) error {
	allowed := counts{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &allowed)
	} else if errors.Is(err, os.ErrNotExist) && update {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("read the baseline %s: %w", file, err)
	}
	now := count(rules, found)
	raised := now.above(allowed, update)
	for _, f := range found {
		if raised[[2]string{f.rule.Name, f.unit.pkg()}] {
			fmt.Fprintln(out, f)
		}
	}
	if len(raised) > 0 {
		return errors.New(describe(raised, now, allowed))
	}
	if update {
		return now.write(file)
	}
	if lower := allowed.above(now, true); len(lower) > 0 {
		fmt.Fprintf(out, "%d counts of the baseline can be lowered: go run ./hack/prose -update\n", len(lower))
	}
	now.print(out)
	return nil
}

// above returns the rules and packages with more findings than allowed. New rules are left out on request.
func (n counts) above(allowed counts, skipNew bool) map[[2]string]bool {
	more := map[[2]string]bool{}
	for name, pkgs := range n {
		known, ok := allowed[name]
		if !ok && skipNew {
			continue
		}
		for pkg, k := range pkgs {
			if k > known[pkg] {
				more[[2]string{name, pkg}] = true
			}
		}
	}
	return more
}

func describe(raised map[[2]string]bool, now, allowed counts) string {
	var lines []string
	for key := range raised {
		lines = append(lines, fmt.Sprintf("%s in %s: %d, the baseline allows %d", key[0], key[1], now[key[0]][key[1]], allowed[key[0]][key[1]]))
	}
	sort.Strings(lines)
	return "more findings than in the baseline; rewrite one of the sentences above\n\t" + strings.Join(lines, "\n\t")
}

func (n counts) write(file string) error {
	for _, pkgs := range n {
		for pkg, k := range pkgs {
			if k == 0 {
				delete(pkgs, pkg)
			}
		}
	}
	text, err := json.MarshalIndent(n, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// print writes a line for each rule: the findings outside tests, and those in tests.
func (n counts) print(out io.Writer) {
	var names []string
	for name := range n {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		code, tests := 0, 0
		for pkg, k := range n[name] {
			if strings.HasSuffix(pkg, " (tests)") {
				tests += k
			} else {
				code += k
			}
		}
		fmt.Fprintf(out, "%-14s %5d outside tests %5d in tests\n", name, code, tests)
	}
}
