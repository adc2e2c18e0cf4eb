"""Weekly report of failed jobs.

Reads the job table and writes a page.
"""
import csv
from . import render

LIMIT = 100


def failed_jobs(path):
    """Yield the rows of jobs that failed."""
    with open(path) as f:
        for row in csv.DictReader(f):
            if row["status"] == "failed":
                yield row


def main():
    for job in failed_jobs("jobs.csv"):
        print(render.row(job))


if __name__ == "__main__":
    main()
