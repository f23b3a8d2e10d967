package binary

import "time"

// cpuOfPackage is the CPU time of a package, on the machine of bench/README.md. It is the average of all packages of the
// control plane, which differ a lot.
const cpuOfPackage = 700 * time.Millisecond

// expectedWeight is the part of a compilation after which its own pace and the expected one count the same.
const expectedWeight = 0.05

// workOfPackages has parts of the work of a compilation from scratch. Late packages are bigger, and wait for more others.
var workOfPackages = []struct{ packages, work float64 }{{0, 0}, {0.1, 0.05}, {0.5, 0.39}, {1, 1}}

// remaining estimates the time until a compilation of packages ends, of which some are done. cpus is the number of
// packages that the go command compiles at the same time.
func remaining(elapsed time.Duration, done, packages, cpus int) time.Duration {
	if packages == 0 {
		return 0
	}
	work := workOf(float64(done) / float64(packages))
	expected := cpuOfPackage * time.Duration(packages) / time.Duration(cpus)
	whole := (elapsed.Seconds() + expectedWeight*expected.Seconds()) / (work + expectedWeight)
	return time.Duration(whole * (1 - work) * float64(time.Second))
}

// workOf returns the part of the work after a part of the packages.
func workOf(packages float64) float64 {
	for i, to := range workOfPackages {
		if packages <= to.packages && i > 0 {
			from := workOfPackages[i-1]
			return from.work + (to.work-from.work)*(packages-from.packages)/(to.packages-from.packages)
		}
	}
	return 1
}
