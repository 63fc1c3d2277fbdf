package result

// What tests of parts look at.
var (
	CPUName  = cpuName
	MemoryOf = memory
)
