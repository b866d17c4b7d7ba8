// Archives made for a test.
import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

/** An archive with these files. */
export const zipOf = async (files: Record<string, string | Buffer>): Promise<Buffer> => {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(files))
    zip.addBuffer(Buffer.from(content), name, { mtime: new Date(0) });
  zip.end();
  return buffer(zip.outputStream);
};
