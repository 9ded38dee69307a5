DECLARE
    kinds SYS.ODCINUMBERLIST := :kinds;
    firsts SYS.ODCINUMBERLIST := :firsts;
    ends SYS.ODCINUMBERLIST := :ends;
    {stamps_in}
    {pauses_in}
    run_us NUMBER := :run_us;
    answer SYS.ODCINUMBERLIST := SYS.ODCINUMBERLIST();
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
    begun := clock();
    BEGIN
        FOR op IN 1 .. kinds.COUNT LOOP
            started := elapsed();
            EXIT WHEN started >= run_us;
            kind := kinds(op);
            first_key := firsts(op);
            end_key := ends(op);
            {stamp}
            {branches}
            answer.EXTEND(3);
            answer(answer.COUNT - 2) := started;
            answer(answer.COUNT - 1) := elapsed();
            answer(answer.COUNT) := counted;
            {pause}
        END LOOP;
    EXCEPTION
        WHEN OTHERS THEN
            error_code := SQLCODE;
            error_text := SQLERRM;
            ROLLBACK;
    END;
    :answer := answer;
    :took_us := elapsed();
    :error_code := error_code;
    :error_text := error_text;
END;
