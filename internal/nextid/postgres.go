package nextid

// postgresTexts are the statements for PostgreSQL 10 or later. The sequences have no cache: a session would keep words that others have gone beyond. The double precision of
// the clock is exact to the microsecond until the year 2255.
var postgresTexts = []string{
	"CREATE SEQUENCE IF NOT EXISTS <word> AS bigint MINVALUE 0 MAXVALUE <most> START WITH <first> CACHE 1 NO CYCLE",
	"CREATE SEQUENCE IF NOT EXISTS <turn> AS bigint MINVALUE 0 START WITH 0 CACHE 1 NO CYCLE",
	`CREATE OR REPLACE FUNCTION <function>() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
    turn     bigint := pg_sequence_last_value(<turn name>);
    earliest bigint := greatest(floor((date_part('epoch', clock_timestamp()) * 1000000 - <epoch>) / <unit>)::bigint, <from>) << <sequence>;
    word     bigint;
BEGIN
    IF turn % 2 = 0 AND pg_sequence_last_value(<word name>) BETWEEN earliest - <lag> AND earliest + <ahead> THEN
        word := nextval(<word name>);
        IF pg_sequence_last_value(<turn name>) = turn THEN
            RETURN <key>;
        END IF;
    END IF;
    BEGIN
        PERFORM pg_advisory_xact_lock(<lock>);
        turn := pg_sequence_last_value(<turn name>);
        IF turn % 2 = 0 AND pg_sequence_last_value(<word name>) BETWEEN earliest - 1 AND earliest + <ahead> THEN
            word := nextval(<word name>); -- another session has opened the tick meanwhile
        ELSE
            IF NOT EXISTS (SELECT FROM <grants> WHERE space = <space> AND node = <number> AND holder = <holder> AND until_tick = <forever>) THEN
                RAISE object_not_in_prerequisite_state USING MESSAGE = <gone>;
            END IF;
            IF turn % 2 = 0 THEN
                PERFORM nextval(<turn name>);
            END IF;
            word := nextval(<word name>);
            IF word < earliest THEN
                word := setval(<word name>, earliest | (word & <spread>));
            END IF;
            PERFORM nextval(<turn name>);
        END IF;
        RAISE SQLSTATE 'SNOWK'; -- ends the subtransaction, and with it the lock; the sequences stay as they are
    EXCEPTION WHEN SQLSTATE 'SNOWK' THEN
        NULL;
    END;
    RETURN <key>;
END
$function$`,
}

func (f Function) postgres() (statements []string) {
	for _, text := range postgresTexts {
		statements = append(statements, f.expand(text))
	}
	for _, c := range f.Columns {
		statements = append(statements, f.expand("ALTER TABLE "+f.Dialect.Quote(c.Table)+" ALTER COLUMN "+f.Dialect.Quote(c.Column)+" SET DEFAULT <function>()"))
	}
	return statements
}
