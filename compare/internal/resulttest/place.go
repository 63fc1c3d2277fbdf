package resulttest

import "github.com/snowkey-go/snowkey/compare/result"

// shape is what a strategy costs at a place, around which the samples lie.
type shape struct {
	first, last              float64 // rows a second
	table, index             float64 // bytes a row
	splits, fill             float64
	log, pages               float64 // bytes a row
	ordered, recent, buffers float64 // of 1,000 rows: microseconds, microseconds, pages
}

// place is a database of the sample. A strategy without a shape cannot work there.
type place struct {
	name, kind, version string
	private             bool
	settings            []result.Setting
	cache               float64
	logNote, pagesNote  string
	noSplits, noPages   string
	noBuffers, noCrash  string
	shapes              map[string]shape
}

// database has no strategies yet.
func (p place) database() result.Database {
	return result.Database{
		Name: p.name, Kind: p.kind, Version: p.version, Private: p.private,
		Settings: append([]result.Setting(nil), p.settings...), Cache: result.Measured(p.cache),
	}
}

var places = []place{
	{
		name: "sqlite:compare.db", kind: "sqlite", version: "SQLite 3.50.4", cache: 2 << 20,
		settings: []result.Setting{{Name: "journal_mode", Value: "wal"}, {Name: "synchronous", Value: "1"}, {Name: "page_size", Value: "4096"}},
		logNote:  "the WAL file's growth, checkpoints held off",
		noSplits: "SQLite does not count page splits", noPages: "SQLite does not count the pages that a checkpoint writes",
		noBuffers: "SQLite does not count page reads by statement", noCrash: "SQLite has no server to kill",
		shapes: map[string]shape{
			"autoincrement":   {58e3, 51e3, 41, 23, 0, 0.98, 96, 0, 910, 4100, 0},
			"snowkey":         {57e3, 52e3, 47, 30, 0, 0.98, 104, 0, 930, 4150, 0},
			"snowkey-fleet16": {54e3, 46e3, 62, 33, 0, 0.71, 131, 0, 1010, 4300, 0},
			"snowkey-sharded": {51e3, 43e3, 61, 33, 0, 0.72, 133, 0, 1005, 4310, 0},
			"uuidv4":          {44e3, 26e3, 56, 65, 0, 0.72, 1410, 0, 3900, 9800, 0},
			"uuidv4-text":     {36e3, 15e3, 77, 111, 0, 0.70, 2380, 0, 5100, 11900, 0},
			"uuidv7":          {53e3, 49e3, 56, 55, 0, 0.93, 171, 0, 1900, 5200, 0},
			"objectid":        {54e3, 50e3, 52, 50, 0, 0.94, 158, 0, 1850, 5050, 0}, "objectid-published": {},
		},
	},
	{
		name: "mysql://root@tcp(127.0.0.1:3307)/compare", kind: "mysql", version: "MariaDB 11.8.3", private: true, cache: 8 << 20,
		settings: []result.Setting{
			{Name: "innodb_buffer_pool_size", Value: "8388608"}, {Name: "innodb_flush_log_at_trx_commit", Value: "1"},
			{Name: "innodb_flush_method", Value: "O_DIRECT"}, {Name: "innodb_page_size", Value: "16384"},
		},
		pagesNote: "Innodb_data_written of the whole server, which is private",
		shapes: map[string]shape{
			"autoincrement":   {138e3, 102e3, 86, 73, 970, 0.94, 310, 450, 610, 21e3, 14},
			"snowkey":         {138e3, 101e3, 86, 73, 972, 0.94, 312, 455, 612, 21e3, 14},
			"snowkey-fleet16": {113e3, 76e3, 140, 105, 1650, 0.57, 398, 810, 890, 23e3, 22},
			"snowkey-sharded": {98e3, 71e3, 138, 105, 1610, 0.58, 392, 830, 885, 23e3, 22},
			"uuidv4":          {79e3, 3.2e3, 133, 132, 1630, 0.69, 2710, 55e3, 9400, 188e3, 410},
			"uuidv4-text":     {30e3, 2.7e3, 165, 234, 2460, 0.68, 4120, 68e3, 13100, 214e3, 540},
			"uuidv7":          {114e3, 83e3, 94, 95, 1160, 0.93, 402, 840, 660, 24e3, 16},
			"objectid":        {125e3, 89e3, 90, 82, 1050, 0.94, 371, 650, 640, 22e3, 15}, "objectid-published": {},
			"replace":  {1190, 1110, 86, 73, 970, 0.94, 1240, 2900, 615, 21e3, 14},
			"sequence": {126e3, 95e3, 86, 73, 971, 0.94, 322, 470, 611, 21e3, 14},
		},
	},
	{
		name: "postgres://app@db.example:5432/shop", kind: "postgres", version: "PostgreSQL 15.14", cache: 128 << 20,
		settings: []result.Setting{
			{Name: "shared_buffers", Value: "128MB"}, {Name: "full_page_writes", Value: "on"},
			{Name: "synchronous_commit", Value: "on"}, {Name: "wal_compression", Value: "off"},
		},
		logNote:  "after a CHECKPOINT, so that each page's first image counts",
		noSplits: "PostgreSQL does not count page splits", noPages: "pg_stat_io is there from version 16 on; this is 15.14",
		noCrash: "the server was not started by the run, and a run kills only its own",
		shapes: map[string]shape{
			"autoincrement":   {125e3, 121e3, 64, 44, 0, 0.90, 139, 0, 780, 38e3, 27},
			"snowkey":         {124e3, 121e3, 64, 44, 0, 0.90, 139, 0, 784, 38e3, 27},
			"snowkey-fleet16": {121e3, 117e3, 64, 57, 0, 0.69, 161, 0, 801, 39e3, 29},
			"snowkey-sharded": {99e3, 96e3, 64, 56, 0, 0.70, 159, 0, 799, 39e3, 29},
			"uuidv4":          {104e3, 88e3, 72, 61, 0, 0.72, 2648, 0, 6900, 61e3, 8563},
			"uuidv4-text":     {91e3, 68e3, 97, 97, 0, 0.71, 3310, 0, 8300, 66e3, 8590},
			"uuidv7":          {121e3, 117e3, 72, 53, 0, 0.90, 178, 0, 830, 40e3, 31},
			"objectid":        {119e3, 114e3, 77, 51, 0, 0.90, 172, 0, 835, 40e3, 30}, "objectid-published": {},
			"sequence": {119e3, 116e3, 64, 44, 0, 0.90, 141, 0, 782, 38e3, 27},
		},
	},
}
