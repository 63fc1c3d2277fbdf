package compare

import (
	"fmt"

	"github.com/snowkey-go/snowkey/internal/dsn"
)

// close ends an entrant's part: what was not measured of it says why. ended is what ended the contest early.
func (c *contest) close(e *entrant, ended error) {
	if e.figures.Key.Column != "" {
		e.result.Key = e.figures.Key // of full tables
	}
	e.result.Growth, e.result.Storage, e.result.Read = e.figures.Growth, e.figures.Storage, e.figures.Read
	if tenths := e.result.Growth.Tenths; c.rows < c.config.Profile.Rows && len(tenths) > 0 {
		if last := &tenths[len(tenths)-1].RowsPerSecond; last.Why == "" {
			last.Why = fmt.Sprintf("the budget of %v allowed for no more", c.config.Profile.Budget)
		}
	}
	if !e.out && !c.kills() {
		explainCrash(&e.result.Crash, c.noKill())
	}
	explain(&e.result, c.why(e, ended))
}

// why says why something of an entrant was not measured that tells no reason of its own.
func (c *contest) why(e *entrant, ended error) string {
	switch {
	case e.result.Skipped != "":
		return e.result.Skipped
	case e.out:
		return "it does not hold what it promises, see its checks"
	case ended != nil:
		return "the run ended before: " + ended.Error()
	}
	return c.short
}

// noKill says why the database is not killed.
func (c *contest) noKill() string {
	switch {
	case c.target.database.Kind() == dsn.SQLite:
		return "SQLite runs inside the application: there is no server to kill"
	case c.target.server != nil:
		return fmt.Sprintf("the profile %s does not kill the server", c.config.Profile.Name)
	}
	return "only a server of the run's own is killed, such as private:" + c.target.database.Kind()
}
