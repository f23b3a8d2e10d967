package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sort"
	"strings"
)

// draw returns n units for a review: two fifths comments of declarations, three tenths comments of fields, and three
// tenths messages and comments in bodies; of Markdown, sentences. The same seed draws the same units.
func draw(units []unit, n int, seed string) []unit {
	groups := make([][]unit, 3)
	for _, u := range units {
		switch {
		case u.kind == paragraph:
			groups[0] = append(groups[0], asSentences(u)...)
		case strings.HasSuffix(u.file, "_test.go"):
		case u.kind == exportedComment || u.kind == internalComment:
			groups[0] = append(groups[0], u)
		case u.kind == fieldComment:
			groups[1] = append(groups[1], u)
		default:
			groups[2] = append(groups[2], u)
		}
	}
	sum := fnv.New64a()
	sum.Write([]byte(seed))
	random := rand.New(rand.NewPCG(sum.Sum64(), 0))
	var drawn, rest []unit
	for i, group := range groups {
		random.Shuffle(len(group), func(a, b int) { group[a], group[b] = group[b], group[a] })
		share := min(n*[]int{4, 3, 3}[i]/10, len(group))
		drawn = append(drawn, group[:share]...)
		rest = append(rest, group[share:]...)
	}
	random.Shuffle(len(rest), func(a, b int) { rest[a], rest[b] = rest[b], rest[a] })
	drawn = append(drawn, rest[:min(n-len(drawn), len(rest))]...)
	sort.SliceStable(drawn, func(i, j int) bool { return drawn[i].kind < drawn[j].kind })
	return drawn
}

func asSentences(u unit) []unit {
	var all []unit
	for _, s := range sentences(u.text) {
		one := u
		one.text = strings.TrimSpace(u.text[s[0]:s[1]])
		one.line += strings.Count(u.text[:s[0]], "\n")
		if len(strings.Fields(one.text)) >= 4 {
			all = append(all, one)
		}
	}
	return all
}

func printSample(out io.Writer, units []unit) {
	for i, u := range units {
		name := ""
		if u.name != "" {
			name = " " + u.name
		}
		fmt.Fprintf(out, "%d. %s%s (%s:%d)\n", i+1, u.kind, name, u.file, u.line)
		fmt.Fprintf(out, "   %s\n", strings.ReplaceAll(strings.TrimSpace(u.text), "\n", "\n   "))
	}
}
