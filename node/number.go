package node

import (
	"math"
	"strconv"
	"strings"
)

// SafeNumber says whether a JSON number is within ±(2^53 − 1) and is kept
// exactly: written out again, as short as a double can be, it is the same number.
// Beyond that two different numbers could share one canonical form, and so one
// approval hash.
func SafeNumber(text string) bool {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(value) > MaxSafeInt {
		return false
	}
	given, ok := parseDecimal(text)
	kept, _ := parseDecimal(strconv.FormatFloat(value, 'e', -1, 64))
	return ok && given == kept
}

// decimal is the absolute value of a number: 0.digits × 10^exponent, without
// zeros at either end of digits.
type decimal struct {
	digits   string
	exponent int
}

func parseDecimal(text string) (decimal, bool) {
	mantissa, power, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(text, "-")), "e")
	exponent := 0
	if power != "" {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return decimal{}, false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent += len(digits) - len(fraction)
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return decimal{}, true
	}
	return decimal{digits: digits, exponent: exponent}, true
}
