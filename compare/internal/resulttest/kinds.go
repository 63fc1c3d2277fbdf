package resulttest

var kinds = []kind{
	{
		name: "autoincrement", about: "Numbers of the table, given by the database when a row is inserted.", origin: "SQL databases",
		needs: "nothing", cost: "the key is known after the INSERT only; two databases give the same keys", coordination: "one server",
		decodes: "the order of the rows", guess: "the next key and all before it",
		limit: -1, bytes: 8, text: 6, jsSafe: true, numeric: true,
		columns: [3]string{"INTEGER PRIMARY KEY AUTOINCREMENT", "bigint auto_increment", "bigserial"}, sample: numbers(1, 1, 1),
	},
	{
		name: "snowkey", about: "Numbers of a tick, a node and a count within the tick, made in the process that holds a granted node.",
		origin: "snowkey", needs: "a table for the grants of nodes", cost: "a statement every few seconds for the grant",
		coordination: "the node numbers, by a grant in the database", decodes: "time, node and count",
		guess: "keys of the same tick, by their count", limit: 4_096_000, ns: 21, bytes: 8, text: 18, numeric: true, gap: 1,
		columns: [3]string{"bigint", "bigint", "bigint"}, sample: numbers(219_403_113_827_442_688, 1, 1),
	},
	{
		name: "snowkey-fleet16", about: "Numbers as snowkey's, of 16 nodes that insert into one table by turns.", origin: "snowkey",
		needs: "a table for the grants of nodes", cost: "keys of a tick are ordered by their nodes, so pages fill less",
		coordination: "the node numbers, by a grant in the database", decodes: "time, node and count",
		guess: "keys of the same tick, by their count", limit: 4_096_000, skewed: true, ns: 21.4, bytes: 8, text: 18, numeric: true, gap: 1,
		columns: [3]string{"bigint", "bigint", "bigint"}, sample: numbers(219_403_113_827_442_688, 4096, 4096),
	},
	{
		name: "uuidv4", about: "122 random bits.", origin: "RFC 9562, section 5.4; github.com/google/uuid", needs: "nothing",
		cost: "each row goes to a page of its own as tables grow", coordination: "none", decodes: "nothing", guess: "nothing",
		ns: 75, bytes: 16, text: 36, jsSafe: true, gap: 122, columns: [3]string{"blob", "binary(16)", "uuid"},
		sample: []string{
			"5f0c7a4e-9d13-4b62-8a55-0e3d1c9b7f21", "c2a9e6d4-07b8-4f31-b6d0-92f4a81c5e3b", "18d7f3b0-64ce-4a9f-93c2-7be05d1f48a6",
		},
	},
	{
		name: "uuidv4-text", about: "122 random bits, stored as 36 characters.", origin: "RFC 9562, section 5.4; github.com/google/uuid",
		needs: "nothing", cost: "20 bytes more in each index than as bytes", coordination: "none", decodes: "nothing", guess: "nothing",
		ns: 112, bytes: 36, text: 36, jsSafe: true, gap: 122, columns: [3]string{"text", "char(36)", "char(36)"},
		sample: []string{
			"b8e41f02-3c75-4d96-a1f7-6d20c9e85b13", "07c5d9a1-e862-4b0e-8f34-d19a7c2e60b5", "e39f6b28-51da-4c47-95e0-4a8b0f7d3c92",
		},
	},
	{
		name: "uuidv7", about: "48 bits of milliseconds, then random bits.", origin: "RFC 9562, section 5.7; github.com/google/uuid",
		needs: "nothing", cost: "twice the bytes of a number", coordination: "none", decodes: "time", guess: "the time of near keys",
		ns: 141, bytes: 16, text: 36, jsSafe: true, gap: 61, columns: [3]string{"blob", "binary(16)", "uuid"},
		sample: []string{
			"019b5d0e-7c31-7a04-8e62-51f0a9c3d7b8", "019b5d0e-7c31-7a0b-9d14-c63e82f70a15", "019b5d0e-7c31-7a19-b3f8-0d7a46e9c251",
		},
	},
	{
		name: "objectid", about: "Seconds, five random bytes of the process, and a counter.", origin: "the BSON specification of MongoDB, ObjectID",
		needs: "nothing", cost: "half more bytes than a number", coordination: "none", decodes: "time", guess: "the next keys of a process",
		limit: 16_777_216, ns: 52, bytes: 12, text: 24, jsSafe: true, gap: 1, columns: [3]string{"blob", "binary(12)", "bytea"},
		sample: []string{"69b52a1d8f3c07e5a4d21b00", "69b52a1d8f3c07e5a4d21b01", "69b52a1d8f3c07e5a4d21b02"},
	},
	{
		name: "objectid-published", about: "Seconds, three bytes of the machine's name, the process's number and a counter.",
		origin: "the BSON specification of MongoDB until 2018", needs: "names of machines that differ",
		cost: "two containers with one name and one process number make equal keys", coordination: "the machines' names",
		decodes: "time, machine and process", guess: "the next keys of a process", ns: 49, bytes: 12, text: 24, jsSafe: true, gap: 1,
		columns: [3]string{"blob", "binary(12)", "bytea"}, sample: []string{"69b52a1d1f2e3d0001000000", "69b52a1d1f2e3d0001000001"},
		evidence: "key 69b52a1d1f2e3d0001000000 was made by process 0 as its 1st and by process 3 as its 1st",
	},
	{
		name: "replace", about: "Numbers of a table with one row, which REPLACE gives a new one.", origin: "Flickr, Ticket Servers, 2010",
		needs: "MySQL or MariaDB", cost: "a round trip and a synced write for each key", coordination: "one server",
		decodes: "the order of the keys", guess: "the next key and all before it", skipped: "it needs MySQL's REPLACE with LAST_INSERT_ID",
		ns: 1, drawn: 833e3, bytes: 8, text: 6, jsSafe: true, numeric: true,
		columns: [3]string{"bigint", "bigint", "bigint"}, sample: numbers(1, 1, 1),
	},
	{
		name: "sequence", about: "Numbers of a sequence of the database.", origin: "SQL:2003", needs: "PostgreSQL or MariaDB",
		cost: "a round trip for each key", coordination: "one server", decodes: "the order of the keys",
		guess: "the next key and all before it", skipped: "SQLite has no sequences", ns: 1, drawn: 64e3, bytes: 8, text: 6, jsSafe: true,
		numeric: true, columns: [3]string{"bigint", "bigint", "bigint"}, sample: numbers(1, 1, 1),
	},
	{
		name: "snowkey-sharded", about: "Numbers as snowkey's, with the bucket of a tenant in their low bits.", origin: "snowkey",
		needs: "a tenant of each row", cost: "a bucket has 16 keys a millisecond", coordination: "the node numbers, by a grant in the database",
		decodes: "time, node, count and bucket", guess: "which rows can be of one tenant", limit: 106_000,
		tenants: "10,000 tenants by Zipf(1.1), the first with 15 % of the rows", ns: 34, bytes: 8, text: 18, numeric: true, gap: 22,
		columns: [3]string{"bigint", "bigint", "bigint"}, sample: numbers(219_403_113_827_442_697, 4_194_390, 316),
	},
}
