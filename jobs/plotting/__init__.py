"""Charts, report.html and slides from what `rueda report` wrote. Entry: jobs/plot_report.py."""
