"""The hash under which CatBoost knows a category: CityHash64 in its first version.

Needed to tell which category of a table a split of the exported model asks for. All sums and
products are modulo 2 ** 64; a word is eight bytes, little-endian.
"""

MASK = 2**64 - 1
K0, K1 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273
K2, K3 = 0x9AE16A3B2F90404F, 0xC949D7C7509E6557
MUL = 0x9DDFEA08EB382D69


def category_hash(text: str) -> int:
    """Return the hash of a category as CatBoost stores it: the lower half, as an int32."""
    low = city_hash(text.encode()) & (2**32 - 1)
    return low - 2**32 if low >= 2**31 else low


def city_hash(data: bytes) -> int:
    """Return CityHash64, version 1.0, of some bytes."""
    n = len(data)
    if n <= 16:
        return _up_to_16(data, n)
    if n <= 32:
        a, b = _word(data, 0) * K1, _word(data, 8)
        c, d = _word(data, n - 8) * K2, _word(data, n - 16) * K0
        turned = _turn(a - b, 43) + _turn(c, 30) + d
        return _two(turned, a + _turn(b ^ K3, 20) - c + n)
    return _up_to_64(data, n) if n <= 64 else _long(data, n)


def _word(data: bytes, start: int, size: int = 8) -> int:
    return int.from_bytes(data[start : start + size], "little")


def _turn(word: int, bits: int) -> int:
    """Return a word rotated to the right."""
    word &= MASK
    return (word >> bits | word << (64 - bits)) & MASK if bits else word


def _mix(word: int) -> int:
    word &= MASK
    return word ^ (word >> 47)


def _two(u: int, v: int) -> int:
    """Return the hash of two words."""
    u, v = u & MASK, v & MASK
    return _mix((v ^ _mix((u ^ v) * MUL)) * MUL) * MUL & MASK


def _up_to_16(data: bytes, n: int) -> int:
    if n > 8:
        a, b = _word(data, 0), _word(data, n - 8)
        return _two(a, _turn(b + n, n)) ^ b
    if n >= 4:
        return _two(n + (_word(data, 0, 4) << 3), _word(data, n - 4, 4))
    if not n:
        return K2
    y, z = data[0] + (data[n >> 1] << 8), n + (data[-1] << 2)
    return _mix(y * K2 ^ z * K3) * K2 & MASK


def _up_to_64(data: bytes, n: int) -> int:
    def half(first: int, a: int, z: int) -> tuple[int, int]:
        b, c = _turn(a + z, 52), _turn(a, 37)
        a += _word(data, first + 8)
        c += _turn(a, 7)
        a += _word(data, first + 16)
        return a + z, b + _turn(a, 31) + c

    v = half(0, _word(data, 0) + (n + _word(data, n - 16)) * K0, _word(data, 24))
    w = half(n - 32, _word(data, 16) + _word(data, n - 32), _word(data, n - 8))
    return _mix(_mix((v[0] + w[1]) * K2 + (w[0] + v[1]) * K0) * K0 + v[1]) * K2 & MASK


def _pair(data: bytes, start: int, a: int, b: int) -> tuple[int, int]:
    """Return the weak hash of 32 bytes and two seeds."""
    w, x, y, z = (_word(data, start + 8 * i) for i in range(4))
    a += w
    b, c = _turn(b + a + z, 21), a
    a += x + y
    b += _turn(a, 44)
    return (a + z) & MASK, (b + c) & MASK


def _long(data: bytes, n: int) -> int:
    x, y = _word(data, 0), _word(data, n - 16) ^ K1
    z = _word(data, n - 56) ^ K0
    v = _pair(data, n - 64, n, y)
    w = _pair(data, n - 32, n * K1, K0)
    z += _mix(v[1]) * K1
    x = _turn(z + x, 39) * K1
    y = _turn(y, 33) * K1
    for start in range(0, (n - 1) // 64 * 64, 64):
        x = _turn(x + y + v[0] + _word(data, start + 16), 37) * K1
        y = _turn(y + v[1] + _word(data, start + 48), 42) * K1
        x, y = (x ^ w[1]) & MASK, (y ^ v[0]) & MASK
        z = _turn(z ^ w[0], 33)
        v = _pair(data, start, v[1] * K1, x + w[0])
        w = _pair(data, start + 32, z + w[1], y)
        z, x = x, z
    return _two(_two(v[0], w[0]) + _mix(y) * K1 + z, _two(v[1], w[1]) + x)
