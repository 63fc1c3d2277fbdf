package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowkey-go/snowkey/idgen/grant"
	"github.com/snowkey-go/snowkey/internal/dsn"
)

// databaseVariable is the environment variable that names the database of a command.
const databaseVariable = "SNOWKEY_DB"

// longestDSN is how many bytes a line of a file of DSNs can have.
const longestDSN = 1 << 16

// databaseHelp is said of every command that takes a database.
const databaseHelp = `

The environment variable SNOWKEY_DB names the database: sqlite:PATH, mysql:USER:PASSWORD@tcp(HOST:PORT)/DATABASE or
postgres://USER:PASSWORD@HOST:PORT/DATABASE. So does the first line of the file in --db-file ("-" is standard input), which comes
before the variable. --db takes the same text: all users of the machine can read it in the list of processes, with the password.`

// dsnFlag is a flag that takes a DSN, such as --db, with a second one that takes the file of it, --db-file.
type dsnFlag struct {
	name     string
	about    string             // what the DSN names
	variable string             // of the environment, which is read when neither flag is given; "" for none
	several  bool               // the flag may be given again, and the file may have a DSN a line
	schemes  []cobra.Completion // those of databases where there are none
	others   []cobra.Completion // beside these

	one  string // what the flag was given
	many []string
	file string
}

// namedDSN is the text of a DSN, not yet parsed.
type namedDSN struct {
	text string
	from string // where the text is from, for errors: "--db", "--db-file PATH" or "SNOWKEY_DB"
	flag string // names it again on a command line, without the DSN: "--db DSN ", "--db-file PATH ", or "" for SNOWKEY_DB
}

// database is what a DSN names, not yet opened.
type database struct {
	dsn.DSN
	dialect grant.Dialect
	named   namedDSN
}

// databaseFlag adds --db and --db-file to a command, and says in its help how the database is named.
func databaseFlag(c *cobra.Command) *dsnFlag {
	c.Long += databaseHelp
	return addDSN(c, dsnFlag{name: "db", about: "database, as sqlite:PATH, mysql:DSN or postgres://…", variable: databaseVariable})
}

// addDSN adds the two flags to a command.
func addDSN(c *cobra.Command, f dsnFlag) *dsnFlag {
	flags := c.Flags()
	about := f.about + "; all users can read it in the list of processes"
	if f.several {
		flags.StringVar(&f.file, f.name+"-file", "", fmt.Sprintf(`file with a line for each --%s, "-" for standard input`, f.name))
		flags.StringArrayVar(&f.many, f.name, nil, about+"; may be given again")
	} else {
		flags.StringVar(&f.file, f.name+"-file", "", fmt.Sprintf(`file whose first line is what --%s takes, "-" for standard input`, f.name))
		flags.StringVar(&f.one, f.name, "", about)
	}
	schemes := f.schemes
	if schemes == nil {
		schemes = append([]cobra.Completion{"sqlite:", "mysql:", "postgres://"}, f.others...)
	}
	// Fails only for a flag that does not exist. The shell itself completes the names of files.
	_ = c.RegisterFlagCompletionFunc(f.name, cobra.FixedCompletions(schemes, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
	return &f
}

// isGiven reports whether a DSN was given on the command line.
func (f *dsnFlag) isGiven(c *cobra.Command) bool {
	return c.Flags().Changed(f.name) || c.Flags().Changed(f.name+"-file")
}

// isNamed reports whether a DSN was given in any of the ways.
func (f *dsnFlag) isNamed(c *cobra.Command) bool {
	return f.isGiven(c) || f.variable != "" && strings.TrimSpace(os.Getenv(f.variable)) != ""
}

// read returns what was given, nothing when nothing was. The errors are of usage.
func (f *dsnFlag) read(c *cobra.Command) ([]namedDSN, error) {
	flag, file := "--"+f.name, "--"+f.name+"-file"
	switch given := c.Flags().Changed(f.name); {
	case given && c.Flags().Changed(f.name+"-file"):
		return nil, usageError{fmt.Errorf("%s and %s: give one of them", flag, file)}
	case given:
		if !f.several {
			f.many = []string{f.one}
		}
		var all []namedDSN
		for _, text := range f.many {
			all = append(all, namedDSN{text: text, from: flag, flag: flag + " DSN "})
		}
		return all, nil
	case c.Flags().Changed(f.name + "-file"):
		lines, err := f.readFile(c, file)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", file, err)}
		}
		var all []namedDSN
		for _, text := range lines {
			all = append(all, namedDSN{text: text, from: file + " " + f.file, flag: file + " " + f.file + " "})
		}
		return all, nil
	case f.isNamed(c):
		return []namedDSN{{text: strings.TrimSpace(os.Getenv(f.variable)), from: f.variable}}, nil
	}
	return nil, nil
}

// readFile returns the first line of the file, or all that are not empty. Its errors never repeat what is in the file.
func (f *dsnFlag) readFile(c *cobra.Command, flag string) ([]string, error) {
	lines, err := readSecret(c, flag, f.file, f.several)
	if err == nil && (len(lines) == 0 || lines[0] == "") {
		return nil, fmt.Errorf("%s names no database: its first line is empty", f.file)
	}
	return lines, err
}

// readSecret returns the first line of the file of a flag, or all that are not empty. It warns of a file that all can read. Its errors never repeat what is in the file.
func readSecret(c *cobra.Command, flag, path string, several bool) (lines []string, err error) {
	in, err := openInput(c, flag, path)
	if err != nil {
		return nil, err
	}
	defer in.Close() // of reading: its error changes nothing
	if file, ok := in.(*os.File); ok && runtime.GOOS != "windows" {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0 {
			c.PrintErrf("%s %s: all users of the machine can read this file; chmod o-r ends that\n", flag, path)
		}
	}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, longestDSN)
	for (several || len(lines) == 0) && scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" || !several {
			lines = append(lines, line)
		}
	}
	if errors.Is(scanner.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s has a line of more than %d bytes, which is no DSN and no token", path, longestDSN)
	}
	return lines, scanner.Err()
}

// parse returns the database of a flag that takes one. The errors are of usage.
func (f *dsnFlag) parse(c *cobra.Command) (database, error) {
	all, err := f.read(c)
	if err != nil {
		return database{}, err
	}
	if len(all) == 0 {
		return database{}, usageError{fmt.Errorf("no database is named: set %s, or give --%s-file PATH or --%[2]s DSN", f.variable, f.name)}
	}
	return all[0].parse()
}

// parse reads the DSN. A file of SQLite must be there: opening a missing one would make it. The errors are of usage.
func (n namedDSN) parse() (database, error) {
	wrong := func(err error) (database, error) {
		return database{}, usageError{fmt.Errorf("%s: %w", n.from, err)}
	}
	if n.text == "" {
		return wrong(errors.New("it is empty; want a DSN, such as sqlite:app.db"))
	}
	parsed, err := dsn.Parse(n.text)
	if err != nil {
		return wrong(err)
	}
	path, options, _ := strings.Cut(strings.TrimPrefix(parsed.Source, "file:"), "?")
	if parsed.Kind == dsn.SQLite && path != ":memory:" && !strings.Contains(options, "mode=memory") {
		if _, err := os.Stat(path); err != nil {
			return wrong(err)
		}
	}
	dialect, err := grant.LookupDialect(parsed.Kind)
	if err != nil {
		return wrong(err)
	}
	return database{DSN: parsed, dialect: dialect, named: n}, nil
}

// announce says which database is used, where a command that can do without one has it from the environment.
func (n namedDSN) announce(c *cobra.Command) {
	if n.from != databaseVariable {
		return
	}
	public := n.text // of a private server, which has no password
	if parsed, err := dsn.Parse(n.text); err == nil {
		public = parsed.String()
	}
	c.PrintErrf("The database is %s, from %s.\n", public, databaseVariable)
}

// connect has GORM connect to the database by a pool of [dsn.DSN.Open].
func (d database) connect(ctx context.Context, pool *sql.DB) (*gorm.DB, error) {
	if err := pool.PingContext(ctx); err != nil { // GORM's own has no context
		return nil, err
	}
	return gorm.Open(d.Dialector(pool), &gorm.Config{Logger: logger.Discard})
}

// with opens the database of a flag, calls do, and closes it. Nothing is connected before do. A signal ends the context. Errors name the database.
func (f *dsnFlag) with(c *cobra.Command, do func(ctx context.Context, d database, pool *sql.DB) error) (err error) {
	d, err := f.parse(c)
	if err != nil {
		return err
	}
	ctx, stop := untilSignal(c)
	defer stop()
	pool, err := d.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := do(ctx, d, pool); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	return nil
}
