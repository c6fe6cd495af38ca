int second() { return 2; }
int first() { return second(); }
