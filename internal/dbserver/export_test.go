package dbserver

import (
	"testing"
)

// ForgetProgramFolders leaves PATH as the only place where programs are looked for, until the function that it returns is called.
func ForgetProgramFolders() (remember func()) {
	folders := programFolders
	programFolders = nil
	return func() { programFolders = folders }
}

// PostgresFolders is postgresFolders.
var PostgresFolders = postgresFolders

// GivenVersion reads what a server answers to the question for its version.
func GivenVersion(kind, text string) string {
	if kind == "mysql" {
		return mysqlEngine{}.version(text)
	}
	return postgresEngine{}.version(text)
}

// Dir is the server's folder.
func (s *Server) Dir() string { return s.guard.dir }

// PID is the server's process number.
func (s *Server) PID(t testing.TB) int {
	t.Helper()
	s.guard.mu.Lock()
	defer s.guard.mu.Unlock()
	answer, err := s.guard.ask(request{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.PID
}
