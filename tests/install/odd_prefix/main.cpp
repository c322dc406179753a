int odd_number();

int main() { return odd_number() == 7 ? 0 : 1; }
