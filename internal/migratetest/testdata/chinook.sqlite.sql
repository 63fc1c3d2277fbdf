-- The schema of the Chinook database, version 1.4.5, by Luis Rocha, https://github.com/lerocha/chinook-database, under the MIT licence
-- (copyright (c) 2008-2024 Luis Rocha): names and types of tables, columns, keys, indexes and foreign keys are those of Chinook_Sqlite_AutoIncrementPKs.sql.
-- The statements are written anew; the rows are made up.

CREATE TABLE Artist (
	ArtistId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	Name NVARCHAR(120));

CREATE TABLE Album (
	AlbumId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	Title NVARCHAR(160) NOT NULL,
	ArtistId INTEGER NOT NULL,
	FOREIGN KEY (ArtistId) REFERENCES Artist (ArtistId) ON DELETE NO ACTION ON UPDATE NO ACTION);

CREATE TABLE Employee (
	EmployeeId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	LastName NVARCHAR(20) NOT NULL,
	FirstName NVARCHAR(20) NOT NULL,
	Title NVARCHAR(30),
	ReportsTo INTEGER,
	BirthDate DATETIME,
	HireDate DATETIME,
	Address NVARCHAR(70),
	City NVARCHAR(40),
	State NVARCHAR(40),
	Country NVARCHAR(40),
	PostalCode NVARCHAR(10),
	Phone NVARCHAR(24),
	Fax NVARCHAR(24),
	Email NVARCHAR(60),
	FOREIGN KEY (ReportsTo) REFERENCES Employee (EmployeeId) ON DELETE NO ACTION ON UPDATE NO ACTION);

CREATE TABLE Customer (
	CustomerId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	FirstName NVARCHAR(40) NOT NULL,
	LastName NVARCHAR(20) NOT NULL,
	Company NVARCHAR(80),
	Address NVARCHAR(70),
	City NVARCHAR(40),
	State NVARCHAR(40),
	Country NVARCHAR(40),
	PostalCode NVARCHAR(10),
	Phone NVARCHAR(24),
	Fax NVARCHAR(24),
	Email NVARCHAR(60) NOT NULL,
	SupportRepId INTEGER,
	FOREIGN KEY (SupportRepId) REFERENCES Employee (EmployeeId) ON DELETE NO ACTION ON UPDATE NO ACTION);

CREATE TABLE Genre (
	GenreId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	Name NVARCHAR(120));

CREATE TABLE MediaType (
	MediaTypeId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	Name NVARCHAR(120));

CREATE TABLE Track (
	TrackId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	Name NVARCHAR(200) NOT NULL,
	AlbumId INTEGER,
	MediaTypeId INTEGER NOT NULL,
	GenreId INTEGER,
	Composer NVARCHAR(220),
	Milliseconds INTEGER NOT NULL,
	Bytes INTEGER,
	UnitPrice NUMERIC(10,2) NOT NULL,
	FOREIGN KEY (AlbumId) REFERENCES Album (AlbumId) ON DELETE NO ACTION ON UPDATE NO ACTION,
	FOREIGN KEY (GenreId) REFERENCES Genre (GenreId) ON DELETE NO ACTION ON UPDATE NO ACTION,
	FOREIGN KEY (MediaTypeId) REFERENCES MediaType (MediaTypeId) ON DELETE NO ACTION ON UPDATE NO ACTION);

CREATE TABLE Playlist (
	PlaylistId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	Name NVARCHAR(120));

CREATE TABLE PlaylistTrack (
	PlaylistId INTEGER NOT NULL,
	TrackId INTEGER NOT NULL,
	CONSTRAINT PK_PlaylistTrack PRIMARY KEY (PlaylistId, TrackId),
	FOREIGN KEY (PlaylistId) REFERENCES Playlist (PlaylistId) ON DELETE NO ACTION ON UPDATE NO ACTION,
	FOREIGN KEY (TrackId) REFERENCES Track (TrackId) ON DELETE NO ACTION ON UPDATE NO ACTION);

CREATE TABLE Invoice (
	InvoiceId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	CustomerId INTEGER NOT NULL,
	InvoiceDate DATETIME NOT NULL,
	BillingAddress NVARCHAR(70),
	BillingCity NVARCHAR(40),
	BillingState NVARCHAR(40),
	BillingCountry NVARCHAR(40),
	BillingPostalCode NVARCHAR(10),
	Total NUMERIC(10,2) NOT NULL,
	FOREIGN KEY (CustomerId) REFERENCES Customer (CustomerId) ON DELETE NO ACTION ON UPDATE NO ACTION);

CREATE TABLE InvoiceLine (
	InvoiceLineId INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
	InvoiceId INTEGER NOT NULL,
	TrackId INTEGER NOT NULL,
	UnitPrice NUMERIC(10,2) NOT NULL,
	Quantity INTEGER NOT NULL,
	FOREIGN KEY (InvoiceId) REFERENCES Invoice (InvoiceId) ON DELETE NO ACTION ON UPDATE NO ACTION,
	FOREIGN KEY (TrackId) REFERENCES Track (TrackId) ON DELETE NO ACTION ON UPDATE NO ACTION);

CREATE INDEX IFK_AlbumArtistId ON Album (ArtistId);

CREATE INDEX IFK_EmployeeReportsTo ON Employee (ReportsTo);

CREATE INDEX IFK_CustomerSupportRepId ON Customer (SupportRepId);

CREATE INDEX IFK_TrackAlbumId ON Track (AlbumId);

CREATE INDEX IFK_TrackGenreId ON Track (GenreId);

CREATE INDEX IFK_TrackMediaTypeId ON Track (MediaTypeId);

CREATE INDEX IFK_PlaylistTrackPlaylistId ON PlaylistTrack (PlaylistId);

CREATE INDEX IFK_PlaylistTrackTrackId ON PlaylistTrack (TrackId);

CREATE INDEX IFK_InvoiceCustomerId ON Invoice (CustomerId);

CREATE INDEX IFK_InvoiceLineInvoiceId ON InvoiceLine (InvoiceId);

CREATE INDEX IFK_InvoiceLineTrackId ON InvoiceLine (TrackId);

-- The rows, of which InvoiceLine has :rows, and the others in proportion.
INSERT INTO Artist (ArtistId, Name)
	SELECT n + 1, 'Artist ' || n
	FROM numbers WHERE 8 * n < :rows + 24;

INSERT INTO Album (AlbumId, Title, ArtistId)
	SELECT n + 1, 'Album ' || n, 1 + 31 * n % (SELECT COUNT(*) FROM Artist)
	FROM numbers WHERE 6 * n < :rows + 24;

INSERT INTO Employee (EmployeeId, LastName, FirstName, Title, ReportsTo, BirthDate, HireDate, City, Country, Email)
	SELECT n + 1, 'Last ' || n, 'First ' || n, 'Agent', CASE WHEN n > 0 THEN (n + 1) / 2 END,
		strftime('%Y-%m-%d %H:%M:%S.000+00:00', '1950-02-03', (3 * n) || ' years'), strftime('%Y-%m-%d %H:%M:%S.000+00:00', '2002-04-01', n || ' months'),
		'Calgary', 'Canada', 'employee' || n || '@example.org'
	FROM numbers WHERE n < 8 ORDER BY n;

INSERT INTO Customer (CustomerId, FirstName, LastName, Company, Address, Country, Email, SupportRepId)
	SELECT n + 1, 'First ' || n, 'Last ' || n, CASE WHEN n % 3 = 0 THEN 'Company ' || n END, n || ' Main Street', 'Norway', 'customer' || n || '@example.org',
		CASE WHEN n % 10 <> 9 THEN 1 + 5 * n % 8 END
	FROM numbers WHERE 40 * n < :rows + 160;

INSERT INTO Genre (GenreId, Name)
	SELECT n + 1, 'Genre ' || n
	FROM numbers WHERE n < 25;

INSERT INTO MediaType (MediaTypeId, Name)
	SELECT n + 1, 'Media ' || n
	FROM numbers WHERE n < 5;

INSERT INTO Track (TrackId, Name, AlbumId, MediaTypeId, GenreId, Composer, Milliseconds, Bytes, UnitPrice)
	SELECT n + 1, 'Track ' || n, CASE WHEN n % 50 <> 7 THEN 1 + 7 * n % (SELECT COUNT(*) FROM Album) END, 1 + 3 * n % 5,
		CASE WHEN n % 20 <> 3 THEN 1 + 7 * n % 25 END, CASE WHEN n % 20 <> 3 THEN 'O''Composer ' || (n % 90) END, 1000 + n, 5000 + n, 0.99
	FROM numbers WHERE n < :rows + 10;

INSERT INTO Playlist (PlaylistId, Name)
	SELECT n + 1, 'Playlist ' || n
	FROM numbers WHERE n < 18;

INSERT INTO PlaylistTrack (PlaylistId, TrackId)
	SELECT PlaylistId, TrackId
	FROM Playlist, Track WHERE (TrackId - PlaylistId) % 9 = 0;

INSERT INTO Invoice (InvoiceId, CustomerId, InvoiceDate, BillingAddress, BillingCountry, Total)
	SELECT n + 1, 1 + 31 * n % (SELECT COUNT(*) FROM Customer),
		strftime('%Y-%m-%d %H:%M:%S.000+00:00', '2022-01-02 08:00:00', (86400000 * n / (:rows + 10)) || ' seconds'), n || ' Main Street', 'Norway', n % 30 + 0.90
	FROM numbers WHERE 5 * n < :rows + 10;

INSERT INTO InvoiceLine (InvoiceLineId, InvoiceId, TrackId, UnitPrice, Quantity)
	SELECT n + 1, 1 + n % (SELECT COUNT(*) FROM Invoice), 1 + 57 * n % (SELECT COUNT(*) FROM Track), 0.99, 1 + n / (SELECT COUNT(*) FROM Invoice)
	FROM numbers WHERE n < :rows;
