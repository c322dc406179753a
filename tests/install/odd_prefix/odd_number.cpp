int odd_number() { return 7; }
