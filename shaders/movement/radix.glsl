// One pass of a stable radix sort by 8 bits: radix_count.comp, radix_scan.comp, radix_move.comp. A workgroup has a block of 2048 keys.
// table[digit * blocks + block] is first the number of keys of that digit in the block, then where the first of them goes.

const uint BLOCK = 2048u;
const uint DIGITS = 256u;
