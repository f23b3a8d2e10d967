// Figures measures the performance figures of this repository on this machine. See
// bench/README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// limit ends a run that hangs.
const limit = 30 * time.Minute

func main() {
	name, do := "bench", run
	switch {
	case os.Getenv(bareVariable) != "":
		name, do = "bare client", func() error { return runBareClient(os.Args[1:]) }
	case os.Getenv(writerVariable) != "":
		name, do = "writer", func() error { return runWriter(os.Args[1:]) }
	case os.Getenv(echoVariable) != "":
		name, do = "echo", runEcho
	}
	if err := do(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run() (err error) {
	profile := flag.String("profile", "", "write profiles of the operator to this folder: for the figures creation, catchup, index, background and resume")
	against := flag.String("against", "", "measure this operator, which is another build of bench/operator, in turns with the own one or at the same time: for the figures creation, catchup, overtaking, children, sidebyside and childrenside")
	results := flag.String("results", "", "write the rows of each figure, with their samples, to a JSON file in this folder")
	flag.IntVar(&turns, "turns", turns, "how many times the programs are measured in turns: for the figures creation, catchup with -against, children, childpeer and protocols")
	flag.IntVar(&strangers, "strangers", strangers, "the number of objects of others in the figure childevents")
	flag.IntVar(&existingObjects, "objects", existingObjects, "the number of existing objects of the figures catchup, overtaking and steps")
	flag.Func("sizes", "the numbers of objects of the figure sizes, separated by commas (default 1000,10000,100000)", parseSizes)
	flag.Usage = printUsage
	flag.Parse()
	chosen, err := choose(flag.Args())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	l, err := newEnvironment(*profile)
	if err != nil {
		return err
	}
	l.against = *against
	defer func() { err = errors.Join(err, l.close()) }()
	machine, err := describeMachine(ctx)
	if err != nil {
		return err
	}
	if err := l.buildOperator(ctx); err != nil {
		return err
	}
	began := time.Now()
	var rows []row
	for _, f := range chosen {
		l.say("%s: %s", f.name, f.about)
		meter, start := newMeter(), time.Now()
		measured, err := f.measure(ctx, l)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		others, err := meter.others()
		if err != nil {
			return err
		}
		for i := range measured {
			measured[i].figure, measured[i].others = f.name, others
		}
		rows = append(rows, measured...)
		if *results != "" {
			if err := writeResults(*results, f.name, machine, start, measured); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%s, on %s; %s in total. Others: the share of the machine's CPU time that other programs used meanwhile.\n\n",
		began.Format(time.DateOnly), machine, time.Since(began).Round(time.Second))
	printTable(os.Stdout, rows)
	return nil
}

func choose(names []string) ([]figure, error) {
	if len(names) == 0 {
		return figures, nil
	}
	var chosen []figure
	all := slices.Concat(figures, optionalFigures)
	for _, name := range names {
		i := slices.IndexFunc(all, func(f figure) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown figure %q; list them with: bench/run -h", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func printUsage() {
	var b strings.Builder
	b.WriteString("Usage: bench/run [-profile DIR] [-against OPERATOR] [-results DIR] [-turns N] [-sizes N,N,N] [-strangers N] [-objects N] [FIGURE...]\n\nFigures measured by default:\n")
	list := func(figures []figure) {
		for _, f := range figures {
			fmt.Fprintf(&b, "  %-14s %s\n", f.name, f.about)
		}
	}
	list(figures)
	b.WriteString("\nFigures measured only if named:\n")
	list(optionalFigures)
	fmt.Fprint(os.Stderr, b.String())
}
