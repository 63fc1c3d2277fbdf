package migratetest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"
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
	build(t, db, "chinook", kind, rows, (*filler).chinook)
}

// snake returns a name as Chinook has it on PostgreSQL: invoice_line for InvoiceLine.
func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' && name[i-1] != ' ' {
			out.WriteByte('_')
		}
		out.WriteRune(r)
	}
	return strings.ToLower(out.String())
}

// chinook fills the tables, parents before children.
func (f *filler) chinook(rows int) {
	name := func(s string) string { return s }
	if f.kind == "postgres" {
		name = snake
		f.overriding = true
	}
	add := func(table, columns string, values ...any) { f.add(name(table), name(columns), values...) }
	for n := range rows/8 + 3 {
		add("Artist", "ArtistId, Name", f.id("Artist"), fmt.Sprintf("Artist %d", n))
	}
	for n := range rows/6 + 4 {
		add("Album", "AlbumId, Title, ArtistId", f.id("Album"), fmt.Sprintf("Album %d", n), f.any("Artist"))
	}
	for n := range 8 {
		var boss any
		if n > 0 {
			boss = f.ids["Employee"][(n-1)/2]
		}
		add("Employee", "EmployeeId, LastName, FirstName, Title, ReportsTo, BirthDate, HireDate, City, Country, Email", f.id("Employee"), fmt.Sprintf("Last %d", n),
			fmt.Sprintf("First %d", n), "Agent", boss, time.Date(1950+3*n, 2, 3, 0, 0, 0, 0, time.UTC), time.Date(2002, 4+time.Month(n), 1, 0, 0, 0, 0, time.UTC), "Calgary", "Canada",
			fmt.Sprintf("employee%d@example.org", n))
	}
	for n := range rows/40 + 4 {
		var company, agent any
		if n%3 == 0 {
			company = fmt.Sprintf("Company %d", n)
		}
		if n%10 != 9 {
			agent = f.any("Employee")
		}
		add("Customer", "CustomerId, FirstName, LastName, Company, Address, Country, Email, SupportRepId", f.id("Customer"), fmt.Sprintf("First %d", n), fmt.Sprintf("Last %d", n), company,
			fmt.Sprintf("%d Main Street", n), "Norway", fmt.Sprintf("customer%d@example.org", n), agent)
	}
	for n := range 25 {
		add("Genre", "GenreId, Name", f.id("Genre"), fmt.Sprintf("Genre %d", n))
	}
	for n := range 5 {
		add("MediaType", "MediaTypeId, Name", f.id("MediaType"), fmt.Sprintf("Media %d", n))
	}
	for n := range rows + 10 {
		var album, genre, composer any
		if n%50 != 7 {
			album = f.any("Album")
		}
		if n%20 != 3 {
			genre, composer = f.any("Genre"), fmt.Sprintf("O'Composer %d", n%90)
		}
		add("Track", "TrackId, Name, AlbumId, MediaTypeId, GenreId, Composer, Milliseconds, Bytes, UnitPrice", f.id("Track"), fmt.Sprintf("Track %d", n), album, f.any("MediaType"), genre, composer,
			1000+n, 5000+n, "0.99")
	}
	for n := range 18 {
		add("Playlist", "PlaylistId, Name", f.id("Playlist"), fmt.Sprintf("Playlist %d", n))
	}
	for n, list := range f.ids["Playlist"] {
		for k, track := range f.ids["Track"] {
			if k%9 == n%9 {
				add("PlaylistTrack", "PlaylistId, TrackId", list, track)
			}
		}
	}
	invoices := rows/5 + 2
	for n := range invoices {
		add("Invoice", "InvoiceId, CustomerId, InvoiceDate, BillingAddress, BillingCountry, Total", f.id("Invoice"), f.any("Customer"), dated(n, invoices), fmt.Sprintf("%d Main Street", n), "Norway",
			fmt.Sprintf("%d.90", n%30))
	}
	for n := range rows {
		add("InvoiceLine", "InvoiceLineId, InvoiceId, TrackId, UnitPrice, Quantity", f.id("InvoiceLine"), f.ids["Invoice"][n%invoices], f.any("Track"), "0.99", 1+n/invoices)
	}
	var keys [][3]string
	for _, table := range []string{"artist", "album", "employee", "customer", "genre", "media_type", "track", "playlist", "invoice", "invoice_line"} {
		keys = append(keys, [3]string{table, table + "_id", table + "_" + table + "_id_seq"})
	}
	f.counters(keys...)
}
