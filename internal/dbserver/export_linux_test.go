package dbserver

// ChildrenOf is childrenOf.
var ChildrenOf = childrenOf

// KillGuard kills the server's guard.
func (s *Server) KillGuard() error { return s.guard.cmd.Process.Kill() }

// RemoveSharedMemory does what the guard does when it ends.
var RemoveSharedMemory = removeSharedMemory
