// Reads bytes of the encodings that are told by evidence.
/** Reads the bytes of a cell in an encoding; null for UTF-8 and those that are decoded before they are scanned. */
export const decoderOf = (encoding: string): ((bytes: Buffer) => string) | null => {
  if (encoding !== 'Windows-1252' && encoding !== 'ISO-8859-1') return null;
  const decoder = new TextDecoder('windows-1252'); // the two agree in all that ISO-8859-1 prints
  return (bytes) => decoder.decode(bytes);
};
