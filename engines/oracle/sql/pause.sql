pause_us := LEAST(pauses(op), NVL(run_us, pauses(op) + elapsed()) - elapsed());
            IF pause_us > 0 THEN
                {sleep}(CEIL(pause_us / 10000) / 100);
            END IF;
