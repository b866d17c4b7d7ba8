// What PHP takes for a number; several formats of deployed servers depend on it.

/** True for a text that PHP calls numeric: blanks in front, sign, decimals and exponent allowed. */
export const phpNumeric = (text: string): boolean =>
  /^[ \t\n\r\v\f]*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);

/** True for a text that PHP keeps as an integer when it is an array key: canonical, within 64 bits. */
export const phpIntegerKey = (text: string): boolean => {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return false;
  const number = BigInt(text);
  return number >= -(2n ** 63n) && number < 2n ** 63n;
};
