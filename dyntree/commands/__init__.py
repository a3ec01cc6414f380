"""What the console command does; `dyntree.cli` reads its arguments."""
