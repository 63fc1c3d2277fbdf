package migratetest

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Chinook makes the Chinook database, a record shop, in an empty database of the kind: mysql, postgres or sqlite. Invoice lines are as many
// as rows, and the other tables' rows in proportion. On PostgreSQL names are written as in invoice_line, on the others as in InvoiceLine.
//
//	Artist ◀─ Album ◀─ Track ─▶ Genre, MediaType
//	                   Track ◀─ PlaylistTrack ─▶ Playlist    composite key
//	                   Track ◀─ InvoiceLine ─▶ Invoice ─▶ Customer ─▶ Employee ◀─ Employee
//
// Only Invoice (InvoiceDate) and Employee (HireDate, of 2002 and later; BirthDate before that) have times. The same rows give the same content.
func Chinook(t testing.TB, db *sql.DB, kind string, rows int) {
	t.Helper()
	build(t, db, "chinook", kind, rows)
}

// Sakila makes the Sakila database, a shop that lends films, in an empty database of MySQL or MariaDB. Rentals are as many as rows, at most
// 60,000, for payment_id is a SMALLINT; the other tables' rows are in proportion.
//
//	country ◀─ city ◀─ address ◀─ store, staff, customer          store ─▶ staff ─▶ store
//	language ◀─ film (twice) ◀─ film_actor, film_category         composite keys; ─▶ actor, category
//	film ◁─ film_text                                             filled by triggers of film; FULLTEXT
//	film, store ◀─ inventory ◀─ rental ◀─ payment                 rental, payment ─▶ customer, staff
//
// All tables but film_text have last_update, which UPDATE sets by itself; customer has create_date, rental rental_date and payment
// payment_date, which triggers set to the time of the INSERT. All foreign keys are ON UPDATE CASCADE. The same rows give the same content.
// A rental in fifty has no payment; a payment in a hundred is of no rental.
func Sakila(t testing.TB, db *sql.DB, rows int) {
	t.Helper()
	build(t, db, "sakila", "mysql", rows)
}

// Pagila makes the Pagila database, which is Sakila's tables, in an empty database of PostgreSQL, with as many rows. Instead of film_text
// film has a tsvector, filled by a trigger; last_update is set by triggers BEFORE UPDATE; the sequences belong to no column; and payment is
// divided by payment_date, from 2022-01 to 2022-07, where each partition but the last has foreign keys and indexes of its own.
func Pagila(t testing.TB, db *sql.DB, rows int) {
	t.Helper()
	build(t, db, "pagila", "postgres", rows)
}

//go:embed testdata/*.sql
var schemas embed.FS

// numbers makes the table that the rows are made from: n, from 0 on.
const numbers = `CREATE TEMPORARY TABLE numbers AS WITH d AS (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
	UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)
	SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d AS n FROM d a, d b, d c, d e, d f WHERE 1000 * e.d + 10000 * f.d < :rows + 100`

// build makes a published schema in an empty database: the statements of testdata/name.kind.sql. Keys begin at 1 and have no gaps, as in the published data.
// The test fails when that does not work.
func build(t testing.TB, db *sql.DB, name, kind string, rows int) {
	t.Helper()
	text, err := schemas.ReadFile("testdata/" + name + "." + kind + ".sql")
	if err == nil {
		err = script(t.Context(), db, kind, strings.ReplaceAll(numbers+";\n\n"+string(text)+"\n\nDROP TABLE numbers", ":rows", strconv.Itoa(rows)))
	}
	if err != nil {
		t.Fatalf("migratetest: %s on %s: %v", name, kind, err)
	}
}

// script runs statements on one connection.
func script(ctx context.Context, db *sql.DB, kind, text string) error {
	conn, done, err := connect(ctx, db, kind)
	if err != nil {
		return err
	}
	defer done()
	for _, statement := range statements(text) {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%w: %s", err, statement)
		}
	}
	return nil
}

// statements splits a script: each statement ends with a semicolon before an empty line.
func statements(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";\n\n"), func(s string) bool { return strings.TrimSpace(s) == "" })
}
