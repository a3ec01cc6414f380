"""What users hold -> float64 rows: tables, columns, levels, responses, formulas."""
