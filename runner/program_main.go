package runner

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// mainDir and mainFile are the names of the synthesised main package and its file. They
// exist only in the overlay for the compiler, never on disk.
const (
	mainDir  = "kopf_operator_main"
	mainFile = "kopf_operator_main.go"
)

// synthesise generates the main program. If one of the packages is a program without a
// func main, the main is added to it. Otherwise the program is a new package below the
// common parent folder of the packages, so that it may import internal packages there.
func (p *Program) synthesise(packages, mains []goPackage) {
	folder := packages[0].Dir
	target := packages[0].ImportPath
	own := "" // import path of the user's program that gets the main; empty if the program is a new package
	if len(mains) == 1 {
		folder, target = mains[0].Dir, mains[0].ImportPath
		own = target
	} else {
		for _, other := range packages[1:] {
			for folder != other.Dir && !strings.HasPrefix(other.Dir, folder+string(filepath.Separator)) {
				folder, target = filepath.Dir(folder), path.Dir(target)
			}
		}
		folder, target = filepath.Join(folder, mainDir), path.Join(target, mainDir)
	}
	p.target = target
	p.overlay = map[string]string{filepath.Join(folder, mainFile): mainText(p.Packages, own)}
}

// mainText returns the source of the main program. own is the import path of the package that gets the main; empty if the
// program is a new package. The import names are unlikely to collide with the user's names.
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
