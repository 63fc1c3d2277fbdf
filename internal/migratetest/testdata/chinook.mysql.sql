-- The schema of the Chinook database, version 1.4.5, by Luis Rocha, https://github.com/lerocha/chinook-database, under the MIT licence
-- (copyright (c) 2008-2024 Luis Rocha): names and types of tables, columns, keys, indexes and foreign keys are those of Chinook_MySql_AutoIncrementPKs.sql.
-- The statements are written anew; the rows are made up.

CREATE TABLE Artist (
	ArtistId INT NOT NULL AUTO_INCREMENT,
	Name NVARCHAR(120),
	CONSTRAINT PK_Artist PRIMARY KEY (ArtistId));

CREATE TABLE Album (
	AlbumId INT NOT NULL AUTO_INCREMENT,
	Title NVARCHAR(160) NOT NULL,
	ArtistId INT NOT NULL,
	CONSTRAINT PK_Album PRIMARY KEY (AlbumId));

CREATE TABLE Employee (
	EmployeeId INT NOT NULL AUTO_INCREMENT,
	LastName NVARCHAR(20) NOT NULL,
	FirstName NVARCHAR(20) NOT NULL,
	Title NVARCHAR(30),
	ReportsTo INT,
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
	CONSTRAINT PK_Employee PRIMARY KEY (EmployeeId));

CREATE TABLE Customer (
	CustomerId INT NOT NULL AUTO_INCREMENT,
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
	SupportRepId INT,
	CONSTRAINT PK_Customer PRIMARY KEY (CustomerId));

CREATE TABLE Genre (
	GenreId INT NOT NULL AUTO_INCREMENT,
	Name NVARCHAR(120),
	CONSTRAINT PK_Genre PRIMARY KEY (GenreId));

CREATE TABLE MediaType (
	MediaTypeId INT NOT NULL AUTO_INCREMENT,
	Name NVARCHAR(120),
	CONSTRAINT PK_MediaType PRIMARY KEY (MediaTypeId));

CREATE TABLE Track (
	TrackId INT NOT NULL AUTO_INCREMENT,
	Name NVARCHAR(200) NOT NULL,
	AlbumId INT,
	MediaTypeId INT NOT NULL,
	GenreId INT,
	Composer NVARCHAR(220),
	Milliseconds INT NOT NULL,
	Bytes INT,
	UnitPrice NUMERIC(10,2) NOT NULL,
	CONSTRAINT PK_Track PRIMARY KEY (TrackId));

CREATE TABLE Playlist (
	PlaylistId INT NOT NULL AUTO_INCREMENT,
	Name NVARCHAR(120),
	CONSTRAINT PK_Playlist PRIMARY KEY (PlaylistId));

CREATE TABLE PlaylistTrack (
	PlaylistId INT NOT NULL,
	TrackId INT NOT NULL,
	CONSTRAINT PK_PlaylistTrack PRIMARY KEY (PlaylistId, TrackId));

CREATE TABLE Invoice (
	InvoiceId INT NOT NULL AUTO_INCREMENT,
	CustomerId INT NOT NULL,
	InvoiceDate DATETIME NOT NULL,
	BillingAddress NVARCHAR(70),
	BillingCity NVARCHAR(40),
	BillingState NVARCHAR(40),
	BillingCountry NVARCHAR(40),
	BillingPostalCode NVARCHAR(10),
	Total NUMERIC(10,2) NOT NULL,
	CONSTRAINT PK_Invoice PRIMARY KEY (InvoiceId));

CREATE TABLE InvoiceLine (
	InvoiceLineId INT NOT NULL AUTO_INCREMENT,
	InvoiceId INT NOT NULL,
	TrackId INT NOT NULL,
	UnitPrice NUMERIC(10,2) NOT NULL,
	Quantity INT NOT NULL,
	CONSTRAINT PK_InvoiceLine PRIMARY KEY (InvoiceLineId));

ALTER TABLE Album ADD CONSTRAINT FK_AlbumArtistId FOREIGN KEY (ArtistId) REFERENCES Artist (ArtistId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_AlbumArtistId ON Album (ArtistId);

ALTER TABLE Employee ADD CONSTRAINT FK_EmployeeReportsTo FOREIGN KEY (ReportsTo) REFERENCES Employee (EmployeeId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_EmployeeReportsTo ON Employee (ReportsTo);

ALTER TABLE Customer ADD CONSTRAINT FK_CustomerSupportRepId FOREIGN KEY (SupportRepId) REFERENCES Employee (EmployeeId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_CustomerSupportRepId ON Customer (SupportRepId);

ALTER TABLE Track ADD CONSTRAINT FK_TrackAlbumId FOREIGN KEY (AlbumId) REFERENCES Album (AlbumId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_TrackAlbumId ON Track (AlbumId);

ALTER TABLE Track ADD CONSTRAINT FK_TrackGenreId FOREIGN KEY (GenreId) REFERENCES Genre (GenreId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_TrackGenreId ON Track (GenreId);

ALTER TABLE Track ADD CONSTRAINT FK_TrackMediaTypeId FOREIGN KEY (MediaTypeId) REFERENCES MediaType (MediaTypeId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_TrackMediaTypeId ON Track (MediaTypeId);

ALTER TABLE PlaylistTrack ADD CONSTRAINT FK_PlaylistTrackPlaylistId FOREIGN KEY (PlaylistId) REFERENCES Playlist (PlaylistId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_PlaylistTrackPlaylistId ON PlaylistTrack (PlaylistId);

ALTER TABLE PlaylistTrack ADD CONSTRAINT FK_PlaylistTrackTrackId FOREIGN KEY (TrackId) REFERENCES Track (TrackId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_PlaylistTrackTrackId ON PlaylistTrack (TrackId);

ALTER TABLE Invoice ADD CONSTRAINT FK_InvoiceCustomerId FOREIGN KEY (CustomerId) REFERENCES Customer (CustomerId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_InvoiceCustomerId ON Invoice (CustomerId);

ALTER TABLE InvoiceLine ADD CONSTRAINT FK_InvoiceLineInvoiceId FOREIGN KEY (InvoiceId) REFERENCES Invoice (InvoiceId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_InvoiceLineInvoiceId ON InvoiceLine (InvoiceId);

ALTER TABLE InvoiceLine ADD CONSTRAINT FK_InvoiceLineTrackId FOREIGN KEY (TrackId) REFERENCES Track (TrackId) ON DELETE NO ACTION ON UPDATE NO ACTION;

CREATE INDEX IFK_InvoiceLineTrackId ON InvoiceLine (TrackId);

-- The rows, of which InvoiceLine has :rows, and the others in proportion.
INSERT INTO Artist (ArtistId, Name)
	SELECT n + 1, CONCAT('Artist ', n)
	FROM numbers WHERE 8 * n < :rows + 24;

INSERT INTO Album (AlbumId, Title, ArtistId)
	SELECT n + 1, CONCAT('Album ', n), 1 + 31 * n % (SELECT COUNT(*) FROM Artist)
	FROM numbers WHERE 6 * n < :rows + 24;

INSERT INTO Employee (EmployeeId, LastName, FirstName, Title, ReportsTo, BirthDate, HireDate, City, Country, Email)
	SELECT n + 1, CONCAT('Last ', n), CONCAT('First ', n), 'Agent', CASE WHEN n > 0 THEN (n + 1) DIV 2 END, '1950-02-03' + INTERVAL 3 * n YEAR,
		'2002-04-01' + INTERVAL n MONTH, 'Calgary', 'Canada', CONCAT('employee', n, '@example.org')
	FROM numbers WHERE n < 8 ORDER BY n;

INSERT INTO Customer (CustomerId, FirstName, LastName, Company, Address, Country, Email, SupportRepId)
	SELECT n + 1, CONCAT('First ', n), CONCAT('Last ', n), CASE WHEN n % 3 = 0 THEN CONCAT('Company ', n) END, CONCAT(n, ' Main Street'), 'Norway',
		CONCAT('customer', n, '@example.org'), CASE WHEN n % 10 <> 9 THEN 1 + 5 * n % 8 END
	FROM numbers WHERE 40 * n < :rows + 160;

INSERT INTO Genre (GenreId, Name)
	SELECT n + 1, CONCAT('Genre ', n)
	FROM numbers WHERE n < 25;

INSERT INTO MediaType (MediaTypeId, Name)
	SELECT n + 1, CONCAT('Media ', n)
	FROM numbers WHERE n < 5;

INSERT INTO Track (TrackId, Name, AlbumId, MediaTypeId, GenreId, Composer, Milliseconds, Bytes, UnitPrice)
	SELECT n + 1, CONCAT('Track ', n), CASE WHEN n % 50 <> 7 THEN 1 + 7 * n % (SELECT COUNT(*) FROM Album) END, 1 + 3 * n % 5,
		CASE WHEN n % 20 <> 3 THEN 1 + 7 * n % 25 END, CASE WHEN n % 20 <> 3 THEN CONCAT('O''Composer ', n % 90) END, 1000 + n, 5000 + n, 0.99
	FROM numbers WHERE n < :rows + 10;

INSERT INTO Playlist (PlaylistId, Name)
	SELECT n + 1, CONCAT('Playlist ', n)
	FROM numbers WHERE n < 18;

INSERT INTO PlaylistTrack (PlaylistId, TrackId)
	SELECT PlaylistId, TrackId
	FROM Playlist, Track WHERE (TrackId - PlaylistId) % 9 = 0;

INSERT INTO Invoice (InvoiceId, CustomerId, InvoiceDate, BillingAddress, BillingCountry, Total)
	SELECT n + 1, 1 + 31 * n % (SELECT COUNT(*) FROM Customer), '2022-01-02 08:00:00' + INTERVAL (86400000 * n DIV (:rows + 10)) SECOND,
		CONCAT(n, ' Main Street'), 'Norway', n % 30 + 0.90
	FROM numbers WHERE 5 * n < :rows + 10;

INSERT INTO InvoiceLine (InvoiceLineId, InvoiceId, TrackId, UnitPrice, Quantity)
	SELECT n + 1, 1 + n % (SELECT COUNT(*) FROM Invoice), 1 + 57 * n % (SELECT COUNT(*) FROM Track), 0.99, 1 + n DIV (SELECT COUNT(*) FROM Invoice)
	FROM numbers WHERE n < :rows;
