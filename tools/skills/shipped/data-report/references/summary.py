"""Summarise a CSV file: rows, gaps, and each numeric column. Usage: python3 summary.py FILE [SEPARATOR]"""
import csv
import statistics
import sys

with open(sys.argv[1], newline="", encoding="utf-8-sig") as f:
    rows = list(csv.DictReader(f, delimiter=sys.argv[2] if len(sys.argv) > 2 else ","))
print(f"{len(rows)} rows")
for column in rows[0] if rows else []:
    values = [(row[column] or "").strip() for row in rows]
    filled = [v for v in values if v]
    line = f"{column}: {len(values) - len(filled)} empty, {len(set(filled))} different"
    try:
        numbers = [float(v) for v in filled]
    except ValueError:
        numbers = []
    if numbers:
        line += f", lowest {min(numbers):g}, median {statistics.median(numbers):g}, mean {statistics.fmean(numbers):g}, highest {max(numbers):g}, sum {sum(numbers):g}"
    print(line)
