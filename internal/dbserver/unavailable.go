package dbserver

// UnavailableError says that this machine cannot have a private server as it is, and
// what to do about it.
type UnavailableError struct {
	Kind    string // of the server
	Missing string // what is missing
	Install string // the packages that have it, as Debian and Ubuntu name them; "" where none would help
}

// Error says what is missing, and which packages have it.
func (e *UnavailableError) Error() string {
	if e.Install == "" {
		return e.Missing
	}
	return e.Missing + ": install " + e.Install
}
