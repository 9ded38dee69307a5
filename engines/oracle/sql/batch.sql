DECLARE
    TYPE numbers IS TABLE OF NUMBER INDEX BY PLS_INTEGER;
    {stamps_type}
    work VARCHAR2(32767) := :work;
    run_us NUMBER := :run_us;
    kinds numbers;
    firsts numbers;
    ends numbers;
    {pauses_in}
    {stamps_in}
    starts numbers;
    finishes numbers;
    counts numbers;
    ops PLS_INTEGER := NVL(LENGTHB(work), 0) / {width};
    place PLS_INTEGER;
    done PLS_INTEGER := 0;
    took_us NUMBER;
    error_code NUMBER := 0;
    error_text VARCHAR2(4000);
    day_us CONSTANT NUMBER := 86400000000;
    begun NUMBER;
    latest NUMBER := 0;
    started NUMBER;
    kind PLS_INTEGER;
    first_key NUMBER;
    end_key NUMBER;
    stamp VARCHAR2(16);
    counted NUMBER;
    pause_us NUMBER;
    is_open BOOLEAN := FALSE;

    FUNCTION clock RETURN NUMBER IS
    BEGIN
        RETURN TO_NUMBER(TO_CHAR(SYS_EXTRACT_UTC(SYSTIMESTAMP), 'SSSSSFF6'));
    END clock;

    FUNCTION elapsed RETURN NUMBER IS
        moment NUMBER := clock() - begun;
    BEGIN
        IF moment < -day_us / 2 THEN
            moment := moment + day_us;
        END IF;
        latest := GREATEST(latest, moment);
        RETURN latest;
    END elapsed;
BEGIN
    FOR op IN 1 .. ops LOOP
        place := (op - 1) * {width};
        kinds(op) := TO_NUMBER(SUBSTRB(work, place + 1, 1));
        firsts(op) := TO_NUMBER(SUBSTRB(work, place + 2, 15));
        ends(op) := firsts(op) + TO_NUMBER(SUBSTRB(work, place + 17, 4));
        {pauses_read}
        {stamps_read}
    END LOOP;
    begun := clock();
    BEGIN
        FOR op IN 1 .. ops LOOP
            started := elapsed();
            EXIT WHEN started >= run_us;
            kind := kinds(op);
            first_key := firsts(op);
            end_key := ends(op);
            {stamp}
            {branches}
            starts(op) := started;
            finishes(op) := elapsed();
            counts(op) := counted;
            done := op;
            {pause}
        END LOOP;
        {commit}
    EXCEPTION
        WHEN OTHERS THEN
            error_code := SQLCODE;
            error_text := SQLERRM;
            ROLLBACK;
    END;
    took_us := elapsed();
    work := NULL;
    FOR op IN 1 .. done LOOP
        work := work || TO_CHAR(starts(op), 'FM0XXXXXXXXX')
            || TO_CHAR(finishes(op), 'FM0XXXXXXXXX')
            || TO_CHAR(counts(op), 'FM0XXXXXXXXX');
    END LOOP;
    :work := work;
    :took_us := took_us;
    :error_code := error_code;
    :error_text := error_text;
END;
