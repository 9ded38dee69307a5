import json, sys, time, urllib.request
from prometheus_client.parser import text_string_to_metric_families
families = {}
while "slob_operation_duration_seconds" not in families:
    time.sleep(0.2)
    text = urllib.request.urlopen(sys.argv[1]).read().decode()
    for family in text_string_to_metric_families(text):
        samples = [{"name": s.name, "labels": s.labels, "value": s.value} for s in family.samples]
        families[family.name] = {"type": family.type, "help": family.documentation, "samples": samples}
print(json.dumps(families))
