// Command prose checks the English of comments, messages and documentation with the rules in .vale/styles.
//
//	prose                          compare the findings with the baseline; fail if a count rises
//	prose DIR...                   list the findings in folders
//	prose -update                  lower the baseline to the present counts
//	prose -sample DIR -n 50 -seed S   draw units of text for a review
//	prose -same-code OLD NEW       check that two revisions differ only in comments and Markdown
//	prose -subject FILE            check the subject of a commit message; "-" reads standard input
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	stylesDir    = ".vale/styles/Kopf"
	baselineFile = "hack/prose/baseline.json"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("prose", flag.ContinueOnError)
	update := flags.Bool("update", false, "lower the baseline to the present counts")
	sample := flags.String("sample", "", "draw units of text from a `folder`")
	n := flags.Int("n", 50, "the number of units to draw")
	seed := flags.String("seed", "", "the seed of the sample, such as the hash of a commit")
	sameCode := flags.Bool("same-code", false, "check that two revisions differ only in comments and Markdown")
	subject := flags.String("subject", "", "check the subject of the commit message in a `file`")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *subject != "" {
		return checkSubjectFile(*subject, stdin)
	}
	root, err := git(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	tree := strings.TrimSpace(root)
	if *sameCode {
		if flags.NArg() != 2 {
			return errors.New("usage: prose -same-code OLD NEW")
		}
		return checkSameCode(tree, flags.Arg(0), flags.Arg(1), out)
	}
	if *sample != "" {
		if *seed == "" {
			return errors.New("draw a sample: -seed is missing; use the hash of the commit under review")
		}
		units, err := readUnits(tree, []string{*sample})
		if err != nil {
			return err
		}
		printSample(out, draw(units, *n, *seed))
		return nil
	}
	rules, err := readRules(filepath.Join(tree, stylesDir))
	if err != nil {
		return err
	}
	units, err := readUnits(tree, flags.Args())
	if err != nil {
		return err
	}
	found := check(rules, units)
	if flags.NArg() > 0 {
		for _, f := range found {
			fmt.Fprintln(out, f)
		}
		return nil
	}
	return compareWithBaseline(filepath.Join(tree, baselineFile), rules, found, *update, out)
}

// readUnits returns the units of all tracked Go and Markdown files below the folders, or of the whole tree without any.
func readUnits(tree string, dirs []string) ([]unit, error) {
	args := []string{"ls-files", "-z", "--"}
	if len(dirs) == 0 {
		args = append(args, "*.go", "*.md")
	}
	for _, dir := range dirs {
		dir = strings.TrimSuffix(filepath.ToSlash(filepath.Clean(dir)), "/")
		if dir == "." {
			args = append(args, "*.go", "*.md")
		} else {
			args = append(args, dir+"/*.go", dir+"/*.md")
		}
	}
	list, err := git(tree, args...)
	if err != nil {
		return nil, err
	}
	var units []unit
	for _, file := range strings.Split(strings.TrimSuffix(list, "\x00"), "\x00") {
		if file == "" || strings.Contains("/"+file, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(tree, file))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted in the working tree
		} else if err != nil {
			return nil, err
		}
		if strings.HasSuffix(file, ".md") {
			units = append(units, markdownUnits(file, string(text))...)
			continue
		}
		more, err := goUnits(file, text)
		if err != nil {
			return nil, err
		}
		units = append(units, more...)
	}
	if len(units) == 0 {
		return nil, fmt.Errorf("read the texts below %s: no tracked Go or Markdown files", strings.Join(dirs, ", "))
	}
	return units, nil
}

func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}
