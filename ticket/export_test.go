package ticket

// Fault is a fault with its fields exported.
type Fault struct {
	Class Class
	Kind  error
	Code  string
}

func Diagnose(d Dialect, err error) Fault {
	f := diagnose(d, err)
	return Fault{f.class, f.kind, f.code}
}
