"""How honest this machine's verdicts are: false alarms, and which slowdowns are found."""
