// The size of a picture, from the first bytes of its file.
import { closeSync, openSync, readSync } from 'node:fs';

interface ImageSize {
  height: number;
  width: number;
}

const png = (bytes: Buffer): ImageSize | null =>
  bytes.toString('latin1', 1, 4) === 'PNG' && bytes.length >= 24
    ? { height: bytes.readUInt32BE(20), width: bytes.readUInt32BE(16) }
    : null;

const gif = (bytes: Buffer): ImageSize | null =>
  bytes.toString('latin1', 0, 4) === 'GIF8' && bytes.length >= 10
    ? { height: bytes.readUInt16LE(8), width: bytes.readUInt16LE(6) }
    : null;

const jpeg = (bytes: Buffer): ImageSize | null => {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null;
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
};

const mostBytes = 65_536;

/** The size of the PNG, GIF or JPEG picture in a file, whatever its name; null for anything else. */
export const imageSizeOf = (path: string): ImageSize | null => {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(mostBytes);
    const bytes = buffer.subarray(0, readSync(file, buffer, 0, mostBytes, 0));
    return png(bytes) ?? gif(bytes) ?? jpeg(bytes);
  } finally {
    closeSync(file);
  }
};
