DECLARE
    latest NUMBER;
    moment NUMBER;
    step NUMBER;
    steps PLS_INTEGER := 0;

    FUNCTION clock RETURN NUMBER IS
    BEGIN
        RETURN TO_NUMBER(TO_CHAR(SYS_EXTRACT_UTC(SYSTIMESTAMP), 'SSSSSFF6'));
    END clock;
BEGIN
    latest := clock();
    FOR reading IN 1 .. 200000 LOOP
        moment := clock();
        IF moment > latest THEN
            step := LEAST(NVL(step, moment - latest), moment - latest);
            steps := steps + 1;
        END IF;
        latest := moment;
        EXIT WHEN steps >= 20;
    END LOOP;
    :answer := NVL(step, 0);
END;
