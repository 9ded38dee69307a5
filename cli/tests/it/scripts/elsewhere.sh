#!/bin/sh
echo '{"slob_observe":2,"version":"VERSION","boot":"another","numbering":"another","machine":{"governors":["powersave"],"clocksource":"tsc"},"host":{"hostname":"elsewhere","os":null,"kernel":"k","architecture":"a","cpu_model":null,"cpus_usable":4,"cpus_online":4,"memory_bytes":1,"virtualisation":null}}'
while read -r question; do
    number=${question#*\"number\":}
    number=${number%%,*}
    case $question in
    *'"find"'*) echo "{\"number\":$number,\"body\":{\"not_found\":\"no process named postgres is seen there\"}}" ;;
    *) echo "{\"number\":$number,\"body\":{\"sight\":{\"at_s\":$(cut -d' ' -f1 /proc/uptime),\"servers\":[null]}}}" ;;
    esac
done
