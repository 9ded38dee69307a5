import json, sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
total = HdrHistogram(1, 4_400_000_000_000, 3)
reader = HistogramLogReader(sys.argv[1], total)
count = 0
while True:
    interval = reader.get_next_interval_histogram()
    if interval is None:
        break
    if not interval.get_tag():
        total.add(interval)
        count += 1
p = lambda percent: total.get_value_at_percentile(percent)
print(json.dumps({"start_s": reader.start_time_sec, "intervals": count, "count": total.get_total_count(),
                  "p50": p(50), "p99": p(99), "max": total.get_max_value()}))
