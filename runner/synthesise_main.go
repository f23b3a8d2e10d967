package runner

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// mainFolder and mainFile are names that nobody uses. Neither ever exists on the disk:
// they are given to the compiler by an overlay.
const (
	mainFolder = "kopf_operator_main"
	mainFile   = "kopf_operator_main.go"
)

// synthesise writes the main program. Where one of the packages is a program without a
// func main, it gets one; otherwise the program is a package beneath the packages, or
// beneath the folder they share, so that it may import what is internal there.
func (p *Program) synthesise(packages, mains []listed) {
	folder := packages[0].Dir
	target := packages[0].ImportPath
	own := "" // the import path of the program that gets the main
	if len(mains) == 1 {
		folder, target = mains[0].Dir, mains[0].ImportPath
		own = target
	} else {
		for _, other := range packages[1:] {
			for folder != other.Dir && !strings.HasPrefix(other.Dir, folder+string(filepath.Separator)) {
				folder, target = filepath.Dir(folder), path.Dir(target)
			}
		}
		folder, target = filepath.Join(folder, mainFolder), path.Join(target, mainFolder)
	}
	p.target = target
	p.overlay = map[string]string{filepath.Join(folder, mainFile): mainText(p.Packages, own)}
}

// mainText is the main program of the packages; own is the one that it is part of. The
// names of the imports are such that no user's package declares them.
func mainText(packages []string, own string) string {
	var imports, calls strings.Builder
	for i, pkg := range packages {
		if pkg == own {
			calls.WriteString("\t\tRegister(r)\n")
			continue
		}
		fmt.Fprintf(&imports, "\tkopf_operator_%d %q\n", i, pkg)
		fmt.Fprintf(&calls, "\t\tkopf_operator_%d.Register(r)\n", i)
	}
	return fmt.Sprintf("package main\n\nimport (\n\tkopf_operator %q\n%s)\n\nfunc main() {\n\tkopf_operator.Main(func(r *kopf_operator.Registry) {\n%s\t})\n}\n",
		sdkPackage, &imports, &calls)
}
